"""Looks at a database without changing it, for those who want to know whether it can be used."""

import sqlite3
from contextlib import closing
from pathlib import Path

from attrs import frozen

from quillback.core.ports import StoreError
from quillback.store.faults import damaged, explain
from quillback.store.migrations import MIGRATIONS, refuse_newer

NEWEST = len(MIGRATIONS)


@frozen
class Health:
    """`version` is the schema's, 0 when it could not be read; `problem` says why the file cannot be used, and what to
    do."""

    exists: bool
    version: int = 0
    newest: int = NEWEST
    sessions: int = 0
    problem: str = ""


def examine(path: Path) -> Health:
    """The state of the file. Reads all of it, and writes neither to it nor beside it."""
    version = sessions = 0
    try:
        if not path.exists():
            return Health(exists=False)
        with closing(_open(path)) as db:
            version = int(db.execute("PRAGMA user_version").fetchone()[0])
            refuse_newer(path, version)
            verdict = str(db.execute("PRAGMA quick_check(1)").fetchone()[0])
            if verdict != "ok":
                raise damaged(path, verdict)
            if version:
                sessions = int(db.execute("SELECT count(*) FROM sessions").fetchone()[0])
    except StoreError as error:
        return Health(exists=True, version=version, problem=str(error))
    except (sqlite3.Error, OSError) as error:
        return Health(exists=True, version=version, problem=str(explain(path, error)))
    return Health(exists=True, version=version, sessions=sessions)


def _open(path: Path) -> sqlite3.Connection:
    if not path.is_file():
        raise damaged(path, "it is not a regular file")
    log = path.with_name(path.name + "-wal")
    # without a log nobody writes, and SQLite need not create one to read
    mode = "ro" if log.exists() and log.stat().st_size else "ro&immutable=1"
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode={mode}", uri=True, timeout=1)
