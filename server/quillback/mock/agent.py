"""The mock agent's loop: what comes in is played by the block that the script has for it, or by the defaults."""

import asyncio
import itertools
import os
import threading
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from types import UnionType
from typing import Any

from attrs import define

from quillback.mock.defaults import Defaults
from quillback.mock.library import by_name
from quillback.mock.output import Output
from quillback.mock.play import Play
from quillback.mock.script import (
    PROMPT,
    Chunk,
    Default,
    If,
    IgnoreCancel,
    Json,
    Scenario,
    Steps,
    Unchecked,
    UntilCancel,
)
from quillback.mock.sessions import Session, Sessions
from quillback_protocol import acp
from quillback_protocol.converter import structure
from quillback_protocol.framing import FramingError, LineFramer
from quillback_protocol.jsonrpc import (
    ErrorData,
    ErrorResponse,
    Invalid,
    JsonObject,
    Notification,
    Request,
    Response,
    RpcError,
    classify,
    to_object,
)
from quillback_protocol.methods import CANCEL_REQUEST, METHODS, Direction

READ_SIZE = 65536
GREETING = (
    Chunk("agent_message", "You said: ${prompt}"),
    Chunk("agent_message", "\nPrompt me with the name of a scenario, such as `permission`, and I play it."),
)


@define(eq=False)
class _Turn:
    """A prompt that is played. `own_way`: its script deals with a cancel itself."""

    task: "asyncio.Task[None]"
    play: Play
    own_way: bool


