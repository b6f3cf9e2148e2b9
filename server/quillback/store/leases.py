"""Who owns a session: one live process at a time, and a dead one's place is taken over at once."""

import os
import secrets
from pathlib import Path

from aiosqlite import Connection
from attrs import frozen

from quillback.core.ports import SessionBusyError
from quillback.store.sql import change, rows, transaction

HEARTBEAT = 5.0
"""Seconds between the signs of life of an owner."""
LIFE = 30_000
"""Milliseconds without a sign of life after which an owner that cannot be looked up counts as dead."""


@frozen
class Owner:
    """One store of one process. `birth` tells the process from a later one with its pid; empty without /proc."""

    token: str
    pid: int
    birth: str


class Processes:
    """Looks processes up. `proc` is where the system lists them."""

    def __init__(self, proc: Path = Path("/proc")) -> None:
        self._proc = proc

    def me(self) -> Owner:
        return Owner(token=secrets.token_hex(8), pid=os.getpid(), birth=self._birth(os.getpid()))

    def lives(self, owner: Owner, silent: int) -> bool:
        """Whether the owner's process runs; `silent` is the age of its last sign of life in milliseconds."""
        here = self._place()
        if not here or not owner.birth:
            return _exists(owner.pid) and silent < LIFE
        if owner.birth.split(" ")[1] != here[1]:  # in another container: its pid means nothing here
            return silent < LIFE
        return self._birth(owner.pid) == owner.birth

    def _birth(self, pid: int) -> str:
        """Boot, pid namespace and start time; empty for a process that is gone, and on systems without /proc."""
        place = self._place()
        if not place:
            return ""
        try:
            stat = (self._proc / str(pid) / "stat").read_text(errors="replace")
        except (FileNotFoundError, NotADirectoryError, ProcessLookupError):
            return ""
        state, *fields = stat.rpartition(")")[2].split()  # the name before it may hold blanks and parentheses
        return "" if state in "ZX" else " ".join((*place, fields[18]))

    def _place(self) -> tuple[str, ...]:
        try:
            boot = (self._proc / "sys/kernel/random/boot_id").read_text().strip()
            return boot, str((self._proc / "self/ns/pid").readlink())
        except OSError:
            return ()


class Leases:
    """The leases of one store."""

    def __init__(self, processes: Processes) -> None:
        self._processes = processes
        self._owner = processes.me()
        self.held: set[str] = set()

    async def acquire(self, db: Connection, session_id: str, now: int) -> None:
        """Raises SessionBusyError while another live owner has it."""
        async with transaction(db):
            await self.ensure_free(db, session_id, now)
            await change(
                db,
                "INSERT OR REPLACE INTO leases(session_id, owner, pid, birth, heartbeat) VALUES (?, ?, ?, ?, ?)",
                *(session_id, self._owner.token, self._owner.pid, self._owner.birth, now),
            )
        self.held.add(session_id)

    async def ensure_free(self, db: Connection, session_id: str, now: int) -> None:
        """Raises SessionBusyError while another live owner has the session."""
        pid = await self.other_owner(db, session_id, now)
        if pid:
            raise SessionBusyError(
                f"Session {session_id} is open in another Quillback (process {pid}). "
                "Close it there, or end that process, and try again."
            )

    async def other_owner(self, db: Connection, session_id: str, now: int) -> int:
        """The pid of another live owner of the session, 0 if there is none."""
        found = await rows(db, "SELECT owner, pid, birth, heartbeat FROM leases WHERE session_id = ?", session_id)
        for token, pid, birth, heartbeat in found:
            if token != self._owner.token and self._processes.lives(Owner(token, pid, birth), now - heartbeat):
                return int(pid)
        return 0

    async def live(self, db: Connection, now: int) -> set[str]:
        """The sessions that this or another live process owns."""
        found = await rows(db, "SELECT session_id, owner, pid, birth, heartbeat FROM leases")
        return {
            session_id
            for session_id, token, pid, birth, heartbeat in found
            if token == self._owner.token or self._processes.lives(Owner(token, pid, birth), now - heartbeat)
        }

    async def beat(self, db: Connection, now: int) -> int:
        """Give a sign of life; the number of sessions that are still ours."""
        return await change(db, "UPDATE leases SET heartbeat = ? WHERE owner = ?", now, self._owner.token)

    async def release(self, db: Connection, session_id: str) -> None:
        await change(db, "DELETE FROM leases WHERE session_id = ? AND owner = ?", session_id, self._owner.token)
        self.held.discard(session_id)

    async def release_all(self, db: Connection) -> None:
        await change(db, "DELETE FROM leases WHERE owner = ?", self._owner.token)
        self.held.clear()


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
