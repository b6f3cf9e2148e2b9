"""A child process that speaks newline-delimited JSON on its pipes; the transport of the headless client."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from quillback_protocol.framing import LineFramer
from quillback_protocol.jsonrpc import JsonObject

LINE_LIMIT = 64 * 1024 * 1024
_STDERR_KEPT = 64 * 1024
_STOP_STEP = 2.0  # seconds between terminate and kill, and after kill
_LAST_OUTPUT = 0.5  # seconds for output that is still in the pipe after the exit


class AgentProcess(asyncio.SubprocessProtocol):
    """Made by `spawn`; `listen` says who gets the frames of its stdout."""

    def __init__(self) -> None:
        self._on_frame: Callable[[object], None] | None = None
        self._early: list[object] = []
        self._framer = LineFramer(LINE_LIMIT)
        self._stderr = bytearray()
        self._transport: asyncio.SubprocessTransport | None = None
        self._writable = asyncio.Event()
        self._writable.set()
        self._eof = asyncio.Event()
        self._exited = asyncio.Event()

    @classmethod
    async def spawn(
        cls, argv: Sequence[str], *, cwd: str | Path | None = None, env: Mapping[str, str] | None = None
    ) -> "AgentProcess":
        """Start `argv`. Raises OSError when it cannot be started."""
        _, process = await asyncio.get_running_loop().subprocess_exec(cls, *argv, cwd=cwd, env=env)
        return process

    def listen(self, on_frame: Callable[[object], None]) -> None:
        """From now on `on_frame` gets every frame in order, those that came before first."""
        early, self._early = self._early, []
        self._on_frame = on_frame
        self._frames(early)

    @property
    def pid(self) -> int | None:
        return self._transport.get_pid() if self._transport else None

    @property
    def exit_code(self) -> int | None:
        """None while it runs; negative when a signal ended it."""
        return self._transport.get_returncode() if self._transport else None

    @property
    def stderr(self) -> str:
        """The end of what it wrote to stderr, 64 KiB at most."""
        return self._stderr.decode("utf-8", "replace")

    def write(self, obj: JsonObject) -> None:
        """Queue one frame; dropped when stdin is closed. Raises EncodeError."""
        data = LineFramer.encode(obj)
        if (pipe := self._stdin()) and not pipe.is_closing():
            pipe.write(data)

    @property
    def buffered(self) -> int:
        """Bytes it has not read yet, as far as they are still on this side of the pipe."""
        pipe = self._stdin()
        return pipe.get_write_buffer_size() if pipe else 0

    async def drain(self) -> None:
        """Wait until little is buffered, or until it exits."""
        await self._writable.wait()

    async def ended(self, grace: float) -> None:
        """Wait until stdout has ended and the process has exited; after the first of them at most `grace` seconds."""
        both = [asyncio.create_task(event.wait()) for event in (self._eof, self._exited)]
        try:
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            await asyncio.wait(both, timeout=grace)
        finally:
            for task in both:
                task.cancel()

    async def stop(self, grace: float) -> int | None:
        """Close stdin, give it `grace` seconds to exit, then terminate and at last kill it. Returns the exit code.

        Killed at once when this is cancelled.
        """
        transport = self._transport
        if transport is None:
            return None
        try:
            if pipe := self._stdin():
                pipe.close()
            for limit, act in ((grace, transport.terminate), (_STOP_STEP, transport.kill)):
                if await self._has_exited(limit):
                    break
                act()
            await asyncio.wait_for(self.ended(_LAST_OUTPUT), _STOP_STEP)
        finally:
            transport.close()
        return transport.get_returncode()

    async def _has_exited(self, limit: float) -> bool:
        try:
            await asyncio.wait_for(self._exited.wait(), limit)
        except TimeoutError:
            return False
        return True

    def _stdin(self) -> asyncio.WriteTransport | None:
        pipe = self._transport.get_pipe_transport(0) if self._transport else None
        return pipe if isinstance(pipe, asyncio.WriteTransport) else None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if isinstance(transport, asyncio.SubprocessTransport):
            self._transport = transport

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == 1:
            self._frames(self._framer.feed(data))
        else:
            self._stderr += data
            del self._stderr[:-_STDERR_KEPT]

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        if fd == 0:
            self._writable.set()
        if fd == 1 and not self._eof.is_set():
            self._frames(self._framer.close())
            self._eof.set()

    def process_exited(self) -> None:
        self._writable.set()
        self._exited.set()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    def _frames(self, frames: list[object]) -> None:
        if self._on_frame is None:
            self._early += frames
            return
        for frame in frames:
            self._on_frame(frame)
