"""Finds the session that a person means: by a piece of its id, or as the newest one of a directory."""

from collections.abc import AsyncIterator
from pathlib import Path

from quillback.cli.exits import USAGE, CliError
from quillback.core.ports import SessionRecord, Store

PAGE = 200
NAMED = 5
SHORTEST = 4


async def all_sessions(store: Store, *, subagents: bool = False) -> AsyncIterator[SessionRecord]:
    """Newest first."""
    before: tuple[int, str] | None = None
    while page := await store.sessions(before=before, limit=PAGE, subagents=subagents):
        for record in page:
            yield record
        before = (page[-1].updated_at, page[-1].id)


async def sessions_of(store: Store, cwd: str, *, subagents: bool = False) -> AsyncIterator[SessionRecord]:
    """The sessions of the directory with this real path, whatever path the editor gave for it; newest first."""
    same: dict[str, bool] = {}
    async for record in all_sessions(store, subagents=subagents):
        if record.cwd not in same:
            same[record.cwd] = record.cwd == cwd or _real(record.cwd) == cwd
        if same[record.cwd]:
            yield record


async def newest_of(store: Store, cwd: str) -> SessionRecord:
    """Raises CliError if there is none."""
    async for record in sessions_of(store, cwd):
        return record
    raise CliError(f"there is no session of {cwd} to continue; leave --continue out to start one", USAGE)


async def find(store: Store, piece: str) -> SessionRecord:
    """The session whose id is `piece`, or the only one whose id begins or ends with it. Raises CliError."""
    exact = await store.session(piece)
    if exact is not None:
        return exact
    if len(piece) < SHORTEST:
        raise CliError(f"{piece!r} is too short for a session's id; give {SHORTEST} characters or more", USAGE)
    found = [r async for r in all_sessions(store, subagents=True) if _fits(r.id, piece)]
    if not found:
        raise CliError(f"there is no session {piece!r}; `quillback sessions list --all` shows them", USAGE)
    if len(found) > 1:
        ids = ", ".join(r.id for r in found[:NAMED])
        more = f" and {len(found) - NAMED} more" if len(found) > NAMED else ""
        raise CliError(f"{piece!r} fits several sessions: {ids}{more}; give more of the id", USAGE)
    return found[0]


def _fits(session_id: str, piece: str) -> bool:
    return session_id.startswith((piece, f"sess_{piece}")) or session_id.endswith(piece)


def _real(path: str) -> str:
    try:
        return str(Path(path).resolve())
    except (OSError, RuntimeError, ValueError):
        return path
