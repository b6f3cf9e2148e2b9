"""The `Store` port on one SQLite file that several processes may share."""

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

from aiosqlite import Connection

from quillback.core.audit import AuditRecord
from quillback.core.event import Grown
from quillback.core.message import Message, MessageState
from quillback.core.model import Thinking
from quillback.core.ports import Mode, Rule, RuleEffect, SessionRecord, StoreError
from quillback.store.codec import DecodeError, decode_audit, decode_message, loads
from quillback.store.folding import grown, interrupt, unfinished
from quillback.store.leases import HEARTBEAT, Leases, Processes
from quillback.store.originals import OriginalFiles
from quillback.store.outbox import Outbox, columns
from quillback.store.sql import change, rows, transaction
from quillback.store.writer import Writer

log = logging.getLogger(__name__)

CLOSE_WAIT = 4.5
FLUSH_SHARE = 0.7
"""How much of the time for a close the flush may take."""
LAST_TRY = 0.3
"""Seconds that a last try may take that finds the file locked."""
_COLUMNS = "id, cwd, roots, mode, model, thinking, created_at, updated_at, title, cost"
_RECORD = f"{_COLUMNS}, coalesce(parent, '')"
_FAMILY = """
    WITH RECURSIVE family(id) AS (SELECT ?1 UNION SELECT s.id FROM sessions s JOIN family f ON s.parent = f.id)
    SELECT id FROM family"""


