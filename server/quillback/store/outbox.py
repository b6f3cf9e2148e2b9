"""What waits to be written, in order, and how it is written."""

import logging
import sqlite3
from collections.abc import Sequence
from itertools import count

from aiosqlite import Connection
from attrs import evolve, field, frozen

from quillback.core.audit import AuditRecord
from quillback.core.event import Grown, PartGrew
from quillback.core.message import Message, MessageState
from quillback.core.ports import SessionRecord
from quillback.store.codec import decode_message, dumps, encode_audit, encode_growth, encode_message
from quillback.store.sql import change, rows

log = logging.getLogger(__name__)

_PUT = """
    INSERT INTO messages(id, session_id, seq, state, body)
    SELECT ?1, ?2, ?3, ?4, ?5 WHERE EXISTS (SELECT 1 FROM sessions WHERE id = ?2)
    ON CONFLICT(id) DO UPDATE SET
        session_id = excluded.session_id, seq = excluded.seq, state = excluded.state, body = excluded.body"""
_JOURNAL = """
    INSERT OR REPLACE INTO journal(message_id, n, event)
    SELECT ?1, ?2, ?3 WHERE EXISTS (SELECT 1 FROM messages WHERE id = ?1 AND state = 'streaming')"""
_AUDIT = """
    INSERT OR REPLACE INTO audit(session_id, call_id, body)
    SELECT ?1, ?2, ?3 WHERE EXISTS (SELECT 1 FROM sessions WHERE id = ?1)"""
_SAVE = """
    UPDATE sessions SET cwd = ?2, roots = ?3, mode = ?4, model = ?5, thinking = ?6, created_at = ?7,
        updated_at = ?8, title = ?9, cost = ?10 WHERE id = ?1"""


@frozen
class Put:
    message_id: str
    session_id: str
    seq: int | None
    state: MessageState
    body: bytes


@frozen
class Journal:
    """`n` orders the rows of a message, and makes writing one twice the same as writing it once.

    `texts` are what later events of the same run add to `event`.
    """

    n: int
    event: Grown
    texts: list[str] = field(factory=list)

    def body(self) -> bytes:
        if isinstance(self.event, PartGrew):
            return encode_growth(evolve(self.event, text="".join((self.event.text, *self.texts))))
        return encode_growth(self.event)


@frozen
class Drop:
    message_id: str


@frozen
class Save:
    record: SessionRecord


@frozen
class Audit:
    session_id: str
    call_id: str
    body: bytes


Entry = Put | Journal | Drop | Save | Audit


class Outbox:
    """`live` maps the messages that stream from here to their sessions.

    `shifts` says by how much the places of a session's new messages are moved, since another process took theirs.
    """

    def __init__(self) -> None:
        self._entries: list[Entry] = []
        self._open: dict[str, Journal] = {}  # by message: the row that its next delta may join
        self._numbers = count()
        self.live: dict[str, str] = {}
        self.shifts: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def put(self, message: Message) -> None:
        seq = message.seq if message.seq > 0 else None
        self._entries.append(Put(message.id, message.session_id, seq, message.state, encode_message(message)))
        self._open.pop(message.id, None)
        if message.state is MessageState.STREAMING:
            self.live[message.id] = message.session_id
        else:
            self.live.pop(message.id, None)

    def journal(self, event: Grown) -> None:
        last = self._open.get(event.message_id)
        if last and isinstance(event, PartGrew) and _continues(event, last.event):
            last.texts.append(event.text)
            return
        entry = self._open[event.message_id] = Journal(next(self._numbers), event)
        self._entries.append(entry)

    def drop(self, message_id: str) -> None:
        self._open.pop(message_id, None)
        self.live.pop(message_id, None)
        self._entries.append(Drop(message_id))

    def save(self, record: SessionRecord) -> None:
        self._entries.append(Save(record))

    def audit(self, record: AuditRecord) -> None:
        self._entries.append(Audit(record.session_id, record.call_id, encode_audit(record)))

    def forget(self, session_id: str) -> None:
        """Nothing of the session streams from here any more."""
        self.live = {message: session for message, session in self.live.items() if session != session_id}

    def seal(self) -> Sequence[Entry]:
        """All entries, none of which changes any more. They stay until `confirm`."""
        self._open.clear()
        return tuple(self._entries)

    def confirm(self, batch: Sequence[Entry]) -> None:
        """The sealed `batch` is on disk."""
        del self._entries[: len(batch)]

    def summary(self) -> str:
        """What waits, for an error message."""
        messages = {e.message_id for e in self._entries if isinstance(e, Put)}
        texts = {e.event.message_id for e in self._entries if isinstance(e, Journal)} - messages
        drops = sum(isinstance(e, Drop) for e in self._entries)
        sessions = {e.record.id for e in self._entries if isinstance(e, Save)}
        audits = sum(isinstance(e, Audit) for e in self._entries)
        counts = (
            (len(messages), "message"),
            (len(texts), "piece of a streaming message"),
            (drops, "removal of a message"),
            (len(sessions), "session setting"),
            (audits, "decision about a call"),
        )
        return ", ".join(f"{n} x {what}" for n, what in counts if n)


