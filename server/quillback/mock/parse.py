"""The format of mock scripts: lines that a person can write. The guide page on the mock agent explains each."""

import re
from collections.abc import Callable
from typing import Any, NoReturn

from attrs import define, field

from quillback.mock.script import (
    PROMPT,
    Answer,
    Ask,
    Chunk,
    CloseOutput,
    Default,
    Exit,
    Fail,
    Hang,
    If,
    IgnoreCancel,
    Json,
    Message,
    NoAnswer,
    Notify,
    Pace,
    Raw,
    Scenario,
    Stderr,
    Step,
    Stop,
    Unchecked,
    UntilCancel,
    Update,
    Wait,
)
from quillback_protocol.framing import FramingError, decode

MOST_TIMES = 1_000_000
_LINE = re.compile(r"(<-|[a-z-]+)(?:\*(\d+))?(?::\s?|\s|$)(.*)")
_HEAD = re.compile(r"scenario\s+([\w-]+)\s*(?::\s*(.*))?")
_CONDITION = re.compile(r"([\w.-]+)\s*(?:(!?=)\s*(.*))?")
_SECONDS = re.compile(r"(\d+(?:\.\d+)?)(ms|s)")
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|.)")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "s": " ", "\\": "\\"}
_CHUNKS = {"say": "agent_message", "think": "agent_thought", "user": "user_message"}
_BARE: dict[str, Step] = {
    "no-answer": NoAnswer(),
    "until-cancel": UntilCancel(),
    "ignore-cancel": IgnoreCancel(),
    "unchecked": Unchecked(),
    "hang": Hang(),
    "stop": Stop(),
    "close-output": CloseOutput(),
}
OPTIONS = (
    {"optionId": "allow_once", "name": "Allow once", "kind": "allow_once"},
    {"optionId": "allow_always", "name": "Always allow", "kind": "allow_always"},
    {"optionId": "reject_once", "name": "Reject", "kind": "reject_once"},
    {"optionId": "reject_always", "name": "Always reject", "kind": "reject_always"},
)


class ScriptError(ValueError):
    """The script cannot be played; the text names file, line and what is allowed."""


def parse(text: str, name: str, file: str = "") -> list[Scenario]:
    """The scenarios of a script; what stands before the first `scenario` line is one of the given `name`.

    `file` is what errors call it. Raises ScriptError.
    """
    parser = _Parser(name, file or name)
    for number, line in enumerate(text.splitlines(), 1):
        parser.line(number, line)
    return parser.scenarios()


@define
class _Draft:
    name: str
    title: str = ""
    blocks: dict[str, list[Step]] = field(factory=dict)


