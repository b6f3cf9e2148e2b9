"""The process of a stdio server: started with pipes of its own, listened to, ended with all its descendants."""

import asyncio
import logging
import os
import secrets
import signal
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path

from quillback.core.mcp_server import StdioServer
from quillback.mcp.family import MARK, members, signal_all
from quillback.mcp.server import Secrets
from quillback.mcp.text import clean, one_line

log = logging.getLogger(__name__)

LINE_LIMIT = 32 * 1024 * 1024
"""Bytes of one message."""

_CHUNK = 256 * 1024
_STDERR_LINES = 12
_STDERR_LINE = 8 * 1024
_REASON_LIMIT = 600
_LAST_WORDS = 0.3
_PATIENCE = {signal.SIGTERM: 0.3, signal.SIGKILL: 0.3}
_ASKED = 0.35
_POLL = 0.03


class LineSplitter:
    """Cuts a stream of bytes into lines; of a line over `limit` only the beginning is kept, and `overlong` is set."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._parts: list[bytes] = []
        self._size = 0
        self.overlong = False

    def feed(self, data: bytes) -> list[bytes]:
        *ended, rest = data.split(b"\n")
        lines = []
        for end in ended:
            self._add(end)
            lines.append(b"".join(self._parts))
            self._parts, self._size = [], 0
        self._add(rest)
        return lines

    def _add(self, data: bytes) -> None:
        if self._size + len(data) > self._limit:
            self.overlong = True
            data = data[: self._limit - self._size]
        if data:
            self._parts.append(data)
            self._size += len(data)


class ServerProcess:
    """Made by `launch`. `stop` must be called, once, whatever happened."""

    def __init__(
        self, process: asyncio.subprocess.Process, pipes: "_Pipes", mark: str, name: str, hidden: Secrets
    ) -> None:
        self._process = process
        self._pipes = pipes
        self._mark = mark
        self._name = name
        self._hidden = hidden
        self._told: deque[str] = deque(maxlen=_STDERR_LINES)
        self._drained = asyncio.Event()
        self._over = asyncio.Event()
        self._problem = ""
        self._tasks = (asyncio.create_task(self._watch()), asyncio.create_task(self._listen()))

    # ------------------------------------------------------------ traffic

    async def lines(self) -> AsyncIterator[bytes]:
        """What it writes to stdout, until it ends or closes it; `ending` then says how."""
        splitter = LineSplitter(LINE_LIMIT)
        while data := await self._pipes.stdout.read(_CHUNK):
            for line in splitter.feed(data):
                if line.strip():
                    yield line
            if splitter.overlong:
                self._problem = f"it sent a message of more than {LINE_LIMIT // (1024 * 1024)} MiB"
                break
        self._drained.set()
        with suppress(TimeoutError):
            await asyncio.wait_for(asyncio.shield(self._tasks[0]), _LAST_WORDS)
        self._over.set()

    async def over(self) -> None:
        """Returns when `lines` has ended, or soon anyway; for one that is found not to read any more."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._over.wait(), 3 * _LAST_WORDS)

    def write(self, line: bytes) -> bool:
        """Queue a line for its stdin; false when it does not read any more. Never waits."""
        if self._pipes.stdin.is_closing():
            return False
        self._pipes.stdin.write(line + b"\n")
        return True

    def ending(self) -> str:
        """How it ended, with the end of its stderr; secrets are masked."""
        code = self._process.returncode
        if self._problem:
            how = self._problem
        elif code is None:
            how = "it closed its output"
        else:
            how = f"it ended with exit status {code}" if code >= 0 else f"it was ended by signal {-code}"
        said = self.last_words()
        return f"{how}; its last words: {said}" if said else how

    def last_words(self) -> str:
        """The end of its stderr on one line; secrets are masked."""
        said = " | ".join(line for line in self._told if line)
        return one_line(said if len(said) <= _REASON_LIMIT else "…" + said[1 - _REASON_LIMIT :], _REASON_LIMIT)

    async def _watch(self) -> None:
        """A child that holds the pipe open must not hide the end; the last answer may still be in the pipe."""
        await self._process.wait()
        with suppress(TimeoutError):
            await asyncio.wait_for(self._drained.wait(), _LAST_WORDS)
        self._pipes.close_stdout()

    async def _listen(self) -> None:
        splitter = LineSplitter(_STDERR_LINE)
        while data := await self._pipes.stderr.read(_CHUNK):
            for raw in splitter.feed(data):
                line = self._hidden.in_text(clean(raw.decode("utf-8", "replace")))
                self._told.append(one_line(line, _REASON_LIMIT))
                log.debug("%s: %s", self._name, line)

    # ------------------------------------------------------------ end

    async def stop(self) -> None:
        """End it and all its descendants: asked by closing stdin, then told, then killed. Takes 1 s at most."""
        gone = False
        try:
            self._pipes.close_stdin()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._process.wait(), _ASKED)
            for number, patience in _PATIENCE.items():
                targets = await self._family()
                if not targets:
                    break
                signal_all(targets, number)
                await self._gone_within(patience)
            gone = not await self._family()
        finally:
            if not gone:
                signal_all([-self._process.pid], signal.SIGKILL)
            for task in self._tasks:
                task.cancel()
            self._pipes.close()

    async def _gone_within(self, patience: float) -> None:
        for _ in range(round(patience / _POLL)):
            if not await self._family():
                return
            await asyncio.sleep(_POLL)

    async def _family(self) -> list[int]:
        found = await asyncio.to_thread(members, self._process.pid, self._mark)
        if not found:  # one that is being born, or becomes another program, is not seen at that moment
            await asyncio.sleep(_POLL)
            found = await asyncio.to_thread(members, self._process.pid, self._mark)
        return found


