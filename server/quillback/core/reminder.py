"""Reminds the model of its open items: when the list has changed, and when ten steps went by without a word of it."""

from attrs import define

from quillback.core.facts import item_line, open_items
from quillback.core.message import PlanEntry

STEPS = 10


@define
class Reminder:
    """`plan` is what the stream said last when the turn began."""

    plan: tuple[PlanEntry, ...] | None
    changed: bool = False
    steps: int = 0

    def replaced(self, plan: tuple[PlanEntry, ...]) -> None:
        self.changed = self.changed or plan != self.plan
        self.plan = plan

    def due(self) -> str:
        """What to remind the model of in the step that begins, empty for nothing. Each call counts as a step."""
        self.steps += 1
        items = open_items(self.plan)
        if not items or not (self.changed or self.steps > STEPS):
            self.changed = False
            return ""
        self.changed, self.steps = False, 0
        return "<reminder>\nOpen items of your todo list:\n" + "\n".join(map(item_line, items)) + "\n</reminder>"
