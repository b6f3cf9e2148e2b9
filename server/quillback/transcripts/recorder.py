"""Writes down a conversation as a transcript while it goes on. What is in the file is a transcript at any time."""

import os
import shlex
import time
from collections.abc import Callable, Sequence
from typing import Any

from quillback.transcripts.inbox import Arrived, Line, read_line
from quillback.transcripts.naming import Naming
from quillback.transcripts.pattern import CWD, Kind, Obj, Pattern, Words
from quillback.transcripts.pattern_writing import write_pattern
from quillback.transcripts.steps import Mark

GROWING_SECONDS = 0.5
"""How long the text of a message is kept back, for its pieces to be written as one."""
_HEAD = """\
# A recorded session

Recorded with `quillback record`. Run it with `quillback test FILE -- {agent}`.

```acp
"""
_LATE = ("available_commands_update", "session_info_update")
"""Updates that come when they are ready, which is not always at the same place."""


class Recorder:
    """`fd` is a file to append to. The methods raise OSError where it cannot be written."""

    def __init__(self, fd: int, agent: Sequence[str]) -> None:
        self._fd = fd
        self._names: dict[str, object] = {}
        self._naming = Naming(self._names)
        self._growing: Arrived | None = None
        self._since = 0.0
        self._cancelled = False
        self._last = ""
        self._prompts: set[str] = set()
        self._write(_HEAD.format(agent=shlex.join(agent)))
        for kind in _LATE:
            self._write(_skip(kind))

    def came(self, line: bytes) -> None:
        """A line of the agent."""
        arrived = read_line(line)
        growing = self._growing
        if growing is not None and growing.chunk == arrived.chunk:
            growing.value = growing.with_text(growing.text + arrived.text)
            return
        self.settle()
        if arrived.chunk is not None:
            self._growing, self._since = arrived, time.monotonic()
        else:
            self._came(arrived.value)

    def sent(self, line: bytes) -> None:
        """A line of the client."""
        self.settle()
        value = read_line(line).value
        if isinstance(value, Line) or b'"jsonrpc"' not in line:
            self._write(f"{Mark.SEND} raw {line.decode('utf-8', 'replace').rstrip()}\n")
            return
        self._learn(value)
        self._step(Mark.SEND, self._naming.sent(value))

    def tick(self) -> None:
        """To be called now and then: writes down what has been kept back for long enough."""
        if self._growing is not None and time.monotonic() - self._since >= GROWING_SECONDS:
            self.settle()

    def settle(self) -> None:
        """Write down what is kept back."""
        growing, self._growing = self._growing, None
        if growing is not None:
            self._came(growing.value)

    def end(self) -> None:
        self.settle()
        self._write("```\n")

    # ------------------------------------------------------------ one message

    def _came(self, value: dict[str, Any] | Line) -> None:
        if isinstance(value, Line):
            self._write(f"{Mark.MUST} raw {value.text}\n")
            return
        message = self._naming.came(value)
        if "method" not in value and str(value.get("id")) in self._prompts:
            self._prompts.discard(str(value.get("id")))
            message = _ended(message) if self._cancelled else message
            self._cancelled = self._cancelled and bool(self._prompts)
        match value:
            case {"method": "session/update", "params": {"update": {"sessionUpdate": str(kind)}}}:
                if kind in _LATE:
                    self._step(Mark.MAY, message)
                elif self._cancelled and kind.endswith("_chunk"):
                    self._step(Mark.MAY, _any_text(message))
                elif _is_progress(value["params"]["update"]):
                    self._step(Mark.MANY, _any_progress(message))
                else:
                    self._step(Mark.MUST, message)
            case _:
                self._step(Mark.MUST, message)

    def _learn(self, value: dict[str, Any]) -> None:
        match value:
            case {"method": "session/new" | "session/load" | "session/resume", "params": {"cwd": str(cwd)}}:
                self._names.setdefault(CWD, cwd)
            case {"method": "session/prompt"}:
                self._prompts.add(str(value.get("id")))
            case {"method": "session/cancel" | "$/cancel_request"}:
                self._cancelled = bool(self._prompts)

    def _step(self, mark: Mark, message: Obj) -> None:
        text = f"{mark} {write_pattern(message, used=len(mark) + 1)}\n"
        if mark is not Mark.MANY or text != self._last:
            self._write(text)
        self._last = text

    def _write(self, text: str) -> None:
        """All at once, so that a kill leaves whole messages."""
        data = text.encode("utf-8", "replace")
        while data:
            data = data[os.write(self._fd, data) :]


def _skip(kind: str) -> str:
    rest: list[tuple[str, Pattern]] = [("sessionUpdate", Words((kind,)))]
    params = Obj((("update", Obj(tuple(rest), rest=True)),), rest=True)
    return f"{Mark.SKIP} {write_pattern(Obj((('method', Words(('session/update',))), ('params', params))))}\n"


def _is_progress(update: dict[str, Any]) -> bool:
    """Whether it shows what a running call has brought by now, which comes in pieces as time allows."""
    return update.keys() == {"sessionUpdate", "toolCallId", "content"} and update["sessionUpdate"] == "tool_call_update"


def _any_progress(message: Obj) -> Obj:
    return _with_update(message, lambda update: Obj(update.fields[:2], rest=True))


def _any_text(message: Obj) -> Obj:
    """How much of a message still comes after a cancel is chance."""
    content = Obj((("type", Words(("text",))), ("text", Kind.STRING)))
    return _with_update(message, lambda u: Obj(tuple((k, content if k == "content" else p) for k, p in u.fields)))


def _ended(answer: Obj) -> Obj:
    """The answer to a cancelled prompt, without what it tells of the turn."""
    match answer.get("result"):
        case Obj(fields=fields) if result := tuple((k, p) for k, p in fields if k != "_meta"):
            return Obj(tuple((k, Obj(result, rest=True) if k == "result" else p) for k, p in answer.fields))
    return answer


def _with_update(message: Obj, change: Callable[[Obj], Obj]) -> Obj:
    params = message.get("params")
    assert isinstance(params, Obj)
    changed = tuple((k, change(p) if k == "update" and isinstance(p, Obj) else p) for k, p in params.fields)
    return Obj(tuple((k, Obj(changed) if k == "params" else p) for k, p in message.fields))
