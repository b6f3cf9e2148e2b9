"""The way to stderr: a thread does the writing, so that an editor that does not read it holds nothing up."""

import io
import threading
from collections import deque

from quillback.edge import fds

LIMIT = 1024 * 1024
PIECE = 65536


class Stderr(io.TextIOBase):
    """A text stream for any thread; `write` never waits. What does not fit into `limit` bytes is dropped and counted.

    `flush` does nothing, since loggers call it after each line; `flushed` waits.
    """

    def __init__(self, fd: int = 2, limit: int = LIMIT) -> None:
        self._fd = fd
        self._limit = limit
        self._queue: deque[bytes] = deque()
        self._waiting = 0
        self._dropped = 0
        self._broken = False
        self._changed = threading.Condition()  # reentrant: a finalizer may write in the middle of a write
        threading.Thread(target=self._run, name="stderr", daemon=True).start()

    @property
    def encoding(self) -> str:  # type: ignore[override] # typeshed has an attribute; the base class a property
        return "utf-8"

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._fd

    def write(self, text: str, /) -> int:
        data = text.encode("utf-8", "replace")
        with self._changed:
            if self._broken or not data:
                return len(text)
            if self._waiting + len(data) > self._limit:
                self._dropped += 1
            else:
                self._waiting += len(data)
                self._queue.append(data)
                self._changed.notify_all()
        return len(text)

    def flush(self) -> None:
        pass

    def flushed(self, seconds: float) -> bool:
        """Wait until all is written, `seconds` at most; whether it is."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._waiting, seconds)

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._queue:
                    self._changed.wait()
                data = b"".join(self._queue)
                self._queue.clear()
            broken = not self._written(data)
            with self._changed:
                self._waiting -= len(data)
                if self._dropped and not broken:
                    note = b"quillback: %d pieces of the log were dropped: nobody read stderr\n" % self._dropped
                    self._dropped = 0
                    self._waiting += len(note)
                    self._queue.append(note)
                if broken:
                    self._broken = True
                    self._waiting = 0
                    self._queue.clear()
                self._changed.notify_all()
                if broken:
                    return

    def _written(self, data: bytes) -> bool:
        view = memoryview(data)
        try:
            while view:
                view = view[fds.write(self._fd, view[:PIECE]) :]
        except OSError:
            return False
        return True
