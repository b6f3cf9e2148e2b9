"""Writes to a terminal or a pipe from a thread, so that a reader who stops reading does not stop Ctrl-C."""

import asyncio
import errno
import os
import queue
import select
import threading

from quillback.cli.exits import UnwritableError

HURRY_SECONDS = 1.0
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class Sink:
    """One file descriptor. `gone` says that nobody reads it any more."""

    def __init__(self, fd: int) -> None:
        self.gone = False
        self._fd = fd
        self._loop = asyncio.get_running_loop()
        self._sent: asyncio.Future[None] | None = None
        self._work: queue.SimpleQueue[tuple[bytes, asyncio.Future[None]]] = queue.SimpleQueue()
        threading.Thread(target=self._run, name=f"writing {fd}", daemon=True).start()

    async def send(self, data: bytes) -> None:
        """Returns when all of it is written. Raises BrokenPipeError when nobody reads any more."""
        if self.gone:
            raise BrokenPipeError
        if not data:
            return
        self._sent = self._loop.create_future()
        self._work.put((data, self._sent))
        await self._sent

    def hurry(self) -> None:
        """From now on a reader who takes longer than a second counts as gone."""
        self._loop.call_later(HURRY_SECONDS, self._give_up)

    def _give_up(self) -> None:
        if self._sent and not self._sent.done():
            self._finish(self._sent, BrokenPipeError())

    def _run(self) -> None:
        while True:
            data, sent = self._work.get()
            error: OSError | None = None
            try:
                _write(self._fd, data)
            except OSError as failed:
                error = failed
            try:
                self._loop.call_soon_threadsafe(self._finish, sent, error)
            except RuntimeError:
                return  # the loop is closed: nobody waits any more

    def _finish(self, sent: "asyncio.Future[None]", error: OSError | None) -> None:
        self.gone = self.gone or error is not None
        if sent.done():
            return
        if error is None:
            sent.set_result(None)
        else:
            sent.set_exception(UnwritableError(error) if error.errno in _FULL else BrokenPipeError())


def _write(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(fd, view) :]
        except BlockingIOError:  # whoever started us left the descriptor non-blocking
            select.select([], [fd], [])
