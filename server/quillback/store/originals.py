"""What files held before they were changed: the `Originals` port on the store's one connection."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from aiosqlite import Connection

from quillback.core.ports import StoreError
from quillback.core.undo import KEPT_BYTES, KEPT_TOTAL, KEPT_TURNS, NO_FILE, Before, Original, digest_of
from quillback.store.sql import change, rows, transaction
from quillback.store.writer import Writer

_COLUMNS = "n, prompt_id, path, name, content, mode, made, before, written, writing, failed"
_INSERT = """
    INSERT INTO originals(session_id, prompt_id, path, name, content, mode, made, before, written, writing)
    SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, '', ?9 WHERE EXISTS (SELECT 1 FROM sessions WHERE id = ?1)"""
_LAST = """
    SELECT n, before, written, writing FROM originals
    WHERE session_id = ? AND prompt_id = ? AND path = ? ORDER BY n DESC LIMIT 1"""
_TURNS = """
    SELECT prompt_id, total(length(content)) FROM originals
    WHERE session_id = ? GROUP BY prompt_id ORDER BY max(n) DESC"""
_LATEST = """
    WITH mine AS (SELECT n, prompt_id FROM originals WHERE session_id = ?)
    SELECT n FROM mine WHERE prompt_id = (SELECT prompt_id FROM mine ORDER BY n DESC LIMIT 1) ORDER BY n DESC"""


class OriginalFiles:
    """See `core.undo.Originals`."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer

    async def keep(self, session_id: str, prompt: str, before: Before, after: str) -> None:
        digest = digest_of(before.content)
        kept = None if before.content is None or len(before.content) > KEPT_BYTES else before.content

        async def work(db: Connection) -> bool:
            async with _durable(db):
                for number, first, *own in await rows(db, _LAST, session_id, prompt, before.path):
                    if digest == first or (digest != NO_FILE and digest in own):
                        return await _goes_on(db, number, "" if digest == first else digest, after)
                return await _begins(db, session_id, prompt, before, digest, kept, after)

        if not await self._writer.run(work):
            raise StoreError(f"Session {session_id} is not in the database any more.")

    async def written(self, session_id: str, prompt: str, path: str, digest: str) -> None:
        async def work(db: Connection) -> None:
            async with transaction(db):
                for number, *_ in await rows(db, _LAST, session_id, prompt, path):
                    await change(db, "UPDATE originals SET written = ? WHERE n = ?", digest, number)

        await self._writer.run(work)

    async def latest(self, session_id: str) -> list[int]:
        found = await self._writer.run(lambda db: rows(db, _LATEST, session_id))
        return [number for (number,) in found]

    async def original(self, number: int) -> Original | None:
        found = await self._writer.run(lambda db: rows(db, f"SELECT {_COLUMNS} FROM originals WHERE n = ?", number))
        return _original(found[0]) if found else None

    async def settle(self, number: int) -> None:
        await self._change("DELETE FROM originals WHERE n = ?", number)

    async def failed(self, number: int) -> None:
        await self._change("UPDATE originals SET failed = 1 WHERE n = ?", number)

    async def _change(self, statement: str, number: int) -> None:
        async def work(db: Connection) -> None:
            async with transaction(db):
                await change(db, statement, number)

        await self._writer.run(work)


@asynccontextmanager
async def _durable(db: Connection) -> AsyncIterator[None]:
    """A transaction that a loss of power cannot take back either: the file it is about is synced to disk, too."""
    await db.execute_fetchall("PRAGMA synchronous = FULL")
    try:
        async with transaction(db):
            yield
    finally:
        await db.execute_fetchall("PRAGMA synchronous = NORMAL")


async def _goes_on(db: Connection, number: int, written: str, after: str) -> bool:
    """The turn changes again what it wrote itself, or what it has not changed yet (`written` is empty then)."""
    await change(db, "UPDATE originals SET written = ?, writing = ? WHERE n = ?", written, after, number)
    return True


async def _begins(
    db: Connection, session_id: str, prompt: str, before: Before, digest: str, kept: bytes | None, after: str
) -> bool:
    values = (before.path, before.name, kept, before.mode, before.made, digest, after)
    if not await change(db, _INSERT, session_id, prompt, *values):
        return False
    total = 0
    for number, (turn, size) in enumerate(await rows(db, _TURNS, session_id)):
        total += size
        if number and (number >= KEPT_TURNS or total > KEPT_TOTAL):
            await change(db, "DELETE FROM originals WHERE session_id = ? AND prompt_id = ?", session_id, turn)
    return True


def _original(row: tuple[Any, ...]) -> Original:
    number, prompt, path, name, content, mode, made, before, written, writing, failed = row
    return Original(number, prompt, path, name, content, mode, made, before, written, writing, bool(failed))
