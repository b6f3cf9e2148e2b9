"""The loop's part of one recorded turn, as it is played again: which reply comes next, and what its calls brought."""

from collections.abc import Sequence

from attrs import define, field

from quillback.core.compaction import DONE
from quillback.core.message import Message, Role, ToolResult, ToolUse
from quillback.core.repair import INTERRUPTED
from quillback.core.stream import summary_of
from quillback.core.turn import CANCELLED_CALL, CANCELLED_EARLY, NOT_RUN
from quillback.transcripts.replay_spans import HOOK_SAID_NO, Span, is_for_user, is_prompt, is_reply, result_text

_REPEATING = "Stopped: the model kept repeating"
_LIMIT = "Stopped after "
_SUMMARY = ("<summary>\n", "\n</summary>")


@define(eq=False)
class Record:
    """`at` is behind the last reply that was played. `trouble` says what was asked for and is not in the record."""

    made: Sequence[Message]
    at: int = 0
    trouble: str = ""
    _matched: dict[str, ToolUse] = field(factory=dict)

    @classmethod
    def of(cls, span: Span) -> "Record":
        return cls(span.made)

    # ------------------------------------------------------------ replies

    @property
    def coming(self) -> Message | None:
        """The next reply."""
        return next((m for m in self.made[self.at :] if is_reply(m)), None)

    def next_reply(self) -> Message | None:
        reply = self.coming
        if reply is not None:
            self.at = self.made.index(reply, self.at) + 1
        return reply

    def summary(self) -> str:
        """What the small model answered when the next summary was made; empty where there is none."""
        for message in self.made[self.at :]:
            found = summary_of(message)
            if found is not None:
                begin, end = (found.text.find(mark) for mark in _SUMMARY)
                return found.text[begin + len(_SUMMARY[0]) : end] if begin >= 0 and end >= 0 else ""
        return ""

    def compaction_due(self) -> bool:
        """Whether the next thing that the loop did was to compact."""
        told = next((m for m in self.made[self.at :] if m.role is not Role.TOOL and not is_prompt(m)), None)
        return told is not None and is_for_user(told) and told.text().startswith(DONE)

    def hook_said_no(self) -> str:
        """What the Stop hook said behind the last reply; empty where it let the turn end."""
        following = self.made[self.at] if self.at < len(self.made) else None
        text = following.text() if following is not None and not following.visible_to_user else ""
        return text.removeprefix(HOOK_SAID_NO) if text.startswith(HOOK_SAID_NO) else ""

    def steers(self) -> list[Message]:
        """What the user added behind the step of the last reply."""
        behind = self._behind_results()
        found: list[Message] = []
        for message in self.made[behind:]:
            if not is_prompt(message):
                break
            found.append(message)
        return found if behind > self.at else []

    def ending(self) -> str | None:
        """What the agent said when a call ended the turn; None where the turn went on, or the loop ended it."""
        behind = self._behind_results()
        told = self.made[behind] if behind < len(self.made) else None
        if told is None or not is_for_user(told) or told.text().startswith((DONE, _REPEATING, _LIMIT)):
            return None
        return told.text()

    # ------------------------------------------------------------ calls

    def results(self) -> list[ToolResult]:
        """Those of the last reply, in the order in which they came."""
        return [r for m in self.made[self.at : self._behind_results()] for r in m.tool_results()]

    def match(self, call_id: str, name: str, arguments: object) -> ToolResult | None:
        """The result of the call that is now made again under another id."""
        calls = self.made[self.at - 1].tool_uses() if self.at else ()
        taken = {call.id for call in self._matched.values()}
        same = [c for c in calls if c.id not in taken and not c.problem and c.name == name and c.input == arguments]
        results = {result.call_id: result for result in self.results()}
        if not same or same[0].id not in results:
            self.trouble = f"the loop ran {name} with an input for which there is no recorded result"
            return None
        self._matched[call_id] = same[0]
        return results[same[0].id]

    def before(self, result: ToolResult) -> set[str] | None:
        """The new ids of the calls that had ended before; None while one of them has not been prepared yet."""
        ids = {call.id: new for new, call in self._matched.items()}
        found = set()
        calls = {call.id: call for call in self.made[self.at - 1].tool_uses()}
        for other in self.results():
            if other.call_id == result.call_id:
                break
            if other.call_id in ids:
                found.add(ids[other.call_id])
            elif not calls[other.call_id].problem and not result_text(other).startswith("not run:"):
                return None
        return found

    def ended(self, recorded: set[str]) -> set[str]:
        """The new ids of those calls that have been made again."""
        return {new for new, call in self._matched.items() if call.id in recorded}

    def is_last(self, result: ToolResult) -> bool:
        """Whether it is the last one that a tool brought."""
        brought = [r for r in self.results() if not ends_early(r)]
        return bool(brought) and brought[-1].call_id == result.call_id

    def _behind_results(self) -> int:
        at = self.at
        while at < len(self.made) and self.made[at].role is Role.TOOL:
            at += 1
        return at


def ends_early(result: ToolResult) -> bool:
    """Whether the call was ended from outside: by a cancel, or by a failure of the process."""
    return result_text(result) in (CANCELLED_CALL, CANCELLED_EARLY, NOT_RUN, INTERRUPTED)


def had_begun(result: ToolResult) -> bool:
    """Of a call that was ended early: whether it ran already."""
    return result_text(result) in (CANCELLED_CALL, INTERRUPTED)


def by_cancel(result: ToolResult) -> bool:
    return result_text(result) in (CANCELLED_CALL, CANCELLED_EARLY)
