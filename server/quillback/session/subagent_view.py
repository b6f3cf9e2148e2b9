"""What an editor sees of a subagent at work: a line for each of its calls, and the end of what it says."""

from attrs import define, evolve, field, frozen

from quillback.core.event import (
    Event,
    Growth,
    MessageAdded,
    MessageDropped,
    PartClosed,
    PartGrew,
    PartOpened,
    RetryScheduled,
    ToolStarted,
)
from quillback.core.message import Shown, Text, ToolUse
from quillback.core.text import one_line

CALLS = 30
TITLE = 100
SAID = 800
SAID_LINES = 8
_WAITS, _RUNS, _DONE, _FAILED = "[ ]", "[>]", "[x]", "[!]"


@frozen
class _Line:
    title: str
    mark: str = _WAITS

    def __str__(self) -> str:
        return f"{self.mark} {self.title}"


@define
class SubagentView:
    """Bounded, however long the subagent works. `changed` says whether there is news since the last `shown`; `limit`
    which limit of its parent's turn has ended it."""

    changed: bool = False
    limit: str = ""
    _calls: dict[str, _Line] = field(factory=dict)
    _left_out: int = 0
    _said: str = ""
    _run: str = ""
    _note: str = ""

    def take(self, event: Event) -> None:
        match event:
            case PartOpened(part=ToolUse() as call) | PartClosed(part=ToolUse() as call):
                self._call(call)
            case ToolStarted(call=call):
                self._mark(call.id, _RUNS)
            case MessageAdded(message=message) if message.tool_results():
                for result in message.tool_results():
                    self._mark(result.call_id, _FAILED if result.is_error else _DONE)
            case MessageDropped(calls=calls):
                for call in calls:
                    self._calls.pop(call.id, None)
            case PartGrew(growth=Growth.TEXT):
                self._grew(event)
            case RetryScheduled(reason=reason):
                self._note = one_line(reason)
            case _:
                return
        self.changed = True

    def calls(self) -> str:
        """The latest calls, a line for each; empty when there were none."""
        before = [f"({self._left_out} calls before)"] if self._left_out else []
        return "\n".join([*before, *map(str, self._calls.values())])

    def shown(self) -> tuple[Shown, ...]:
        self.changed = False
        said = "\n".join(self._said.splitlines()[-SAID_LINES:]).strip()
        return (Text("\n\n".join(filter(None, (self.calls(), said, self._note))) or "Started."),)

    def _call(self, call: ToolUse) -> None:
        title = one_line(call.title or call.name, TITLE)
        known = self._calls.get(call.id)
        self._calls[call.id] = _Line(title) if known is None else evolve(known, title=title)
        if len(self._calls) > CALLS:
            del self._calls[next(iter(self._calls))]
            self._left_out += 1

    def _mark(self, call_id: str, mark: str) -> None:
        if call_id in self._calls:
            self._calls[call_id] = evolve(self._calls[call_id], mark=mark)

    def _grew(self, event: PartGrew) -> None:
        gap = "\n\n" if self._said and event.run_id != self._run else ""
        before = "" if event.supersedes else self._said + gap
        self._said, self._run, self._note = (before + event.text)[-SAID:], event.run_id, ""