class _Pipes:
    """Our three ends."""

    def __init__(self) -> None:
        self.stdin: asyncio.WriteTransport
        self.stdout = asyncio.StreamReader(limit=_CHUNK)
        self.stderr = asyncio.StreamReader(limit=_CHUNK)
        self._transports: list[asyncio.BaseTransport] = []

    async def open(self) -> tuple[int, int, int]:
        """The child's ends: stdin, stdout, stderr. The caller closes them."""
        loop = asyncio.get_running_loop()
        theirs: list[int] = []
        try:
            read, write = os.pipe()
            theirs.append(read)
            self.stdin, _ = await loop.connect_write_pipe(asyncio.Protocol, os.fdopen(write, "wb", 0))
            self._transports.append(self.stdin)
            for reader in (self.stdout, self.stderr):
                read, write = os.pipe()
                theirs.append(write)
                protocol = partial(asyncio.StreamReaderProtocol, reader)
                transport, _ = await loop.connect_read_pipe(protocol, os.fdopen(read, "rb", 0))
                self._transports.append(transport)
        except BaseException:
            for end in theirs:
                os.close(end)
            self.close()
            raise
        return theirs[0], theirs[1], theirs[2]

    def close_stdin(self) -> None:
        if not self.stdin.is_closing():
            self.stdin.abort()  # without waiting for a server that does not read

    def close_stdout(self) -> None:
        self._transports[1].close()

    def close(self) -> None:
        for transport in self._transports:
            if not transport.is_closing():
                transport.abort() if isinstance(transport, asyncio.WriteTransport) else transport.close()


async def launch(server: StdioServer, cwd: Path, inherited: Mapping[str, str], hidden: Secrets) -> ServerProcess:
    """Start `server` in `cwd` with `inherited` and its own variables, as leader of a session. Raises OSError."""
    mark = secrets.token_hex(8)
    pipes = _Pipes()
    ends = await pipes.open()
    try:
        process = await asyncio.create_subprocess_exec(
            server.command,
            *server.args,
            stdin=ends[0],
            stdout=ends[1],
            stderr=ends[2],
            cwd=cwd,
            env={**inherited, **server.env, MARK: mark},
            start_new_session=True,
        )
    except BaseException:
        pipes.close()
        raise
    finally:
        for end in ends:
            os.close(end)
    return ServerProcess(process, pipes, mark, server.name, hidden)
