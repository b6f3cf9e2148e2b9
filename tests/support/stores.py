"""Stores on real files, and scripts that use them in processes of their own."""

import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, closing
from pathlib import Path
from sqlite3 import connect
from textwrap import dedent
from typing import Any

from attrs import evolve

from quillback.core.event import Growth, PartGrew
from quillback.core.message import Message, MessageState, Part, Role, Text
from quillback.core.model import Thinking
from quillback.core.ports import Mode, SessionRecord
from quillback.store.sqlite import SqliteStore


def now() -> int:
    return time.time_ns() // 1_000_000


def new_store(path: Path, **options: Any) -> SqliteStore:
    return SqliteStore(path, now=options.pop("now", now), **options)


@asynccontextmanager
async def opened(path: Path, *sessions: str, **options: Any) -> AsyncIterator[SqliteStore]:
    """A store in which `sessions` exist; closed at the end."""
    store = new_store(path, **options)
    try:
        for session_id in sessions:
            await store.create_session(record(session_id))
        yield store
    finally:
        await store.close()


def record(session_id: str = "s1", **changes: Any) -> SessionRecord:
    plain = SessionRecord(session_id, "/w", ("/w",), Mode.APPROVE, "m", Thinking.OFF, created_at=1, updated_at=1)
    return evolve(plain, **changes)


def message(message_id: str, *parts: Part, seq: int = 1, session_id: str = "s1", **changes: Any) -> Message:
    return evolve(Message(message_id, session_id, seq, Role.ASSISTANT, parts, created_at=5), **changes)


def streaming(message_id: str, *, seq: int = 1, session_id: str = "s1") -> Message:
    return message(message_id, seq=seq, session_id=session_id, state=MessageState.STREAMING)


def said(message_id: str, text: str, *, seq: int = 1, session_id: str = "s1") -> Message:
    return message(message_id, Text(text, "r1"), seq=seq, session_id=session_id)


def delta(message_id: str, text: str, index: int = 0) -> PartGrew:
    return PartGrew(message_id, index, Growth.TEXT, text, "r1")


def query(path: Path, sql: str, *values: Any) -> list[Any]:
    """The rows of one statement, on a connection of its own."""
    with closing(connect(path, isolation_level=None, timeout=10)) as db:
        return db.execute(sql, values).fetchall()


def snapshot(directory: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in directory.iterdir()}


_PREAMBLE = """
    import asyncio, logging, os, signal, sys
    from pathlib import Path
    from quillback.core.event import PartOpened
    from quillback.core.message import Text
    from quillback.core.ports import SessionBusyError, StoreError
    sys.path.insert(0, sys.argv[1])
    from support.stores import delta, message, new_store, opened, query, record, said, streaming
    logging.getLogger("quillback").addHandler(logging.NullHandler())
    path, arguments = Path(sys.argv[2]), sys.argv[3:]
"""


def start(script: str, path: Path, *arguments: str, under: tuple[str, ...] = ()) -> subprocess.Popen[str]:
    """Run `script` in a Python of its own; it finds `path` and `arguments`, and the helpers of this module.

    `under` is a command that runs it.
    """
    code = dedent(_PREAMBLE) + dedent(script)
    command = [*under, sys.executable, "-u", "-c", code, str(Path(__file__).parents[1]), str(path), *arguments]
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1
    )


def finish(processes: Iterable[subprocess.Popen[str]]) -> list[str]:
    """What each wrote to stdout; each must end well and say nothing on stderr."""
    outputs = []
    for process in processes:
        out, err = process.communicate(timeout=60)
        assert (process.returncode, err) == (0, ""), err
        outputs.append(out)
    return outputs
