"""Serves one ACP client over stdio, from its first byte to the end of the process."""

import asyncio
import logging
import os
import signal
from collections.abc import Awaitable, Callable, Iterable
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
from quillback_protocol.framing import FramingError, LineFramer
from quillback_protocol.jsonrpc import JsonObject, RpcError
from quillback_protocol.methods import METHODS
from quillback_protocol.peer import InitializeGate, Peer

PARENT_SECONDS = 1.0
CLOSE_SECONDS = 4.0
ANSWER_SECONDS = 0.5
log = logging.getLogger(__name__)


class LineTransport:
    """Frames go out as lines."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer

    def write(self, obj: JsonObject) -> None:
        self._writer.write(LineFramer.encode(obj))

    @property
    def buffered(self) -> int:
        return self._writer.buffered

    async def drain(self) -> None:
        await self._writer.drain()


class AcpServer:
    """`sessions` makes the registry for an editor; `models` gives the ids and names a user can choose from.

    `frontend_seconds` limits a call of a tool that the editor runs.
    """

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
        self._framer = LineFramer()
        self._writer = Writer(stdout, self._loop)
        self._gate = InitializeGate()
        self._peer = Peer(
            LineTransport(self._writer),
            {name: partial(self._request, name) for name in REQUESTS},
            {name: partial(self._notification, name) for name in NOTIFICATIONS},
            cancels={name: partial(self._cancelled, name) for name in CANCELS},
            methods={**METHODS, **EXTENSION_METHODS},
            gate=self._gate,
        )
        editor = AcpEditor(self._peer, frontend_seconds)
        self._connection = Connection(self._peer, editor, sessions(editor), models, problems)

    async def run(self, handshake: Handshake | None) -> None:
        """Serve until the input ends, a signal comes, or the editor is gone; then wind up."""
        if handshake is not None:
            self._shake(handshake)
        if handshake is None or not handshake.eof:
            Reader(self._stdin, self._loop, self._received, self._ended)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            with suppress(NotImplementedError):
                self._loop.add_signal_handler(number, self._stop.set)
        watch = asyncio.create_task(self._watch_parent())
        await self._stop.wait()
        watch.cancel()
        await self._wind_up()

    # ------------------------------------------------------------ in

    def _shake(self, handshake: Handshake) -> None:
        """Go on where the fast handshake stopped."""
        if handshake.params is not None:
            self._gate.opened = True
            try:
                self._connection.offered(structure(acp.InitializeRequest, handshake.params))
            except RpcError as error:
                log.warning("initialize: %s; nothing is asked of this client", error.message)
        self._received(handshake.rest)
        if handshake.eof:
            self._ended()

    def _received(self, data: bytes) -> None:
        self._take(self._framer.feed(data))

    def _ended(self) -> None:
        self._take(self._framer.close())
        self._stop.set()

    def _take(self, frames: Iterable[object]) -> None:
        for frame in frames:
            if isinstance(frame, FramingError):
                self._peer.receive_error(frame)
            else:
                self._peer.receive(frame)

    async def _request(self, name: str, params: object) -> object:
        return await REQUESTS[name](self._connection, params)

    async def _notification(self, name: str, params: object) -> None:
        await NOTIFICATIONS[name](self._connection, params)

    def _cancelled(self, name: str, params: object) -> None:
        CANCELS[name](self._connection, params)

    # ------------------------------------------------------------ end

    async def _watch_parent(self) -> None:
        """An editor that was killed may leave the pipe open in another process's hands."""
        while os.getppid() == self._parent and not self._writer.broken:  # noqa: ASYNC110 - nobody is told of it
            await asyncio.sleep(PARENT_SECONDS)
        log.warning("the editor is gone")
        self._stop.set()

    async def _wind_up(self) -> None:
        """Cancel and answer what runs, end every child, write out the answers."""
        await self._within(ANSWER_SECONDS, self._answer_quick_ones())
        await self._within(CLOSE_SECONDS, self._connection.sessions.close_all())
        await self._within(ANSWER_SECONDS, self._peer.idle())
        await self._within(ANSWER_SECONDS, self._peer.aclose())
        if not self._writer.broken:
            await self._within(ANSWER_SECONDS, self._writer.flushed())

    async def _answer_quick_ones(self) -> None:
        """Let requests that just came in run as far as they get without waiting."""
        for _ in range(10):
            await asyncio.sleep(0)

    async def _within(self, seconds: float, work: Awaitable[object]) -> None:
        try:
            async with asyncio.timeout(seconds):
                await work
        except TimeoutError:
            log.warning("gave up waiting after %.1f s while ending", seconds)
