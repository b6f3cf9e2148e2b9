"""Notices a model that does the same thing again and again, and says so. Counts start anew with each prompt.

This is the fifth inspector. It lives in the core because it needs the results of the turn, and because it holds for the
editor's tools too, which no other inspector looks at. What it refuses is in the audit under the name `repetition`.
"""

import hashlib
import json
import re
from collections import deque
from collections.abc import Sequence

from quillback.core.message import Image, Text, ToolResult, ToolUse

IDENTICAL_CALLS = 3
FAILURES = 5
STEP_WINDOW = 10
EQUAL_STEPS = 5


def _digest(*fields: str) -> str:
    return hashlib.sha256("\x00".join(fields).encode("utf-8", "surrogatepass")).hexdigest()


def _request(call: ToolUse) -> str:
    return _digest(call.name, json.dumps(call.input, sort_keys=True, default=str), call.raw)


def _output(result: ToolResult) -> str:
    pieces = [p.text if isinstance(p, Text) else p.data for p in result.content if isinstance(p, Text | Image)]
    return _digest(*pieces)


def _normal_error(result: ToolResult) -> str:
    text = " ".join(p.text for p in result.content if isinstance(p, Text)).lower()
    return re.sub(r"\s+", " ", re.sub(r"\d+", "#", text))[:200]


class Repetition:
    """The calls of one turn."""

    def __init__(self) -> None:
        self._last: tuple[str, str] | None = None
        self._streak = 0
        self._failures: dict[str, tuple[str, int]] = {}
        self._step: list[str] = []
        self._steps: deque[str] = deque(maxlen=STEP_WINDOW)

    def refusal(self, call: ToolUse, beside: Sequence[ToolUse] = (), *, polling: bool) -> str:
        """Why `call` should not run, or an empty string. `beside` are the calls of the same reply before it."""
        if not polling and sum(_request(other) == _request(call) for other in beside) >= IDENTICAL_CALLS:
            return (
                f"not run: this reply asks {IDENTICAL_CALLS} times for the same {call.name} already. "
                "Do something else, or tell the user what is missing."
            )
        if not polling and self._last and self._last[0] == _request(call) and self._streak >= IDENTICAL_CALLS:
            return (
                f"not run: this is call number {self._streak + 1} in a row of {call.name} with the same input, and the "
                "result was the same each time. Do something else, or tell the user what is missing."
            )
        error, count = self._failures.get(call.name, ("", 0))
        if count >= FAILURES:
            return (
                f"not run: {call.name} failed {count} times in a row in the same way ({error[:120]}). "
                "Try another way, or tell the user what stands in the way."
            )
        return ""

    def record(self, call: ToolUse, result: ToolResult, *, polling: bool, refused: bool) -> None:
        """Take note of a call's result. A refused call counts with the output it would have repeated."""
        request = _request(call)
        signature = (request, _output(result))
        if refused and self._last and self._last[0] == request:
            signature = self._last
        if not polling:
            self._streak = self._streak + 1 if signature == self._last else 1
            self._last = signature
        self._step.append(_digest(*signature))
        known, count = self._failures.get(call.name, ("", 0))
        if not result.is_error or count >= FAILURES:  # after the advice the tool has a new chance
            self._failures.pop(call.name, None)
        elif not refused:
            error = _normal_error(result)
            self._failures[call.name] = (error, count + 1 if known == error else 1)

    def end_step(self) -> bool:
        """Close the step; True when it was one of too many equal ones."""
        if not self._step:
            return False
        signature = _digest(*self._step)
        self._step = []
        self._steps.append(signature)
        return self._steps.count(signature) > EQUAL_STEPS