class Agent:
    """`own` are the scenarios of the user's script; the first is the one the mock is started with."""

    def __init__(self, own: Sequence[Scenario], stdin: int = 0, stdout: int = 1) -> None:
        self._started = own[0] if own else None
        self._scenarios = by_name(own)
        self._stdin = stdin
        self._output = Output(stdout)
        self._sessions = Sessions()
        self._defaults = Defaults(self._sessions, self._output.update)
        self._turns: dict[str, _Turn] = {}
        self._requests: dict[object, _Turn] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._incoming: asyncio.Queue[bytes] = asyncio.Queue()
        self._plays = itertools.count(1)
        self._reading = asyncio.Event()
        self._reading.set()

    async def serve(self) -> None:
        """Until stdin ends."""
        framer = LineFramer()
        threading.Thread(target=self._read, args=(asyncio.get_running_loop(),), daemon=True).start()
        await self._moment("start")
        while data := await self._incoming.get():
            for frame in framer.feed(data):
                self._frame(frame)
            await asyncio.sleep(0)
            await self._reading.wait()
        await self._moment("eof")

    def _read(self, loop: asyncio.AbstractEventLoop) -> None:
        with suppress(RuntimeError):  # the loop is closed when the agent has ended by itself
            while True:
                data = os.read(self._stdin, READ_SIZE)
                loop.call_soon_threadsafe(self._incoming.put_nowait, data)
                if not data:
                    return

    async def _moment(self, name: str) -> None:
        if steps := self._block(name):
            await self._play(None, {}, partial(_nothing), answer=False).run(steps)

    def _block(self, name: str) -> Steps | None:
        return self._started.blocks.get(name) if self._started else None

    def _frame(self, frame: object) -> None:
        if isinstance(frame, FramingError):
            self._refused("broken", ErrorResponse(None, ErrorData(frame.code, frame.message)))
            return
        match classify(frame):
            case Request() as request:
                self._request(request)
            case Notification() as notification:
                self._notification(notification)
            case Response() | ErrorResponse() as answer:
                if not self._output.answered(answer) and (steps := self._block("stray")):
                    self._start(self._play(answer.id, {}, partial(_nothing), answer=False), steps)
            case Invalid(answerable=False):
                pass
            case Invalid(id=request_id, message=message):
                moment = "batch" if isinstance(frame, list) else "invalid"
                self._refused(moment, ErrorResponse(request_id, ErrorData(-32600, message)))

    def _refused(self, moment: str, answer: ErrorResponse) -> None:
        """What is no message has no id of its own to answer to; the script may do as it likes."""
        steps = self._block(moment)
        if steps is None:
            self._output.message(to_object(answer))
            return
        self._start(self._play(answer.id, {}, partial(_nothing), answer=False), steps)

    def _request(self, request: Request) -> None:
        params = request.params if isinstance(request.params, dict) else {}
        if request.method == "initialize":
            self._defaults.offers(request.params)
        if request.method == PROMPT:
            self._prompt(request, params)
            return
        known = request.method in METHODS and METHODS[request.method].direction is Direction.TO_AGENT
        steps = self._block(request.method)
        if steps is None and not known:
            steps = self._block("unknown")
        default = partial(self._default, request.method, request.params)
        play = self._play(request.id, params, default)
        play.names["method"] = request.method
        self._start(play, steps or ())

    async def _default(self, method: str, params: object) -> JsonObject:
        handle = self._defaults.handler(method)
        request = structure(METHODS[method].params, {} if params is None else params)
        if method in ("session/close", "session/delete"):
            await self._end(request.session_id)
        return handle(request)

    def _notification(self, notification: Notification) -> None:
        params = notification.params if isinstance(notification.params, dict) else {}
        default = partial(self._default_notification, notification.method, params)
        play = self._play(None, params, default, answer=False)
        steps = self._block(notification.method)
        self._start(play, (Default({}),) if steps is None else steps)

    async def _default_notification(self, method: str, params: JsonObject) -> None:
        if method == "session/cancel":
            self._cancel(self._turns.get(str(params.get("sessionId"))))
        elif method == CANCEL_REQUEST:
            self._cancel(self._requests.get(_key(params.get("requestId"))))

    def _prompt(self, request: Request, params: JsonObject) -> None:
        text = _text(params)
        scenario = self._chosen(text)
        steps = scenario.blocks.get(PROMPT, GREETING) if scenario else GREETING
        play = self._play(request.id, params, partial(self._prompt_result, params))
        play.names["prompt"] = text
        if not _holds(steps, Unchecked):
            try:
                self._checked(request.params)
            except RpcError as error:
                self._output.message(to_object(ErrorResponse(request.id, error.error)))
                return
        if play.session:
            content = params["prompt"][0] if params.get("prompt") else {"type": "text", "text": ""}
            message = {"content": content, "messageId": play.session.next_message()}
            play.session.note({"sessionUpdate": "user_message_chunk", **message})
        self._turn(request, play, steps)

    def _checked(self, params: object) -> None:
        self._defaults.handler("session/new")  # raises before initialize
        prompt = structure(acp.PromptRequest, {} if params is None else params)
        self._defaults.session(prompt.session_id)

    def _chosen(self, text: str) -> Scenario | None:
        named = self._scenarios.get(text.strip().removeprefix("/"))
        if self._started and PROMPT in self._started.blocks and named is None:
            return self._started
        return named

    async def _prompt_result(self, params: JsonObject) -> JsonObject:
        turn = self._turns.get(str(params.get("sessionId")))
        cancelled = turn is not None and turn.play.cancelled.is_set()
        return {"stopReason": "cancelled" if cancelled else "end_turn"}

    def _turn(self, request: Request, play: Play, steps: Steps) -> None:
        own_way = _holds(steps, UntilCancel | IgnoreCancel)
        session_id = str(play.names.get("session"))
        turn = _Turn(self._start(play, steps), play, own_way)
        self._turns[session_id] = self._requests[_key(request.id)] = turn
        turn.task.add_done_callback(lambda _: self._turns.pop(session_id, None))
        turn.task.add_done_callback(lambda _: self._requests.pop(_key(request.id), None))

    def _cancel(self, turn: _Turn | None) -> None:
        if turn is None:
            return
        turn.play.cancelled.set()
        if not turn.own_way and turn.task.cancel() and not turn.play.answered:
            turn.play.answered = True
            for call in list(turn.play.session.open_calls) if turn.play.session else ():
                self._ended_call(turn.play.session, call)
            self._output.result(turn.play.request_id, {"stopReason": "cancelled"})

    def _ended_call(self, session: Session | None, call: str) -> None:
        update = {"sessionUpdate": "tool_call_update", "toolCallId": call, "status": "failed"}
        if session:
            session.note(update)
            self._output.update(session.id, update)

    async def _end(self, session_id: str) -> None:
        """Cancel the session's turn and wait for its end."""
        if turn := self._turns.get(session_id):
            self._cancel(turn)
            await asyncio.wait([turn.task])

    def _play(self, request_id: object, params: JsonObject, default: Any, *, answer: bool = True) -> Play:  # noqa: ANN401 - any awaitable
        names: Json = {"id": request_id, "params": params, "prompt": "", "turn": str(next(self._plays))}
        names["offered"] = self._defaults.offered
        if "sessionId" in params:
            names["session"] = params["sessionId"]
        session = self._sessions.get(params.get("sessionId"))
        names["cwd"] = session.cwd if session else params.get("cwd", "/")
        return Play(self._output, request_id, answer, default, names, session, stalled=self._reading.clear)

    def _start(self, play: Play, steps: Steps) -> "asyncio.Task[None]":
        task = asyncio.create_task(self._run(play, steps))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _run(self, play: Play, steps: Steps) -> None:
        try:
            await play.run(steps)
            after, self._defaults.after = self._defaults.after, []
            for session_id, update in after:
                self._output.update(session_id, update)
        except BrokenPipeError:
            os._exit(0)  # nobody reads any more
        except OSError:
            os._exit(1)  # the script closed the output


def _holds(steps: Steps, kind: type | UnionType) -> bool:
    """Whether one of the steps is of the kind, under whatever conditions."""
    return any(isinstance(step, kind) or (isinstance(step, If) and _holds((step.step,), kind)) for step in steps)


async def _nothing() -> JsonObject:
    return {}


def _key(request_id: object) -> tuple[str, object]:
    """1 and "1" are two ids, and True is no id."""
    return type(request_id).__name__, str(request_id)


def _text(params: JsonObject) -> str:
    """The first text of a prompt."""
    blocks = params.get("prompt")
    for block in blocks if isinstance(blocks, list) else ():
        if isinstance(block, dict) and isinstance(block.get("text"), str):
            return str(block["text"])
    return ""
