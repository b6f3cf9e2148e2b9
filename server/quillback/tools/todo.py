"""todo_write: the model's plan, as the editor shows it."""

from attrs import evolve, frozen

from quillback.core.message import JsonObject, PlanEntry, ToolKind
from quillback.core.model import Sketch, ToolSpec
from quillback.core.ports import ToolError, ToolOutcome
from quillback.tools.call import Prepared, said, schema, single
from quillback.tools.text import one_line

ITEMS = 100
LENGTH = 500
_MARKS = {"pending": "[ ]", "in_progress": "[>]", "completed": "[x]"}
_PRIORITIES = ("high", "medium", "low")

DESCRIPTION = """Keep the plan for work of several steps: give the whole list each time, it replaces the last one. \
Have one item in progress at a time and mark items completed as soon as they are. An empty list clears the plan."""


@frozen
class TodoWrite:
    @property
    def spec(self) -> ToolSpec:
        item = schema(
            ("content", "status"),
            content={"type": "string", "description": "one line"},
            status={"type": "string", "enum": list(_MARKS)},
            priority={"type": "string", "enum": list(_PRIORITIES), "description": "medium by default"},
        )
        return ToolSpec(
            name="todo_write",
            description=DESCRIPTION,
            input_schema=schema(("items",), items={"type": "array", "items": item}),
            kind=ToolKind.THINK,
            describe=lambda _: Sketch("Update the plan"),
            read_only=True,
        )

    def touches(self, arguments: JsonObject) -> frozenset[str]:
        return frozenset()

    async def prepare(self, call_id: str, arguments: JsonObject) -> Prepared:
        plan = _plan(arguments.get("items"))

        async def run() -> ToolOutcome:
            lines = [f"{_MARKS[entry.status]} {entry.content}" for entry in plan]
            return evolve(said("\n".join(lines) or "The plan is empty."), plan=plan)

        return Prepared(single(run))


def _plan(items: object) -> tuple[PlanEntry, ...]:
    if not isinstance(items, list):
        raise ToolError("items must be a list")
    if len(items) > ITEMS:
        raise ToolError(f"the plan has {len(items)} items; keep it to {ITEMS}")
    return tuple(_entry(number, item) for number, item in enumerate(items, 1))


def _entry(number: int, item: object) -> PlanEntry:
    if not isinstance(item, dict):
        raise ToolError(f"item {number} must be an object")
    content, status, priority = item.get("content"), item.get("status"), item.get("priority", "medium")
    if not isinstance(content, str) or not content.strip():
        raise ToolError(f"item {number} has no content")
    if not isinstance(status, str) or status not in _MARKS:
        raise ToolError(f"item {number}: status must be one of {', '.join(_MARKS)}")
    if not isinstance(priority, str) or priority not in _PRIORITIES:
        raise ToolError(f"item {number}: priority must be one of {', '.join(_PRIORITIES)}")
    return PlanEntry(one_line(content, LENGTH), status, priority)
