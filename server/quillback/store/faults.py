"""Turns what SQLite and the system report into errors that name the file and what to do."""

import sqlite3
from pathlib import Path

from quillback.core.ports import StoreError

_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL)
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_CLOSED = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH)

_DAMAGE = (
    "is damaged or not a Quillback database. It was left as it is: move it away (with the files of the same name that "
    "end in -wal and -shm) to start anew, or put a backup in its place"
)
_ADVICE = (
    (_BUSY, "is locked by another program. Close the program that uses it and try again"),
    (_DAMAGED, _DAMAGE),
    ((sqlite3.SQLITE_FULL,), "cannot be written, the disk is full. Free some space; it will be tried again"),
    ((sqlite3.SQLITE_IOERR,), "cannot be read or written. Check the disk and its free space; it will be tried again"),
    (_CLOSED, "cannot be opened for writing. Check the permissions of the file and of its directory"),
)


def is_busy(error: Exception) -> bool:
    """Whether another connection is in the way, so that waiting helps."""
    return isinstance(error, sqlite3.OperationalError) and _code(error) in _BUSY


def explain(path: Path, error: Exception) -> StoreError:
    """`error` for the user."""
    if isinstance(error, OSError):
        return StoreError(
            f"{error.filename or path} cannot be used for the database {path}: {error.strerror or error}. "
            "Check the permissions and the free space there, or set QUILLBACK_HOME to another directory."
        )
    for codes, advice in _ADVICE:
        if _code(error) in codes:
            return StoreError(f"The database {path} {advice}. ({error})")
    return StoreError(f"The database {path} could not do it: {error}. Check the log.")


def damaged(path: Path, why: str) -> StoreError:
    return StoreError(f"The database {path} {_DAMAGE}. ({why})")


def _code(error: Exception) -> int:
    return int(getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)) & 0xFF  # the low byte is the kind of error