class _Parser:
    def __init__(self, name: str, file: str) -> None:
        self._file = file
        self._number = 0
        self._drafts = [_Draft(name)]
        self._block = PROMPT

    def scenarios(self) -> list[Scenario]:
        drafts = [draft for draft in self._drafts if draft.blocks]
        if not drafts:
            raise ScriptError(f"{self._file}: there is no step in it; begin with a line such as `say: Hello`")
        return [Scenario(d.name, d.title, {m: tuple(steps) for m, steps in d.blocks.items()}) for d in drafts]

    def line(self, number: int, line: str) -> None:
        self._number = number
        line = line.strip()
        if not line or line.startswith("#"):
            return
        if line.split(None, 1)[0] == "scenario":
            self._scenario(line)
        elif line.split(None, 1)[0] == "on":
            self._block = line[2:].strip() or self._wrong("name a method after `on`, such as `on session/new`")
            self._drafts[-1].blocks.setdefault(self._block, [])
        else:
            self._drafts[-1].blocks.setdefault(self._block, []).append(self._step(line))

    def _scenario(self, line: str) -> None:
        if not (head := _HEAD.fullmatch(line)):
            self._wrong("write `scenario NAME: what it shows`; names have letters, digits, _ and -")
        if any(draft.name == head[1] and draft.blocks for draft in self._drafts):
            self._wrong(f"there are two scenarios of the name {head[1]}")
        self._drafts.append(_Draft(head[1], head[2] or ""))
        self._block = PROMPT

    def _step(self, line: str) -> Step:
        if not (parts := _LINE.fullmatch(line)):
            self._wrong("a step is `keyword: what`, such as `say: Hello`")
        keyword, count, rest = parts[1], parts[2], parts[3].strip()
        times = int(count or 1)
        if times > MOST_TIMES:
            self._wrong(f"{MOST_TIMES} times at most")
        if keyword in _CHUNKS:
            return Chunk(_CHUNKS[keyword], self._text(rest), times)
        if keyword == "raw":
            return Raw(self._text(rest), times)
        if count:
            self._wrong("only say, think, user and raw can be repeated with *N")
        if keyword in _BARE:
            return _BARE[keyword] if not rest else self._wrong(f"{keyword} stands alone")
        if keyword not in _READERS:
            known = ", ".join(sorted([*_CHUNKS, *_BARE, *_READERS, "raw"]))
            self._wrong(f"unknown step {keyword}; there are {known}")
        return _READERS[keyword](self, rest)

    def _update(self, rest: str) -> Step:
        kind, _, fields = rest.partition(" ")
        if kind.startswith("{"):
            return Update(self._object(rest))
        if not kind:
            self._wrong('write `update: KIND {fields}`, such as `update: plan {"entries": []}`')
        return Update({"sessionUpdate": kind, **self._object(fields)})

    def _message(self, rest: str) -> Step:
        return Message(self._json(rest))

    def _ask(self, rest: str) -> Step:
        return Ask(*self._call(rest))

    def _send(self, rest: str) -> Step:
        return Ask(*self._call(rest), wait=False)

    def _notify(self, rest: str) -> Step:
        return Notify(*self._call(rest))

    def _permission(self, rest: str) -> Step:
        return Ask("session/request_permission", {"options": list(OPTIONS), **self._object(rest)})

    def _answer(self, rest: str) -> Step:
        return Answer({"stopReason": rest} if re.fullmatch(r"[a-z_]+", rest) and rest != "null" else self._json(rest))

    def _error(self, rest: str) -> Step:
        if rest.startswith("{"):
            return Fail(self._object(rest))
        code, _, words = rest.partition(" ")
        message, brace, data = words.partition(" {")
        if not re.fullmatch(r"-?\d+", code) or not message:
            self._wrong("write `error: CODE MESSAGE`, such as `error: -32603 The disk is full`")
        error: Json = {"code": int(code), "message": message}
        return Fail({**error, "data": self._object("{" + data)} if brace else error)

    def _default(self, rest: str) -> Step:
        return Default(self._object(rest))

    def _wait(self, rest: str) -> Step:
        return Wait(self._seconds(rest))

    def _pace(self, rest: str) -> Step:
        return Pace(self._seconds(rest))

    def _exit(self, rest: str) -> Step:
        return Exit(int(rest)) if rest.isdigit() else self._wrong("write `exit: CODE`, such as `exit: 1`")

    def _stderr(self, rest: str) -> Step:
        return Stderr(self._text(rest))

    def _if(self, rest: str) -> Step:
        condition, colon, step = rest.partition(": ")
        if not colon or not (found := _CONDITION.fullmatch(condition)):
            self._wrong("write `if CHOICE: STEP` or `if PATH=VALUE: STEP`, such as `if allow_once: say: Thank you`")
        inner = self._step(step.strip())
        if found[2] is None:
            return If("choice", found[1], True, inner)
        return If(found[1], found[3], found[2] == "=", inner)

    def _call(self, rest: str) -> tuple[str, Json]:
        method, _, params = rest.partition(" ")
        return method or self._wrong("name the method"), self._object(params)

    def _object(self, text: str) -> Json:
        value = self._json(text) if text.strip() else {}
        return value if isinstance(value, dict) else self._wrong("a JSON object is needed")

    def _json(self, text: str) -> Any:  # noqa: ANN401 - JSON has no narrower type
        value = decode(text.encode("utf-8", "surrogatepass"))
        if isinstance(value, FramingError):
            self._wrong(f"not JSON ({value.message})")
        return value

    def _seconds(self, text: str) -> float:
        if not (found := _SECONDS.fullmatch(text)):
            self._wrong("write a time such as 200ms or 2s")
        return float(found[1]) / (1000 if found[2] == "ms" else 1)

    def _text(self, text: str) -> str:
        return _ESCAPE.sub(self._escaped, text)

    def _escaped(self, match: re.Match[str]) -> str:
        """A byte above 127 is written as a surrogate escape, which `Raw` writes as that byte."""
        code = match[1]
        if code[0] == "x" and len(code) == 3:
            return bytes([int(code[1:], 16)]).decode("utf-8", "surrogateescape")
        if code[0] == "u" and len(code) == 5:
            return chr(int(code[1:], 16))
        return _ESCAPES.get(code) or self._wrong(f"unknown escape \\{code}")

    def _wrong(self, why: str) -> NoReturn:
        raise ScriptError(f"{self._file}, line {self._number}: {why}")


_READERS: dict[str, Callable[[_Parser, str], Step]] = {
    "update": _Parser._update,
    "<-": _Parser._message,
    "ask": _Parser._ask,
    "send": _Parser._send,
    "notify": _Parser._notify,
    "permission": _Parser._permission,
    "answer": _Parser._answer,
    "error": _Parser._error,
    "default": _Parser._default,
    "wait": _Parser._wait,
    "pace": _Parser._pace,
    "exit": _Parser._exit,
    "stderr": _Parser._stderr,
    "if": _Parser._if,
}
