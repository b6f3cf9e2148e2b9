"""The few ways in which the store talks to its connection."""

import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

from aiosqlite import Connection

from quillback.store.codec import clean

Value = str | int | float | bytes | None


async def rows(db: Connection, sql: str, *values: Value) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in await db.execute_fetchall(sql, _bound(values))]


async def change(db: Connection, sql: str, *values: Value) -> int:
    """The number of rows changed."""
    async with db.execute(sql, _bound(values)) as cursor:
        return cursor.rowcount


@asynccontextmanager
async def transaction(db: Connection, *, reading: bool = False) -> AsyncIterator[None]:
    """All of the block is stored, or nothing; one for `reading` sees one state of the file throughout.

    A writing one takes the write lock at once: if it began by reading, it would fail without waiting when it came to
    write after another process wrote.
    """
    try:
        await db.execute("BEGIN" if reading else "BEGIN IMMEDIATE")
        yield
        await db.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):  # there is nothing to roll back where BEGIN failed or SQLite did it itself
            await db.execute("ROLLBACK")
        raise


def _bound(values: tuple[Value, ...]) -> list[Value]:
    return [clean(value) if isinstance(value, str) else value for value in values]
