r"""The format of scripts: what a scripted model says, as lines that a person can write.

    each-prompt                          header: every prompt starts the script anew (`loop`: start again at its end)
    think: The greeting is in hello.py.  a thought
    text: I will look.                   text; \n \t \s (space) \\ are escapes; adjacent lines are one block
    text*500: word\s                     the same piece 500 times, each a delta
    call: read_file {"path": "a.py"}     a tool call; no object means no input
    call-raw: read_file {"path":         a call whose input is not valid JSON
    wait: 200ms                          silence (ms or s)
    pace: 50ms                           silence after each following delta
    usage: {"input_tokens": 900}         what the provider reports; without it, nothing
    stop: max_tokens                     the stop reason; tool_use or end_turn by default
    error: 529 retry-after=1 Overloaded  the request fails; after other lines, the stream does
    drop                                 the connection is lost
    expect: hello.py                     the last message of the request must contain this (`expect-not:` must not)
    ---                                  the next reply

Empty lines and lines that begin with # mean nothing. In text and in the strings of calls, ${prompt} is the text of the
last message and ${name} a variable that the player was given.
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from attrs import define, field

from quillback.core.message import Usage
from quillback.providers.script import (
    Action,
    Call,
    Drop,
    Expectation,
    Fail,
    Pace,
    Pause,
    RawCall,
    Response,
    Say,
    Script,
    Think,
)

_ESCAPES = {"n": "\n", "t": "\t", "s": " ", "\\": "\\"}
_COUNTS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_creation_tokens")
_MOST_DELTAS = 1_000_000
_STOPS = (
    "end_turn",
    "tool_use",
    "max_tokens",
    "stop_sequence",
    "pause_turn",
    "refusal",
    "model_context_window_exceeded",
)


class ScriptError(ValueError):
    """The script cannot be played; the text names file, line and what is allowed."""


def parse_script(text: str, name: str) -> Script:
    """Raises ScriptError. `name` is what errors call the script."""
    parser = _Parser(name)
    for number, line in enumerate(text.splitlines(), 1):
        parser.line(number, line)
    return parser.script()


@define
class _Draft:
    actions: list[Action] = field(factory=list)
    expectations: list[Expectation] = field(factory=list)
    usage: Usage | None = None
    stop: str = ""
    empty: bool = True

    @property
    def failed(self) -> bool:
        return bool(self.actions) and isinstance(self.actions[-1], Fail | Drop)

    def done(self) -> Response:
        return Response(tuple(self.actions), tuple(self.expectations), self.usage, self.stop)


class _Parser:
    def __init__(self, name: str) -> None:
        self._name = name
        self._number = 0
        self._headers: set[str] = set()
        self._responses: list[Response] = []
        self._draft = _Draft()

    def script(self) -> Script:
        self._next()
        if not self._responses:
            raise ScriptError(f"{self._name}: there is no reply in it; begin with a line such as `text: Hello`")
        headers = self._headers
        return Script(self._name, tuple(self._responses), "loop" in headers, "each-prompt" in headers)

    def line(self, number: int, line: str) -> None:
        self._number = number
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            return
        if stripped == "---":
            self._next()
        elif stripped in ("loop", "each-prompt"):
            if self._responses or not self._draft.empty:
                self._wrong(f"`{stripped}` belongs at the top, before the first reply")
            self._headers.add(stripped)
        else:
            self._draft.empty = False
            self._entry(line.lstrip())

    def _next(self) -> None:
        if not self._draft.empty:
            self._responses.append(self._draft.done())
        self._draft = _Draft()

    def _entry(self, line: str) -> None:
        if line.strip() == "drop":
            self._fails(Drop())
            return
        key, colon, value = line.partition(":")
        key, star, count = key.strip().partition("*")
        read = _ENTRIES.get(key)
        if not colon or read is None or (star and key not in ("text", "think")):
            allowed = ", ".join(f"{entry}:" for entry in _ENTRIES)
            self._wrong(f"`{line.strip()[:60]}` is not known; allowed are {allowed}, drop, loop, each-prompt and ---")
        value = value.removeprefix(" ")
        if self._draft.failed and key not in ("expect", "expect-not"):
            self._wrong(f"`{key}:` comes after the failure that ends this reply; put it before, or `---` between")
        read(self, value, self._pieces(count) if star else 1)

    def _fails(self, action: Fail | Drop) -> None:
        """What comes after it in a reply would never be played."""
        if self._draft.failed:
            self._wrong("the reply has failed already; put `---` between two failures")
        self._draft.actions.append(action)

    def _wrong(self, what: str) -> NoReturn:
        raise ScriptError(f"{self._name}:{self._number}: {what}")

    def _pieces(self, text: str) -> int:
        if not text.strip().isdecimal() or not 1 <= int(text) <= _MOST_DELTAS:
            self._wrong(f"`*{text}` must be a number from 1 to {_MOST_DELTAS}")
        return int(text)

    def _seconds(self, value: str) -> float:
        found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(ms|s)", value.strip())
        if not found:
            self._wrong(f"`{value.strip()}` must be a time such as 50ms or 1.5s")
        return float(found[1]) / (1000 if found[2] == "ms" else 1)

    def _object(self, value: str) -> dict[str, Any]:
        try:
            given = json.loads(value)
        except ValueError as error:
            self._wrong(f"`{value.strip()[:60]}` is not valid JSON: {error}")
        if not isinstance(given, dict):
            self._wrong(f"`{value.strip()[:60]}` must be a JSON object")
        return given

    # ------------------------------------------------------------ one kind of line each

    def say(self, value: str, pieces: int) -> None:
        self._draft.actions.append(Say(_unescaped(value), pieces))

    def think(self, value: str, pieces: int) -> None:
        self._draft.actions.append(Think(_unescaped(value), pieces))

    def call(self, value: str, _: int) -> None:
        name, _space, given = value.strip().partition(" ")
        if not name:
            self._wrong('a call needs a name: call: read_file {"path": "a.py"}')
        self._draft.actions.append(Call(name, self._object(given) if given.strip() else {}))

    def call_raw(self, value: str, _: int) -> None:
        name, _space, raw = value.strip().partition(" ")
        self._draft.actions.append(RawCall(name, raw))

    def pause(self, value: str, _: int) -> None:
        self._draft.actions.append(Pause(self._seconds(value)))

    def pace(self, value: str, _: int) -> None:
        self._draft.actions.append(Pace(self._seconds(value)))

    def usage(self, value: str, _: int) -> None:
        counts = {key.replace("_input_tokens", "_tokens"): n for key, n in self._object(value).items()}
        wrong = [k for k, n in counts.items() if k not in _COUNTS or type(n) is not int or n < 0]
        if wrong:
            self._wrong(f"`{wrong[0]}` is no count; allowed are whole numbers for {', '.join(_COUNTS)}")
        sent, received, read, created = (counts.get(key, 0) for key in _COUNTS)
        self._draft.usage = Usage(sent, received, read, created)

    def stop(self, value: str, _: int) -> None:
        if not value.strip():
            self._wrong("stop needs a reason, such as max_tokens")
        if value.strip() not in _STOPS:
            self._wrong(f"`{value.strip()[:60]}` is no reason to stop; allowed are {', '.join(_STOPS)}")
        self._draft.stop = value.strip()

    def error(self, value: str, _: int) -> None:
        found = re.fullmatch(r"([45]\d\d)(?:\s+retry-after=(\d+(?:\.\d+)?))?(?:\s+(.*))?", value.strip())
        if not found:
            self._wrong("an error is a status from 400 to 599, then retry-after=SECONDS and a message if you like")
        message = _unescaped(found[3] or "the script says so")
        self._fails(Fail(int(found[1]), message, float(found[2]) if found[2] else None))

    def expect(self, value: str, _: int) -> None:
        self._draft.expectations.append(Expectation(_unescaped(value), True, self._number))

    def expect_not(self, value: str, _: int) -> None:
        self._draft.expectations.append(Expectation(_unescaped(value), False, self._number))


_ENTRIES: Mapping[str, Callable[[_Parser, str, int], None]] = {
    "text": _Parser.say,
    "think": _Parser.think,
    "call": _Parser.call,
    "call-raw": _Parser.call_raw,
    "wait": _Parser.pause,
    "pace": _Parser.pace,
    "usage": _Parser.usage,
    "stop": _Parser.stop,
    "error": _Parser.error,
    "expect": _Parser.expect,
    "expect-not": _Parser.expect_not,
}


def _unescaped(text: str) -> str:
    """Known escapes replaced; any other backslash stays, so that paths and patterns need no care."""
    return re.sub(r"\\([nts\\])", lambda found: _ESCAPES[found[1]], text)
