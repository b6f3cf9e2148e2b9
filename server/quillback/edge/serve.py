"""Serves one ACP client over stdio, from its first byte to its last answer."""

import asyncio
import logging
import os
import signal
from collections.abc import Awaitable, Callable, Collection, Iterable
from contextlib import suppress
from functools import partial

from quillback.edge.acp.table import CANCELS, NOTIFICATIONS, REQUESTS
from quillback.edge.connection import Connection
from quillback.edge.editor import AcpEditor
from quillback.edge.handshake import Handshake
from quillback.edge.stdio import Reader, Writer
from quillback.session.registry import Sessions
from quillback_protocol import acp
from quillback_protocol.converter import structure
from quillback_protocol.extensions import EXTENSION_METHODS
from quillback_protocol.framing import FramingError, HeaderFramer, LineFramer
from quillback_protocol.jsonrpc import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    ErrorResponse,
    JsonObject,
    Notification,
    Response,
    RpcError,
    classify,
)
from quillback_protocol.methods import METHODS
from quillback_protocol.peer import InitializeGate, Peer

PARENT_SECONDS = 1.0
ANSWER_SECONDS = 0.5
PROMPT = "session/prompt"
ENDING = "Quillback is shutting down"
SURPLUS = "too much is unanswered or unread; read the answers before you ask for more"
FULL = 8 * 1024 * 1024
"""Bytes that a client has not taken, above which it has to read before it may ask for more."""
CROWD = 1000
"""Requests at work at one time, above which it has to wait, and prompts waiting, above which they are refused.
Prompts are refused and not held up, since they may wait for what comes behind them."""
PATIENCE = 0.5
"""Seconds that reading stops for it. Then requests are refused instead: a cancel, or the end, may be behind them."""
NEVER = float("-inf")
OVERFULL = 2 * FULL
"""Bytes not taken, above which not even that is answered."""
log = logging.getLogger(__name__)


class FrameTransport:
    """Frames go out as `encode` puts them."""

    def __init__(self, writer: Writer, encode: Callable[[JsonObject], bytes]) -> None:
        self._writer = writer
        self._encode = encode

    def write(self, obj: JsonObject) -> None:
        self._writer.write(self._encode(obj))

    @property
    def buffered(self) -> int:
        return self._writer.buffered

    async def drain(self) -> None:
        await self._writer.drain()


def wants_answer(frame: object) -> bool:
    """Whether a frame, read or not, would be answered, be it with an error."""
    return not isinstance(classify(frame), Notification | Response | ErrorResponse)