class SqliteStore:
    """See `core.ports.Store`. Nothing touches the disk before the first use.

    `now` gives milliseconds since the epoch. Every method but `put`, `journal`, `drop`, `audit` and `save_session`
    raises StoreError where the file cannot be used; a later call tries again.
    """

    def __init__(self, path: Path, *, now: Callable[[], int], processes: Processes | None = None) -> None:
        self._path = path
        self._now = now
        self._outbox = Outbox()
        self._writer = Writer(path, self._outbox)
        self._originals = OriginalFiles(self._writer)
        self._leases = Leases(processes or Processes())
        self._heart: asyncio.Task[None] | None = None
        self._closing: asyncio.Task[None] | None = None

    @property
    def originals(self) -> OriginalFiles:
        return self._originals

    async def open(self) -> None:
        """Open the file, create it if need be and bring its schema up to date. Other methods do so by themselves."""
        await self._writer.run(_nothing)

    def hurry(self, seconds: float) -> None:
        """The end is near: what waits for other processes fails after `seconds` from now."""
        self._writer.hurry(seconds)

    async def close(self, seconds: float | None = None) -> None:
        """Flush, give all leases back, close the file. Raises StoreError naming what is not saved.

        Takes `seconds` at most, 4.5 if not told. Goes on to its end even when the caller is cancelled.
        """
        if self._closing is None:
            work = self._close(CLOSE_WAIT if seconds is None else seconds)
            self._closing = asyncio.create_task(work, name="store close")
        await asyncio.shield(self._closing)

    async def _close(self, seconds: float) -> None:
        clock = asyncio.get_running_loop().time
        until = clock() + seconds
        if self._heart:
            self._heart.cancel()
        self._writer.hurry(max(0.0, seconds * FLUSH_SHARE - LAST_TRY))
        try:
            async with asyncio.timeout_at(clock() + seconds * FLUSH_SHARE):
                await self._writer.flush()
        except TimeoutError:
            raise StoreError(f"Not saved: {self._outbox.summary()}. Writing {self._path} takes too long.") from None
        finally:
            try:
                if self._leases.held:
                    async with asyncio.timeout_at(until):
                        await self._writer.run(self._leases.release_all)
            except (StoreError, TimeoutError) as error:
                log.warning("the leases were not given back: %s", error or "it takes too long")
            finally:
                await self._writer.stop(max(0.0, until - clock()))

    # ------------------------------------------------------------ sessions

    async def create_session(self, record: SessionRecord) -> None:
        values = (*columns(record), record.parent or None)
        marks = ", ".join("?" * len(values))
        insert = f"INSERT INTO sessions({_COLUMNS}, parent) VALUES ({marks}) ON CONFLICT DO NOTHING"

        async def create(db: Connection) -> int:
            async with transaction(db):
                return await change(db, insert, *values)

        if not await self._writer.run(create):
            raise StoreError(f"Session {record.id} is in the database {self._path} already.")

    async def session(self, session_id: str) -> SessionRecord | None:
        found = await self._read(f"SELECT {_RECORD} FROM sessions WHERE id = ?", session_id)
        return self._record(found[0]) if found else None

    async def sessions(
        self,
        *,
        cwd: str | None = None,
        before: tuple[int, str] | None = None,
        limit: int = 50,
        subagents: bool = False,
    ) -> list[SessionRecord]:
        """Newest first by (updated_at, id), strictly below `before`; `cwd` is compared as an exact string."""
        query = f"SELECT {_RECORD} FROM sessions WHERE {'TRUE' if subagents else 'parent IS NULL'}"
        values: list[str | int] = []
        if cwd is not None:
            query += " AND cwd = ?"
            values.append(cwd)
        if before:
            query += " AND (updated_at, id) < (?, ?)"
            values.extend(before)
        found = await self._read(f"{query} ORDER BY updated_at DESC, id DESC LIMIT ?", *values, limit)
        return [self._record(row) for row in found]

    async def delete_session(self, session_id: str) -> None:
        """Forget it and all that belongs to it. Raises SessionBusyError while another live process owns it."""

        async def delete(db: Connection) -> None:
            async with transaction(db):
                family = [str(row[0]) for row in await rows(db, _FAMILY, session_id)]
                for one in family:
                    await self._leases.ensure_free(db, one, self._now())
                    await change(db, "DELETE FROM leases WHERE session_id = ?", one)
                # takes messages, journal and subagents along
                await change(db, "DELETE FROM sessions WHERE id = ?", session_id)
            for one in family:
                self._leases.held.discard(one)
                self._outbox.forget(one)

        await self._writer.run(delete)

    def save_session(self, record: SessionRecord) -> None:
        self._outbox.save(record)
        self._writer.wake()

    # ------------------------------------------------------------ ownership

    async def acquire(self, session_id: str) -> None:
        if session_id in self._leases.held:
            return
        await self._writer.run(lambda db: self._leases.acquire(db, session_id, self._now()))
        if self._heart is None:
            self._heart = asyncio.create_task(self._beat(), name="store heartbeat")

    async def release(self, session_id: str) -> None:
        """Give the session back; what of it still streams here counts as interrupted from now on."""
        await self._writer.flush()
        await self._writer.run(lambda db: self._leases.release(db, session_id))
        self._outbox.forget(session_id)

    async def live_sessions(self) -> set[str]:
        """The sessions that some live process has open."""
        return await self._writer.run(lambda db: self._leases.live(db, self._now()))

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(HEARTBEAT)
            if not self._leases.held:
                continue
            try:
                ours = await self._writer.run(lambda db: self._leases.beat(db, self._now()))
            except StoreError as error:
                log.warning("no sign of life could be given: %s", error)
                continue
            if ours < len(self._leases.held):
                log.error("another process took a session over that is open here")

    # ------------------------------------------------------------ messages

    async def messages(self, session_id: str) -> list[Message]:
        """The stream in `seq` order, then what has no seq, in the order it was put.

        What streams here or in another live process comes as it stands; what a dead process left streaming is stored
        as interrupted, once.
        """
        await self._writer.flush()
        try:
            return await self._writer.run(lambda db: self._load(db, session_id))
        except DecodeError as error:
            raise StoreError(
                f"A message of session {session_id} in {self._path} cannot be read ({error}). "
                "It was left as it is; other sessions are not concerned."
            ) from error

    async def _load(self, db: Connection, session_id: str) -> list[Message]:
        live = self._outbox.live
        if any(message_id not in live for message_id in await unfinished(db, session_id)):
            async with transaction(db):
                if not await self._leases.other_owner(db, session_id, self._now()):
                    await interrupt(db, session_id, live)
        async with transaction(db, reading=True):
            query = "SELECT body FROM messages WHERE session_id = ? ORDER BY seq IS NULL, seq, rowid"
            stream = [decode_message(body) for (body,) in await rows(db, query, session_id)]
            return [await grown(db, m) if m.state is MessageState.STREAMING else m for m in stream]

    def put(self, message: Message) -> None:
        self._outbox.put(message)
        self._writer.wake()

    def journal(self, event: Grown) -> None:
        self._outbox.journal(event)
        self._writer.wake()

    def drop(self, message_id: str) -> None:
        self._outbox.drop(message_id)
        self._writer.wake()

    async def flush(self) -> None:
        await self._writer.flush()

    # ------------------------------------------------------------ audit

    def audit(self, record: AuditRecord) -> None:
        self._outbox.audit(record)
        self._writer.wake()

    async def audits(self, session_id: str) -> list[AuditRecord]:
        found = await self._read("SELECT body FROM audit WHERE session_id = ? ORDER BY n", session_id)
        try:
            return [decode_audit(body) for (body,) in found]
        except DecodeError as error:
            text = f"The audit of session {session_id} in {self._path} cannot be read ({error})."
            raise StoreError(text) from error

    # ------------------------------------------------------------ rules

    async def rules(self, root: str) -> list[Rule]:
        query = "SELECT root, pattern, effect FROM rules WHERE root = ? ORDER BY created_at, pattern"
        found = await self._read(query, root)
        return [Rule(root, pattern, RuleEffect(effect)) for root, pattern, effect in found]

    async def add_rule(self, rule: Rule) -> None:
        """Store the latest answer for its root and pattern."""
        insert = "INSERT OR REPLACE INTO rules(root, pattern, effect, created_at) VALUES (?, ?, ?, ?)"

        async def add(db: Connection) -> None:
            async with transaction(db):
                await change(db, insert, rule.root, rule.pattern, rule.effect, self._now())

        await self._writer.run(add)

    async def all_rules(self) -> list[tuple[int, Rule]]:
        found = await self._read("SELECT rowid, root, pattern, effect FROM rules ORDER BY created_at, rowid")
        return [(number, Rule(root, pattern, RuleEffect(effect))) for number, root, pattern, effect in found]

    async def delete_rule(self, number: int) -> bool:
        async def delete(db: Connection) -> int:
            async with transaction(db):
                return await change(db, "DELETE FROM rules WHERE rowid = ?", number)

        return await self._writer.run(delete) > 0

    # ------------------------------------------------------------ helpers

    async def _read(self, query: str, *values: str | int) -> list[tuple[Any, ...]]:
        await self._writer.flush()
        return await self._writer.run(lambda db: rows(db, query, *values))

    def _record(self, row: tuple[Any, ...]) -> SessionRecord:
        session_id, cwd, roots, mode, model, thinking, *rest = row
        try:
            return SessionRecord(session_id, cwd, tuple(loads(roots)), Mode(mode), model, Thinking(thinking), *rest)
        except ValueError as error:
            raise StoreError(f"Session {session_id} in {self._path} cannot be read ({error}).") from error


async def _nothing(_: Connection) -> None:
    pass
