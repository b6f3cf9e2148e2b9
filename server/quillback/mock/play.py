"""Plays the steps of a block as the answer to one message of the client."""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from typing import Any

from attrs import define, field

from quillback.mock.expand import as_text, expand, lookup, merged
from quillback.mock.output import Output, outcome
from quillback.mock.script import (
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
    Stderr,
    Step,
    Steps,
    Stop,
    Unchecked,
    UntilCancel,
    Update,
    Wait,
)
from quillback.mock.sessions import Session
from quillback_protocol.jsonrpc import RpcError

PARENT_SECONDS = 1.0


@define(eq=False)
class Play:
    """`default` gives the result that the mock would send by itself; `names` are the placeholders.

    `session` is the one that the message is about, if there is one; `cancelled` is set by a cancel.
    """

    output: Output
    request_id: object
    wants_answer: bool
    default: Callable[[], Awaitable[Any]]
    names: Json
    session: Session | None = None
    cancelled: asyncio.Event = field(factory=asyncio.Event)
    stalled: Callable[[], None] = lambda: None
    answered: bool = False
    _pace: float = 0.0
    _kind: str = ""
    _stopped: bool = False

    async def run(self, steps: Steps) -> None:
        """All steps, and the default answer where none of them gave one."""
        for step in steps:
            await self._step(step)
            if self._stopped:
                break
        if self.wants_answer and not self.answered:
            await self._default({})

    async def _step(self, step: Step) -> None:
        match step:
            case Chunk():
                await self._chunks(step)
            case Wait(seconds=seconds):
                await asyncio.sleep(seconds)
            case Pace(seconds=seconds):
                self._pace = seconds
            case UntilCancel():
                await self.cancelled.wait()
            case Ask():
                await self._ask(step)
            case If(path=path, value=value, equal=equal, step=inner):
                if (as_text(lookup(path, self.names)) == value) is equal:
                    await self._step(inner)
            case Default(patch=patch):
                await self._default(expand(patch, self.names))
            case Stop():
                self._stopped = True
            case IgnoreCancel() | Unchecked():
                pass
            case Hang():
                await self._hang()
            case _:
                self._write(step)

    def _write(self, step: Step) -> None:
        match step:
            case Update(update=update):
                self._kind = ""
                self._update(expand(update, self.names))
            case Message(message=message):
                self._kind = ""
                self.output.message(expand(message, self.names))
            case Raw(text=text, times=times):
                filled = expand(text, self.names)
                self.output.raw(str(filled).encode("utf-8", "surrogateescape") * times)
            case Notify(method=method, params=params):
                self.output.notify(method, self._about(params))
            case Answer(result=result):
                self.answered = True
                self.output.result(self.request_id, expand(result, self.names))
            case Fail(error=error):
                self.answered = True
                self.output.error(self.request_id, expand(error, self.names))
            case NoAnswer():
                self.answered = True
            case Exit(code=code):
                os._exit(code)
            case CloseOutput():
                self.output.close()
            case Stderr(text=text):
                print(expand(text, self.names), file=sys.stderr, flush=True)

    async def _chunks(self, step: Chunk) -> None:
        """The chunks of one message; another kind, or anything between, begins a new one."""
        if step.kind != self._kind:
            self._kind = step.kind
            self.names["message"] = self.session.next_message() if self.session else "message"
        text = str(expand(step.text, self.names))
        for _ in range(step.times):
            content = {"type": "text", "text": text}
            kind = f"{step.kind}_chunk"
            self._update({"sessionUpdate": kind, "content": content, "messageId": self.names["message"]})
            await asyncio.sleep(self._pace)

    async def _ask(self, step: Ask) -> None:
        self._kind = ""
        future = self.output.ask(step.method, self._about(step.params))
        if step.wait:
            self.names["choice"], self.names["answer"] = outcome(await future)
            if isinstance(self.names["answer"], dict) and "terminalId" in self.names["answer"]:
                self.names["terminal"] = self.names["answer"]["terminalId"]

    def _about(self, params: Json) -> Json:
        session = {"sessionId": self.names["session"]} if "session" in self.names else {}
        filled: Json = expand(params, self.names)
        return {**session, **filled}

    def _update(self, update: Json) -> None:
        if self.session:
            self.session.note(update)
        self.output.update(self.names.get("session"), update)

    async def _default(self, patch: Json) -> None:
        self.answered = True
        try:
            result = await self.default()
        except RpcError as error:
            data = {} if error.data is None else {"data": error.data}
            if self.wants_answer:
                self.output.error(self.request_id, {"code": error.code, "message": error.message, **data})
            return
        if self.wants_answer:
            self.output.result(self.request_id, merged(result, patch) if patch else result)

    async def _hang(self) -> None:
        """For ever, or until the client is gone."""
        self.stalled()
        parent = os.getppid()
        while os.getppid() == parent:  # noqa: ASYNC110 - nothing tells of a parent's end
            await asyncio.sleep(PARENT_SECONDS)
        os._exit(1)
