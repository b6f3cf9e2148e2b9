"""The pipe to the editor: a reading and a writing thread, so that neither a slow editor nor a file can block the loop.

The process keeps stdin and stdout to itself: stray output goes to stderr, and children see an empty stdin.
"""

import asyncio
import os
import threading
from collections import deque
from collections.abc import Callable

from quillback.edge import fds

HIGH = 1024 * 1024
LOW = 256 * 1024
READ_SIZE = 65536
READ_AHEAD = 16
HELD_SECONDS = 0.02
"""How often a reader that is held looks whether it may go on."""


def claim_stdio() -> tuple[int, int]:
    """Private copies of stdin and stdout; 0 becomes empty and 1 becomes stderr for everyone else."""
    stdin, stdout = os.dup(0), os.dup(1)
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    os.dup2(2, 1)
    return stdin, stdout


class Writer:
    """Ordered output. `write` never blocks; `drain` waits until the editor has taken most of it."""

    def __init__(self, fd: int, loop: asyncio.AbstractEventLoop) -> None:
        self.buffered = 0
        self.broken = False
        self._fd = fd
        self._loop = loop
        self._queue: deque[bytes] = deque()
        self._wake = threading.Condition()
        self._low = asyncio.Event()
        self._low.set()
        self._empty = asyncio.Event()
        self._empty.set()
        threading.Thread(target=self._run, name="stdout", daemon=True).start()

    def write(self, data: bytes) -> None:
        """Append a whole frame. Dropped when the editor's end is closed."""
        if self.broken:
            return
        self._empty.clear()
        with self._wake:
            self.buffered += len(data)
            self._queue.append(data)
            self._wake.notify()
        if self.buffered > HIGH:
            self._low.clear()

    async def drain(self) -> None:
        """Wait while more than 1 MiB is waiting, until less than a quarter of it is."""
        await self._low.wait()

    async def flushed(self) -> None:
        await self._empty.wait()

    def _run(self) -> None:
        while True:
            with self._wake:
                while not self._queue:
                    self._wake.wait()
                data = b"".join(self._queue)
                self._queue.clear()
            try:
                self._send(data)
            except OSError:
                self.broken = True
                with self._wake:
                    self.buffered = 0
                    self._queue.clear()
                self._tell()
                return

    def _send(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            sent = fds.write(self._fd, view[:READ_SIZE])
            view = view[sent:]
            with self._wake:
                self.buffered -= sent
            if self.buffered < LOW:
                self._tell()

    def _tell(self) -> None:
        try:
            self._loop.call_soon_threadsafe(self._check)
        except RuntimeError:
            return  # the loop is closed: nobody waits any more

    def _check(self) -> None:
        if self.buffered < LOW:
            self._low.set()
        if self.buffered == 0:
            self._empty.set()


class Reader:
    """Feeds what arrives to `received` on the loop, at most 1 MiB ahead; calls `ended` at the end of the input.

    While `held` says so it feeds nothing, and soon the other side can send no more. It is asked before each piece.
    """

    def __init__(
        self,
        fd: int,
        loop: asyncio.AbstractEventLoop,
        received: Callable[[bytes], None],
        ended: Callable[[], None],
        held: Callable[[], bool] = lambda: False,
    ) -> None:
        self._fd = fd
        self._loop = loop
        self._received = received
        self._ended = ended
        self._held = held
        self._ahead: deque[bytes] = deque()
        self._later: asyncio.TimerHandle | None = None
        self._credit = threading.Semaphore(READ_AHEAD)
        threading.Thread(target=self._run, name="stdin", daemon=True).start()

    def _run(self) -> None:
        while True:
            data = fds.read(self._fd, READ_SIZE)
            self._credit.acquire()
            try:
                self._loop.call_soon_threadsafe(self._deliver, data)
            except RuntimeError:
                return  # the loop is closed: the process is ending
            if not data:
                return

    def _deliver(self, data: bytes) -> None:
        self._ahead.append(data)
        if self._later is None:
            self._feed()

    def _feed(self) -> None:
        self._later = None
        while self._ahead:
            if self._held():
                self._later = self._loop.call_later(HELD_SECONDS, self._feed)
                return
            data = self._ahead.popleft()
            self._credit.release()
            if data:
                self._received(data)
            else:
                self._ended()