class AcpServer:
    """`sessions` makes the registry for an editor; `models` gives the ids and names a user can choose from.

    `frontend_seconds` limits a call of a tool that the editor runs. The LSP front is the same with other frames and
    more methods. `exit_code` is that of the process, known at the end.
    """

    framing: type[LineFramer] | type[HeaderFramer] = LineFramer
    nothing: object = {}

    def __init__(
        self,
        stdin: int,
        stdout: int,
        *,
        sessions: Callable[[AcpEditor], Sessions],
        models: Callable[[], Iterable[tuple[str, str]]],
        problems: tuple[str, ...],
        parent: int,
        frontend_seconds: float | None = None,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._stdin = stdin
        self._parent = parent
        self._stop = asyncio.Event()
        self._framer = self.framing()
        self._writer = Writer(stdout, self._loop)
        self._gate = InitializeGate()
        self._short: set[asyncio.Task[object]] = set()  # handlers of requests that take no longer than their work does
        self._surplus = False  # what is asked now is refused
        self._held_since = self._held_last = NEVER
        requests, notifications, cancels = self._served()
        self._peer = Peer(
            FrameTransport(self._writer, self._encode),
            {name: partial(self._request, name) for name in requests},
            {name: partial(self._notification, name) for name in notifications},
            cancels={name: partial(self._cancelled, name) for name in cancels},
            methods={name: method for name, method in {**METHODS, **EXTENSION_METHODS}.items() if self._is_acp(name)},
            gate=self._refusal,
            nothing=self.nothing,
        )
        editor = self._editor(frontend_seconds)
        self._connection = Connection(self._peer, editor, sessions(editor), models, problems)

    # ------------------------------------------------------------ what a front may have otherwise

    exit_code = 0

    def _served(self) -> tuple[Collection[str], Collection[str], Collection[str]]:
        """The methods of requests, of notifications, and of requests that have a way of their own to be cancelled."""
        return REQUESTS, NOTIFICATIONS, CANCELS

    def _is_acp(self, method: str) -> bool:
        """Whether the params of a method are those of ACP; others are handed on raw."""
        return True

    def _editor(self, frontend_seconds: float | None) -> AcpEditor:
        return AcpEditor(self._peer, frontend_seconds)

    def _encode(self, obj: JsonObject) -> bytes:
        return self.framing.encode(obj)

    async def _answer(self, name: str, params: object) -> object:
        return await REQUESTS[name](self._connection, params)

    async def _notification(self, name: str, params: object) -> None:
        await NOTIFICATIONS[name](self._connection, params)

    def _cancelled(self, name: str, params: object) -> None:
        CANCELS[name](self._connection, params)

    def _lasts(self, method: str) -> bool:
        """Whether a request of this method may wait for a turn."""
        return method == PROMPT

    # ------------------------------------------------------------ serving

    async def serve(self, handshake: Handshake | None) -> None:
        """Serve until the input ends, a signal comes, or the editor is gone. `wind_up` has to follow."""
        if handshake is not None:
            self._shake(handshake)
        if handshake is None or not handshake.eof:
            Reader(self._stdin, self._loop, self._received, self._ended, self._held)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            with suppress(NotImplementedError):
                self._loop.add_signal_handler(number, self._stop.set)
        watch = asyncio.create_task(self._watch_parent())
        await self._stop.wait()
        watch.cancel()

    # ------------------------------------------------------------ in

    def _shake(self, handshake: Handshake) -> None:
        """Go on where the fast handshake stopped."""
        if handshake.params is not None:
            self._gate.opened = self._connection.initialized = True
            try:
                self._connection.offered(structure(acp.InitializeRequest, handshake.params))
            except RpcError as error:
                log.warning("initialize: %s; nothing is asked of this client", error.message)
        rest, handshake.rest = handshake.rest, b""
        self._received(rest)
        if handshake.eof:
            self._ended()

    def _received(self, data: bytes) -> None:
        self._take(self._framer.feed(data))

    def _ended(self) -> None:
        self._take(self._framer.close())
        self._stop.set()

    def _take(self, frames: Iterable[object]) -> None:
        for frame in frames:
            if self._surplus and self._writer.buffered > OVERFULL and wants_answer(frame):
                continue
            if isinstance(frame, FramingError):
                self._peer.receive_error(frame)
            else:
                self._peer.receive(frame)

    def _held(self) -> bool:
        """Whether the client has to take what is there, or wait for what it asked for, before more of it is read.

        Not for long, and not again soon: then what it asks is surplus until it has caught up.
        """
        at_work = self._peer.running - len(self._connection.prompts)
        if self._writer.buffered <= FULL and at_work <= CROWD:
            self._surplus, self._held_last = False, NEVER
            return False
        now = self._loop.time()
        if now - self._held_last > PATIENCE:
            self._held_since = now
        self._held_last = now
        over = now - self._held_since >= PATIENCE
        if over and not self._surplus:
            log.warning("the client does not read, or asks for too much at one time: what it asks is refused for now")
        self._surplus = over
        return not over

    def _refusal(self, method: str) -> RpcError | None:
        if self._stop.is_set():
            return RpcError(INTERNAL_ERROR, ENDING)
        if self._surplus:
            return RpcError(INVALID_REQUEST, SURPLUS)
        if method == PROMPT and len(self._connection.prompts) >= CROWD:
            return RpcError(INVALID_REQUEST, f"{CROWD} prompts are waiting; wait for answers before you send more")
        return self._gate(method)

    async def _request(self, name: str, params: object) -> object:
        if self._lasts(name):
            return await self._answer(name, params)
        task = asyncio.current_task()
        assert task is not None
        self._short.add(task)
        try:
            return await self._answer(name, params)
        finally:
            self._short.discard(task)

    # ------------------------------------------------------------ end

    async def _watch_parent(self) -> None:
        """An editor that was killed may leave the pipe open in another process's hands."""
        while os.getppid() == self._parent and not self._writer.broken:  # noqa: ASYNC110 - nobody is told of it
            await asyncio.sleep(PARENT_SECONDS)
        log.warning("the editor is gone")
        self._stop.set()

    async def wind_up(self, until: float) -> None:
        """Cancel and answer what runs, end every child, write out the answers; by `until`, a time of the loop."""
        self._connection.advertising.end_all()
        await self._by(min(self._loop.time() + ANSWER_SECONDS, until), self._answer_short_ones())
        await self._by(until - 2 * ANSWER_SECONDS, self._connection.sessions.close_all())
        await self._by(until - ANSWER_SECONDS, self._peer.idle())
        self._peer.give_up(RpcError(INTERNAL_ERROR, ENDING))
        await self._by(until - ANSWER_SECONDS / 2, self._peer.aclose())
        if not self._writer.broken:
            await self._by(until, self._writer.flushed())

    async def _answer_short_ones(self) -> None:
        """Let requests that just came in begin, and end where they wait for no turn."""
        for _ in range(10):
            await asyncio.sleep(0)
        if self._short:
            await asyncio.wait(self._short)

    async def _by(self, until: float, work: Awaitable[object]) -> None:
        try:
            async with asyncio.timeout_at(until):
                await work
        except TimeoutError:
            log.warning("ending takes too long; going on without waiting for all of it")
