"""The tool calls of one step: which may run, which are answered, and when the step is over."""

from collections.abc import Mapping

from quillback.core.message import Text, ToolResult, ToolUse
from quillback.core.model import ToolSpec
from quillback.core.repetition import Repetition


class Calls:
    def __init__(self, due: tuple[ToolUse, ...], tools: Mapping[str, ToolSpec], repetition: Repetition) -> None:
        self.to_run: tuple[ToolUse, ...] = ()
        self.stop_turn = False
        self.say = ""
        self.final = ""
        self._due = due
        self._open = {call.id: call for call in due}
        self._tools = tools
        self._repetition = repetition
        self._answered: dict[str, ToolResult] = {}
        self.refused: list[tuple[ToolUse, str]] = []  # one repetition too many, and why
        self.begun: set[str] = set()

    def start(self) -> list[ToolResult]:
        """Sort out what may run; the results of what may not."""
        results: list[ToolResult] = []
        to_run: list[ToolUse] = []
        for call in self._due:
            problem = call.problem
            if not problem:
                problem = self._repetition.refusal(call, to_run, polling=self._polling(call))
                if problem:
                    self.refused.append((call, problem))
            if problem:
                results.append(error_result(call, problem))
            else:
                to_run.append(call)
        self.to_run = tuple(to_run)
        return results

    def answer(self, result: ToolResult) -> bool:
        """Take a result; False for one of no open call, which changes nothing."""
        if self._open.pop(result.call_id, None) is None:
            return False
        self._answered[result.call_id] = result
        return True

    def unanswered(self) -> list[ToolUse]:
        return list(self._open.values())

    def repeats(self) -> str:
        """Close the step: the titles of its calls when it was one of too many equal steps."""
        refused = {call.id for call, _ in self.refused}
        for call in self._due:
            result, polling = self._answered[call.id], self._polling(call)
            self._repetition.record(call, result, polling=polling, refused=call.id in refused)
        if not self._repetition.end_step():
            return ""
        return ", ".join(dict.fromkeys(c.title or c.name for c in self._due))

    def _polling(self, call: ToolUse) -> bool:
        spec = self._tools.get(call.name)
        return spec is not None and spec.polling


def error_result(call: ToolUse, text: str) -> ToolResult:
    return ToolResult(call.id, (Text(text),), is_error=True)
