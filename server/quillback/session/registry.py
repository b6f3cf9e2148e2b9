"""The sessions of this process: which are open, and how they are made, opened, listed and ended."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Coroutine, Sequence
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from attrs import evolve, frozen

from quillback.core.audit import AuditRecord
from quillback.core.mcp_server import McpServer
from quillback.core.message import Message
from quillback.core.model import Thinking
from quillback.core.ports import Editor, Mode, SessionBusyError, SessionRecord
from quillback.core.stream import since_summary
from quillback.session.fork import fork_stored
from quillback.session.history import recovered
from quillback.session.services import Services
from quillback.session.session import HOOK_SECONDS, ClosedError, Session

log = logging.getLogger(__name__)
CLOSE_HOOK_SECONDS = 10.0
"""How long the last hooks of one session that is closed may take, while the others go on."""


class UnknownSessionError(Exception):
    """No session of that id is stored, or it is not open here."""

    def __init__(self, session_id: str) -> None:
        super().__init__(f"there is no session {session_id!r}")
        self.session_id = session_id


class BadDirectoryError(ValueError):
    """The text says which directory is wrong and why."""


@frozen
class Defaults:
    """What a new session starts with."""

    model: str
    mode: Mode
    thinking: Thinking


class Sessions:
    def __init__(self, services: Services, defaults: Defaults, editor: Editor) -> None:
        self._services = services
        self._defaults = defaults
        self._editor = editor
        self._open: dict[str, Session] = {}
        self._servers: dict[str, tuple[McpServer, ...]] = {}
        self._works: set[asyncio.Task[None]] = set()
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._deleting: set[str] = set()
        self._closing = False

    def get(self, session_id: str) -> Session:
        """An open session. Raises UnknownSessionError."""
        session = self._open.get(session_id)
        if session is None:
            raise UnknownSessionError(session_id)
        return session

    async def new(self, cwd: str, more_roots: Sequence[str] = (), servers: Sequence[McpServer] = ()) -> Session:
        """Raises BadDirectoryError, StoreError, ClosedError."""
        self._check_running()
        check_directory("cwd", cwd)
        for root in more_roots:
            check_directory("additionalDirectories", root)
        services, now = self._services, self._services.now()
        record = SessionRecord(
            id=services.new_id("sess"),
            cwd=cwd,
            roots=(cwd, *more_roots),
            mode=self._defaults.mode,
            model=self._defaults.model,
            thinking=self._defaults.thinking,
            created_at=now,
            updated_at=now,
        )
        try:
            await services.store.create_session(record)
            return await self._take(record, _no_history, servers)
        except asyncio.CancelledError:
            self._aside(services.store.delete_session(record.id))  # nobody will ever know its id
            raise

    async def open(
        self, session_id: str, cwd: str, more_roots: Sequence[str] = (), servers: Sequence[McpServer] = ()
    ) -> Session:
        """A stored session, as far as it got. One that is open already stays as it is: `more_roots` and `servers` are
        those of its first opening until it is closed.

        Raises UnknownSessionError, BadDirectoryError, StoreError, ClosedError.
        """
        self._check_running()
        async with self._lock(session_id):
            if session_id in self._open:
                session = self._open[session_id]
                _same_directory(session.record, cwd)
                self._note_ignored(session.record, (cwd, *more_roots), tuple(servers))
                return session
            return await self._load(session_id, cwd, more_roots, servers)

    async def fork(
        self,
        session_id: str,
        cwd: str,
        more_roots: Sequence[str] = (),
        servers: Sequence[McpServer] = (),
        through: str = "",
    ) -> Session:
        """A new session with the stream of a stored one, open or not, up to the message `through` or to its end.

        Raises UnknownSessionError, BadDirectoryError, ForkError, StoreError, ClosedError.
        """
        self._check_running()
        store = self._services.store
        record = await store.session(session_id)
        if record is None:
            raise UnknownSessionError(session_id)
        check_directory("cwd", cwd)
        _same_directory(record, cwd)
        for root in more_roots:
            check_directory("additionalDirectories", root)
        fork = await fork_stored(self._services, record, await store.messages(session_id), through)
        try:
            return await self.open(fork.id, cwd, more_roots, servers)
        except BaseException:
            self._aside(store.delete_session(fork.id))  # nobody will ever know its id
            raise

    async def _load(
        self, session_id: str, cwd: str, more_roots: Sequence[str], servers: Sequence[McpServer]
    ) -> Session:
        services = self._services
        if self._deleting and await self._is_of(session_id, self._deleting):
            raise UnknownSessionError(session_id)
        record = await services.store.session(session_id)  # read last: a deletion may end while its family is looked at
        if record is None:
            raise UnknownSessionError(session_id)
        self._check_no_subagent(session_id)
        check_directory("cwd", cwd)
        _same_directory(record, cwd)
        for root in more_roots:
            check_directory("additionalDirectories", root)
        record = evolve(record, roots=(cwd, *more_roots))
        session = await self._take(record, self._recover, servers)
        services.store.save_session(record)
        return session

    async def _take(
        self,
        record: SessionRecord,
        history: Callable[[str], Awaitable[list[Message]]],
        servers: Sequence[McpServer],
    ) -> Session:
        """Own a session and open it. It is given back when that fails or is cancelled, at whatever point."""
        store = self._services.store
        try:
            await store.acquire(record.id)
        except asyncio.CancelledError:
            self._aside(store.release(record.id))  # it may be ours all the same
            raise
        try:
            messages = await history(record.id)
            self._check_running()
            session = Session(record, messages, self._services, self._editor, servers)
        except BaseException:
            await asyncio.shield(self._aside(store.release(record.id)))
            raise
        self._open[record.id] = session
        self._servers[record.id] = tuple(servers)
        self._services.opened(record)
        return session

    async def _recover(self, session_id: str) -> list[Message]:
        services = self._services
        stored = await services.store.messages(session_id)
        history, changed = recovered(stored, services.new_id, services.now)
        for message in changed:
            services.store.put(message)
        await services.store.flush()
        return since_summary(history)

    async def listed(self, *, cwd: str | None, before: tuple[int, str] | None, limit: int) -> list[SessionRecord]:
        return await self._services.store.sessions(cwd=cwd, before=before, limit=limit)

    async def audits(self, session_id: str) -> list[AuditRecord]:
        """What was decided about the calls of a stored session, open or not. Raises UnknownSessionError, StoreError."""
        store = self._services.store
        if await store.session(session_id) is None:
            raise UnknownSessionError(session_id)
        return await store.audits(session_id)

    async def close(self, session_id: str) -> None:
        """Goes on to its end when the caller is cancelled. Raises UnknownSessionError for one that is not open."""
        await self._alone(session_id, self._close)

    async def _close(self, session_id: str) -> None:
        session = self._out(session_id)
        if session is None:
            raise UnknownSessionError(session_id)
        await session.close(CLOSE_HOOK_SECONDS)

    async def delete(self, session_id: str) -> None:
        """Close it if it is open, the sessions of its subagents too, and forget them; unknown ids are no error.

        Goes on when the caller is cancelled.
        """
        await self._alone(session_id, self._delete)

    async def _delete(self, session_id: str) -> None:
        self._check_no_subagent(session_id)
        self._deleting.add(session_id)  # from here on none of its family is opened
        try:
            session = self._out(session_id)
            if session is not None:
                await session.close()
            family = [session_id, *await self._close_below(session_id)]
            if await self._services.store.session(session_id) is None:
                return
            await self._services.store.delete_session(session_id)
        finally:
            self._deleting.discard(session_id)
        for one in family:
            self._services.forgotten(one)

    async def _close_below(self, session_id: str) -> list[str]:
        """Close the sessions of its subagents, and of theirs, that are open or being opened; their ids."""
        below = []
        for one in {*self._open, *self._locks} - {session_id}:
            if not await self._is_of(one, {session_id}):
                continue
            async with self._lock(one):
                session = self._out(one)
                if session is not None:
                    below.append(one)
                    await session.close()
        return below

    async def _is_of(self, session_id: str, family: Collection[str]) -> bool:
        """Whether it is one of `family`, or a subagent's below one. Raises StoreError."""
        while session_id not in family:
            session = self._open.get(session_id)
            record = session.record if session is not None else await self._services.store.session(session_id)
            if record is None or not record.parent:
                return False
            session_id = record.parent
        return True

    def _out(self, session_id: str) -> Session | None:
        self._servers.pop(session_id, None)
        return self._open.pop(session_id, None)

    async def close_all(self, hook_seconds: float = HOOK_SECONDS) -> None:
        """Close every session; none is opened from now on. What others have begun to close ends, too."""
        self._closing = True
        sessions, self._open = list(self._open.values()), {}
        await asyncio.gather(*(s.close(hook_seconds) for s in sessions), *self._works, return_exceptions=True)

    async def _alone(self, session_id: str, work: Callable[[str], Coroutine[Any, Any, None]]) -> None:
        """Do `work` while nobody else opens or ends the session; to its end, even when the caller is cancelled.

        The lock is taken here and not in the task, so that what is asked for later comes later.
        """
        lock = self._lock(session_id)
        await lock.acquire()

        async def whole() -> None:
            try:
                await work(session_id)
            finally:
                lock.release()

        await asyncio.shield(self._aside(whole()))

    def _aside(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        task = asyncio.create_task(work)
        self._works.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: "asyncio.Task[None]") -> None:
        self._works.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None and not isinstance(error, UnknownSessionError):
            log.warning("a session could not be closed or given back properly: %s", error)

    def _note_ignored(self, record: SessionRecord, roots: tuple[str, ...], servers: tuple[McpServer, ...]) -> None:
        if servers != self._servers.get(record.id, ()) or set(roots[1:]) != set(record.roots[1:]):
            log.warning(
                "session %s is open already and keeps its MCP servers and additional directories; "
                "close it first to change them",
                record.id,
            )

    def _lock(self, session_id: str) -> asyncio.Lock:
        """Held while a session is opened, closed or deleted, so that there is never more than one of it."""
        return self._locks.setdefault(session_id, asyncio.Lock())

    def _check_no_subagent(self, session_id: str) -> None:
        """Raises SessionBusyError for a session in which a subagent works."""
        for session in self._open.values():
            if session.subagents.runs(session_id):
                raise SessionBusyError(f"A subagent of {session.record.id} works in {session_id}; wait for its end.")

    def _check_running(self) -> None:
        if self._closing:
            raise ClosedError("Quillback is shutting down")


async def _no_history(_: str) -> list[Message]:
    return []


def check_directory(name: str, path: str) -> None:
    """Raises BadDirectoryError unless `path` is an absolute path of a directory."""
    try:
        if not Path(path).is_absolute():
            raise BadDirectoryError(f"{name}: {path!r} is not an absolute path")
        if not Path(path).is_dir():
            raise BadDirectoryError(f"{name}: {path!r} is not a directory")
    except (OSError, ValueError) as error:
        if isinstance(error, BadDirectoryError):
            raise
        raise BadDirectoryError(f"{name}: {path!r} cannot be used: {error}") from None


def _same_directory(record: SessionRecord, cwd: str) -> None:
    if Path(record.cwd).resolve() != Path(cwd).resolve():
        raise BadDirectoryError(f"cwd: the session belongs to {record.cwd!r}, not to {cwd!r}")