async def write(db: Connection, batch: Sequence[Entry], shifts: dict[str, int]) -> list[str]:
    """Write `batch` inside the caller's transaction; says what of it can never be stored, and why.

    Entries of a session or message that is gone are left out. A message whose place is taken gets the next one, and
    those that follow it stay behind it.
    """
    refused = []
    for entry in batch:
        try:
            await _write(db, entry, shifts)
        except (sqlite3.IntegrityError, sqlite3.DataError, OverflowError) as error:
            refused.append(f"{_name(entry)} ({error})")
    return refused


async def _write(db: Connection, entry: Entry, shifts: dict[str, int]) -> None:
    match entry:
        case Put():
            await _write_message(db, entry, shifts)
        case Journal(n, event):
            await change(db, _JOURNAL, event.message_id, n, entry.body())
        case Drop(message_id):
            await change(db, "DELETE FROM messages WHERE id = ?", message_id)
        case Save(record):
            await change(db, _SAVE, *columns(record))
        case Audit(session_id, call_id, body):
            await change(db, _AUDIT, session_id, call_id, body)


async def _write_message(db: Connection, put: Put, shifts: dict[str, int]) -> None:
    if put.session_id in shifts:
        put = await _placed(db, put, shifts)
    try:
        found = await _put(db, put)
    except sqlite3.IntegrityError:
        if put.seq is None:
            raise
        log.warning("place %d of session %s is taken by another process", put.seq, put.session_id)
        put = await _placed(db, put, shifts)
        found = await _put(db, put)
    if not found:
        log.warning("message %s was left out: its session %s is gone", put.message_id, put.session_id)
    if put.state is not MessageState.STREAMING:
        await change(db, "DELETE FROM journal WHERE message_id = ?", put.message_id)


async def _put(db: Connection, put: Put) -> int:
    return await change(db, _PUT, put.message_id, put.session_id, put.seq, put.state, put.body)


async def _placed(db: Connection, put: Put, shifts: dict[str, int]) -> Put:
    """In the place that it has, or else behind all that there are."""
    if put.seq is None:
        return put
    [(own, last)] = await rows(
        db,
        "SELECT (SELECT seq FROM messages WHERE id = ?1), (SELECT max(seq) FROM messages WHERE session_id = ?2)",
        put.message_id,
        put.session_id,
    )
    seq = own
    if own is None:
        seq = max(put.seq + shifts.get(put.session_id, 0), (last or 0) + 1)
        shifts[put.session_id] = seq - put.seq
    return evolve(put, seq=seq, body=encode_message(evolve(decode_message(put.body), seq=seq)))


def columns(record: SessionRecord) -> tuple[str | int | float | bytes, ...]:
    """The session's row, in the order of the table."""
    return (
        record.id,
        record.cwd,
        dumps(record.roots),
        record.mode,
        record.model,
        record.thinking,
        record.created_at,
        record.updated_at,
        record.title,
        record.cost,
    )


def _continues(event: PartGrew, last: Grown) -> bool:
    return (
        isinstance(last, PartGrew)
        and (event.index, event.growth, event.run_id) == (last.index, last.growth, last.run_id)
        and event.supersedes in ((), last.supersedes)
    )


def _name(entry: Entry) -> str:
    match entry:
        case Put() | Drop():
            return f"message {entry.message_id}"
        case Journal():
            return f"text of message {entry.event.message_id}"
        case Save():
            return f"session {entry.record.id}"
        case Audit():
            return f"decision about call {entry.call_id}"
