"""One run of the agent on raw pipes: what goes in and comes out, byte by byte, in order."""

import asyncio
import itertools
import os
import signal
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Literal, TypeVar

from attrs import define, field, frozen

from quillback_protocol.framing import FramingError, LineFramer, decode
from quillback_protocol.jsonrpc import JsonObject

T = TypeVar("T")
KEPT = 64 * 1024
_KILL_SECONDS = 5.0
_LAST_OUTPUT = 0.5


class Unanswered(Exception):
    """The agent did not answer in time."""


class Gone(Exception):
    """The agent has ended, or closed its output."""


@frozen
class Entry:
    """A message or line. `message` is the JSON value of the line, or a FramingError. `hostile`: sent to test the agent,
    not as a client would."""

    direction: Literal["->", "<-"]
    message: object
    raw: bytes
    hostile: bool = False


@define(eq=False)
class Wire(asyncio.SubprocessProtocol):
    """Made by `spawn`. `on_request` answers what the agent asks; without an answer it stays open."""

    offered: JsonObject
    log: list[Entry] = field(factory=list)
    on_request: Callable[[JsonObject], None] | None = None
    _buffer: bytearray = field(factory=bytearray)
    _stderr: bytearray = field(factory=bytearray)
    _transport: asyncio.SubprocessTransport | None = None
    _arrived: asyncio.Event = field(factory=asyncio.Event)
    _exited: asyncio.Event = field(factory=asyncio.Event)
    _closed: bool = False
    _ids: "itertools.count[int]" = field(factory=lambda: itertools.count(1))

    @classmethod
    async def spawn(cls, command: Sequence[str], offered: JsonObject) -> "Wire":
        """In the current directory, so that relative names in the command hold. Raises OSError."""
        loop = asyncio.get_running_loop()
        _, wire = await loop.subprocess_exec(lambda: cls(offered), *command, start_new_session=True)
        return wire

    @property
    def alive(self) -> bool:
        return not self._closed and not self._exited.is_set()

    @property
    def death(self) -> str:
        """How it ended, in words."""
        code = self._transport.get_returncode() if self._transport else None
        words = "closed its output" if code is None else f"ended with exit code {code}"
        last = self._stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        return f"the agent {words}" + (f", its last words on standard error: {last[:200]}" if last else "")

    def send_bytes(self, data: bytes, *, hostile: bool = False) -> None:
        """Bytes as they are; complete lines among them are in the log."""
        for line in data.split(b"\n"):
            if line.strip():
                self.log.append(Entry("->", decode(line), line, hostile))
        self._write(data)

    def send(self, message: object, *, hostile: bool = False) -> None:
        self.send_bytes(LineFramer.encode(message), hostile=hostile)

    def send_pieces(self, pieces: Sequence[bytes]) -> None:
        """The pieces of one line; write each when its turn has come."""
        self.log.append(Entry("->", decode(b"".join(pieces).strip()), b"".join(pieces)))

    def piece(self, data: bytes) -> None:
        self._write(data)

    def notify(self, method: str, params: JsonObject, *, hostile: bool = False) -> None:
        self.send({"jsonrpc": "2.0", "method": method, "params": params}, hostile=hostile)

    def request(self, method: str, params: object, request_id: object = None, *, hostile: bool = False) -> object:
        """Send a request; its id."""
        used = next(self._ids) if request_id is None else request_id
        self.send({"jsonrpc": "2.0", "id": used, "method": method, "params": params}, hostile=hostile)
        return used

    def answers(self, request_id: object) -> list[JsonObject]:
        """All answers so far that carry the id."""
        found = [entry.message for entry in self.log if entry.direction == "<-"]
        return [message for message in found if isinstance(message, dict) and is_answer(message, request_id)]

    def place(self, message: JsonObject) -> int:
        """Where in the log a message is that came."""
        return next(i for i, entry in enumerate(self.log) if entry.message is message)

    async def answer(self, request_id: object, timeout: float) -> JsonObject:
        """The first answer. Raises Unanswered or Gone."""
        found = await self.until(lambda: next(iter(self.answers(request_id)), None), timeout)
        if found is None:
            raise Unanswered(f"no answer within {timeout:g} s")
        return found

    async def until(self, look: Callable[[], T | None], timeout: float) -> T | None:
        """What `look` gives once that is not None, asked again after all that arrives; None after `timeout`."""
        try:
            async with asyncio.timeout(timeout):
                while (found := look()) is None:
                    if not self.alive:
                        await self._last_words()
                        if (found := look()) is not None:
                            return found
                        raise Gone(self.death)
                    self._arrived.clear()
                    await self._arrived.wait()
                return found
        except TimeoutError:
            return None

    async def exits(self, timeout: float) -> bool:
        """Close stdin and wait for the end of the process."""
        if pipe := self._stdin():
            pipe.close()
        with suppress(TimeoutError):
            await asyncio.wait_for(self._exited.wait(), timeout)
        return self._exited.is_set()

    async def stop(self, grace: float) -> None:
        """The process and what it started end: by the end of its input, after `grace` seconds by force."""
        try:
            await self.exits(grace)
        finally:
            self._kill()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._exited.wait(), _KILL_SECONDS)
            if self._transport:
                self._transport.close()

    def _kill(self) -> None:
        """The whole group: an agent is often a script that starts the real one."""
        pid = self._transport.get_pid() if self._transport else None
        if pid:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(pid, signal.SIGKILL)

    async def _last_words(self) -> None:
        """The exit code and standard error may come after the end of standard output."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._exited.wait(), _LAST_OUTPUT)

    def _write(self, data: bytes) -> None:
        pipe = self._stdin()
        if pipe and not pipe.is_closing():
            pipe.write(data)

    def _stdin(self) -> asyncio.WriteTransport | None:
        pipe = self._transport.get_pipe_transport(0) if self._transport else None
        return pipe if isinstance(pipe, asyncio.WriteTransport) else None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if isinstance(transport, asyncio.SubprocessTransport):
            self._transport = transport

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd != 1:
            self._stderr += data
            del self._stderr[:-KEPT]
            return
        self._buffer += data
        *lines, rest = self._buffer.split(b"\n") if b"\n" in data else (self._buffer,)
        self._buffer = rest
        for line in lines:
            self._line(bytes(line))
        self._arrived.set()

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        if fd == 1:
            if self._buffer:
                self._line(bytes(self._buffer))
                self._buffer.clear()
            self._closed = True
            self._arrived.set()

    def process_exited(self) -> None:
        self._exited.set()
        self._arrived.set()

    def _line(self, line: bytes) -> None:
        message = decode(line) if line.strip() else FramingError(0, "an empty line")
        self.log.append(Entry("<-", message, line))
        if isinstance(message, dict) and "method" in message and "id" in message and self.on_request:
            self.on_request(message)


def is_answer(message: JsonObject, request_id: object) -> bool:
    """Whether it is an answer with just this id: 1 is not "1", and true is neither."""
    if "method" in message or "id" not in message:
        return False
    return type(message["id"]) is type(request_id) and message["id"] == request_id
