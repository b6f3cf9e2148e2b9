"""Opens the database file: looks before it touches, keeps it private, brings its schema up to date."""

import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

import aiosqlite

from quillback.store.faults import damaged
from quillback.store.migrations import migrate, refuse_newer

BUSY_SLICE = 0.2
"""Seconds that SQLite itself waits for a lock. The writer repeats it, so that a close need not wait for the whole."""


def prepare(path: Path) -> None:
    """Create the file (0600) and its directory (0700) where they are missing; refuse what must not be touched.

    Raises StoreError, OSError, sqlite3.Error.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    _look(path)
    for file in (path, *_companions(path)):
        with suppress(FileNotFoundError, PermissionError):
            if file.stat().st_mode & 0o077:
                file.chmod(0o600)


async def connect(path: Path) -> aiosqlite.Connection:
    """A connection to a prepared file, in autocommit mode. Raises StoreError, sqlite3.Error."""
    db = await aiosqlite.connect(_uri(path, "rw"), uri=True, isolation_level=None, timeout=BUSY_SLICE)
    try:
        for pragma in ("journal_mode = WAL", "synchronous = NORMAL", "foreign_keys = ON"):
            await db.execute_fetchall(f"PRAGMA {pragma}")
        await migrate(db, path)
    except BaseException:
        with suppress(sqlite3.Error):
            await db.close()
        raise
    return db


def _look(path: Path) -> None:
    """Refuse a newer or damaged file. Neither it nor its log is changed, and no other file is made.

    The file is read through SQLite only: closing a descriptor of our own would drop the locks of other connections
    of this process.
    """
    if not path.is_file():
        raise damaged(path, "it is not a regular file")
    log = _companions(path)[0]
    logged = log.exists() and log.stat().st_size > 0
    if logged and path.stat().st_size == 0:  # SQLite would delete the log
        raise damaged(path, "the file is empty, its write-ahead log is not")
    uri = _uri(path, "ro" if logged else "ro&immutable=1")
    with closing(sqlite3.connect(uri, uri=True, timeout=BUSY_SLICE)) as db:
        try:
            version = int(db.execute("PRAGMA user_version").fetchone()[0])
        except sqlite3.DatabaseError as error:
            if logged or error.sqlite_errorcode != sqlite3.SQLITE_CORRUPT:
                raise
            return  # perhaps read without locks while another process wrote: opening it will tell
    refuse_newer(path, version)


def _companions(path: Path) -> tuple[Path, Path]:
    return path.with_name(path.name + "-wal"), path.with_name(path.name + "-shm")


def _uri(path: Path, mode: str) -> str:
    return f"{path.absolute().as_uri()}?mode={mode}"
