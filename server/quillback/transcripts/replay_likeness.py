"""Compares what the loop made of a recorded session with the record: ids, times and prices apart."""

import difflib
import json
from collections.abc import Iterator, Sequence
from typing import Any

from attrs import asdict, evolve

from quillback.core.message import Message, Part, Text, Thinking, ToolResult, ToolUse
from quillback.core.repair import INTERRUPTED
from quillback.core.turn import CUT_REPLY, NOT_RUN

_KILLED = frozenset({INTERRUPTED, NOT_RUN, CUT_REPLY})
"""What a call without a result says depends on what ended the process, which the stream does not tell."""
_LEFT_OUT = ("id", "session_id", "seq", "created_at", "cost", "thoughts_end")
"""What differs each time, what prices say, and what later turns have changed."""
_CONTEXT = 2


class Likeness:
    """Gives messages the form in which they are compared. Ids are numbered in the order in which they come."""

    def __init__(self) -> None:
        self._numbers: dict[str, str] = {}

    def lines(self, messages: Sequence[Message]) -> list[str]:
        return [line for message in messages for line in self._lines(message)]

    def _lines(self, message: Message) -> Iterator[str]:
        plain = {key: value for key, value in asdict(message, recurse=False).items() if key not in _LEFT_OUT}
        plain["parts"] = [self._part(part) for part in message.parts]
        plain["usage"] = asdict(message.usage) if message.usage is not None else None
        yield from json.dumps(plain, ensure_ascii=False, indent=1, default=str).split("\n")

    def _part(self, part: Part) -> dict[str, Any]:
        match part:
            case Text() | Thinking() if part.run_id:
                part = evolve(part, run_id=self._number("run", part.run_id))
            case ToolUse(problem=problem):
                # of a call that could not run, only that is compared: which tools there were is not in the record
                part = evolve(part, id=self._number("call", part.id), problem="(it could not run)" if problem else "")
            case ToolResult():
                part = evolve(part, call_id=self._number("call", part.call_id), content=tuple(map(_said, part.content)))
            case _:
                pass
        return {"type": type(part).__name__, **asdict(part)}

    def _number(self, of: str, id_: str) -> str:
        return self._numbers.setdefault(id_, f"{of} {len(self._numbers) + 1}")


def difference(recorded: Sequence[str], played: Sequence[str]) -> list[str]:
    """Lines of both where they differ, with a few around them; empty where they are alike."""
    if list(recorded) == list(played):
        return []
    found = difflib.unified_diff(recorded, played, "recorded", "played again", lineterm="", n=_CONTEXT)
    return [line for line in found if not line.startswith("@@")]


def _said(part: Any) -> Any:  # noqa: ANN401 - any part of a result
    return Text("(it was ended)") if isinstance(part, Text) and part.text in _KILLED else part
