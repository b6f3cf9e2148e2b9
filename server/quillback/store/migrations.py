"""The schema, one function for each version; SQLite's `user_version` says how many of them a file has seen."""

from collections.abc import Awaitable, Callable
from pathlib import Path

from aiosqlite import Connection

from quillback.core.ports import StoreError
from quillback.store.sql import rows, transaction

Migration = Callable[[Connection], Awaitable[None]]


async def m001_initial(db: Connection) -> None:
    for statement in (
        """CREATE TABLE sessions(
            id TEXT PRIMARY KEY, cwd TEXT NOT NULL, roots BLOB NOT NULL, mode TEXT NOT NULL, model TEXT NOT NULL,
            thinking TEXT NOT NULL, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, title TEXT NOT NULL,
            cost REAL NOT NULL)""",
        "CREATE INDEX sessions_recent ON sessions(updated_at, id)",
        "CREATE INDEX sessions_in ON sessions(cwd, updated_at, id)",
        """CREATE TABLE messages(
            id TEXT PRIMARY KEY, session_id TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
            seq INTEGER, state TEXT NOT NULL, body BLOB NOT NULL)""",
        "CREATE UNIQUE INDEX messages_order ON messages(session_id, seq) WHERE seq > 0",
        "CREATE INDEX messages_of ON messages(session_id, state)",
        """CREATE TABLE journal(
            message_id TEXT NOT NULL REFERENCES messages(id) ON DELETE CASCADE,
            n INTEGER NOT NULL, event BLOB NOT NULL, PRIMARY KEY(message_id, n)) WITHOUT ROWID""",
        """CREATE TABLE leases(
            session_id TEXT PRIMARY KEY, owner TEXT NOT NULL, pid INTEGER NOT NULL, birth TEXT NOT NULL,
            heartbeat INTEGER NOT NULL)""",
        """CREATE TABLE rules(
            root TEXT NOT NULL, pattern TEXT NOT NULL, effect TEXT NOT NULL, created_at INTEGER NOT NULL,
            PRIMARY KEY(root, pattern))""",
    ):
        await db.execute(statement)


async def m002_audit(db: Connection) -> None:
    await db.execute(
        """CREATE TABLE audit(
            n INTEGER PRIMARY KEY, session_id TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
            call_id TEXT NOT NULL, body BLOB NOT NULL, UNIQUE(session_id, call_id))"""
    )


async def m003_originals(db: Connection) -> None:
    for statement in (
        """CREATE TABLE originals(
            n INTEGER PRIMARY KEY, session_id TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
            prompt_id TEXT NOT NULL, path TEXT NOT NULL, name TEXT NOT NULL, content BLOB, mode INTEGER,
            made TEXT NOT NULL, before TEXT NOT NULL, written TEXT NOT NULL, writing TEXT NOT NULL,
            failed INTEGER NOT NULL DEFAULT 0)""",
        "CREATE INDEX originals_of ON originals(session_id, prompt_id, path)",
    ):
        await db.execute(statement)


async def m004_subagents(db: Connection) -> None:
    await db.execute("ALTER TABLE sessions ADD COLUMN parent TEXT REFERENCES sessions(id) ON DELETE CASCADE")
    await db.execute("CREATE INDEX sessions_of ON sessions(parent) WHERE parent IS NOT NULL")


MIGRATIONS: tuple[Migration, ...] = (m001_initial, m002_audit, m003_originals, m004_subagents)


def refuse_newer(path: Path, version: int) -> None:
    """Raises StoreError if a newer program wrote the file."""
    if version > len(MIGRATIONS):
        raise StoreError(
            f"{path} was written by a newer Quillback: its schema version is {version}, this one knows versions up to "
            f"{len(MIGRATIONS)}. Update Quillback, or set QUILLBACK_HOME to another directory. The file is unchanged."
        )


async def migrate(db: Connection, path: Path) -> None:
    """Bring the schema up to date, each step in a transaction of its own. Raises StoreError for a newer file."""
    current = await _version(db)
    refuse_newer(path, current)
    for version, step in enumerate(MIGRATIONS[current:], start=current + 1):
        async with transaction(db):
            if await _version(db) < version:  # another process may have been faster
                await step(db)
                await db.execute(f"PRAGMA user_version = {version}")


async def _version(db: Connection) -> int:
    return int((await rows(db, "PRAGMA user_version"))[0][0])
