"""The one task that owns the connection: callers may be cancelled at any time, a transaction never is."""

import asyncio
import logging
import math
import sqlite3
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from aiosqlite import Connection

from quillback.core.ports import StoreError
from quillback.store.faults import explain, is_busy
from quillback.store.opening import connect, prepare
from quillback.store.outbox import Outbox, write
from quillback.store.sql import transaction

log = logging.getLogger(__name__)

T = TypeVar("T")
Work = Callable[[Connection], Awaitable[T]]
"""What is done with the connection. It can be done again from its start, and leaves no transaction open."""

_Job = tuple[asyncio.Future[Any], Callable[[], Coroutine[None, None, None]]]

FLUSH_AFTER = 0.05
BUSY_WAIT = 15.0
RETRY_FIRST, RETRY_LAST = 0.5, 15.0
_PAUSE = 0.02


class Writer:
    """Runs pieces of work one after another. The file is opened by the first, and again after a failure."""

    def __init__(self, path: Path, outbox: Outbox) -> None:
        self._path = path
        self._outbox = outbox
        self._db: Connection | None = None
        self._jobs: asyncio.Queue[_Job | None] = asyncio.Queue()
        self._task: asyncio.Task[None] | None = None
        self._flush: asyncio.Task[None] | None = None  # a flush that will still see what is enqueued now
        self._timer: asyncio.TimerHandle | None = None
        self._delay = RETRY_FIRST
        self._refused: list[str] = []
        self._deadline = math.inf
        self._stopped = False

    async def run(self, work: Work[T]) -> T:
        """What `work` returns. A caller that is cancelled takes work back that has not begun; begun work ends.

        Waits up to 15 s for other processes. Raises StoreError, and what `work` raises.
        """
        if self._stopped:
            raise StoreError(f"The database {self._path} is closed.")
        done: asyncio.Future[T] = asyncio.get_running_loop().create_future()

        async def job() -> None:
            if done.done():
                return
            try:
                result = await self._attempt(work)
            except Exception as error:
                if not done.done():
                    done.set_exception(error)
            else:
                if not done.done():
                    done.set_result(result)

        self._jobs.put_nowait((done, job))
        if self._task is None:
            self._task = asyncio.create_task(self._work(), name="store writer")
        return await done

    # ------------------------------------------------------------ the outbox

    def wake(self) -> None:
        """Something was enqueued: it is written 50 ms from now at the latest."""
        if self._timer is None and self._flush is None and not self._stopped:
            self._arm(FLUSH_AFTER)

    async def flush(self) -> None:
        """Wait until all that is enqueued now is durable. Raises StoreError naming what is not."""
        if self._outbox:
            await asyncio.shield(self._flushing())
        if self._refused:
            refused, self._refused = self._refused, []
            raise StoreError(f"The database {self._path} refused for good: {'; '.join(refused)}.")

    def _flushing(self) -> asyncio.Task[None]:
        if self._flush is None:
            self._flush = asyncio.create_task(self._save(), name="store flush")
            self._flush.add_done_callback(self._saved)
        return self._flush

    async def _save(self) -> None:
        try:
            await self.run(self._write_out)
        except StoreError as error:
            raise StoreError(f"Not saved: {self._outbox.summary()}. {error}") from error

    async def _write_out(self, db: Connection) -> None:
        if not self._outbox:
            self._flush = None
            return
        async with transaction(db):
            self._flush = None  # what is enqueued from here on needs another one
            self._disarm()
            batch = self._outbox.seal()
            refused = await write(db, batch, self._outbox.shifts)
        self._outbox.confirm(batch)
        self._refused += refused

    def _saved(self, task: asyncio.Task[None]) -> None:
        if self._flush is task:
            self._flush = None
        if task.cancelled():
            return
        error = task.exception()
        if error is None:
            self._delay = RETRY_FIRST
        elif not self._stopped:
            log.warning("%s", error)
            self._disarm()
            self._arm(self._delay)
            self._delay = min(self._delay * 2, RETRY_LAST)

    def _arm(self, delay: float) -> None:
        self._timer = asyncio.get_running_loop().call_later(delay, self._due)

    def _disarm(self) -> None:
        if self._timer:
            self._timer.cancel()
        self._timer = None

    def _due(self) -> None:
        self._timer = None
        if self._outbox:
            self._flushing()

    # ------------------------------------------------------------ the connection

    def hurry(self, seconds: float) -> None:
        """Do not wait for other processes any longer than this from now. The last call counts."""
        self._deadline = asyncio.get_running_loop().time() + seconds

    async def stop(self, seconds: float) -> None:
        """Close the connection after the work that is under way; waits for it no longer than `seconds`.

        Nothing can be run afterwards.
        """
        self._stopped = True
        self._disarm()
        if self._task:
            self._jobs.put_nowait(None)
            _, late = await asyncio.wait({self._task}, timeout=seconds)
            if late:
                log.error("the database %s could not be closed in time", self._path)

    async def _work(self) -> None:
        try:
            while item := await self._jobs.get():
                done, job = item
                try:
                    await job()
                finally:
                    done.cancel()  # no effect on one that is done
        finally:
            self._stopped = True
            await self._disconnect()
            while not self._jobs.empty():
                if item := self._jobs.get_nowait():
                    item[0].cancel()

    async def _attempt(self, work: Work[T]) -> T:
        clock = asyncio.get_running_loop().time
        give_up = clock() + BUSY_WAIT
        while True:
            try:
                return await work(await self._connected())
            except (sqlite3.Error, OSError) as error:
                if not is_busy(error):
                    await self._disconnect()  # by the next time the file may be another one
                    raise explain(self._path, error) from error
                if clock() >= min(give_up, self._deadline):
                    raise explain(self._path, error) from error
            await asyncio.sleep(_PAUSE)

    async def _connected(self) -> Connection:
        if self._db is None:
            await asyncio.to_thread(prepare, self._path)
            self._db = await connect(self._path)
        return self._db

    async def _disconnect(self) -> None:
        db, self._db = self._db, None
        if db:
            with suppress(sqlite3.Error):
                await db.close()
