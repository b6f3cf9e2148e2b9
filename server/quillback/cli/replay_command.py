"""Plays stored sessions against the loop again: `quillback sessions replay ID`, and `quillback test SESSION.json`."""

import asyncio
from argparse import Namespace
from pathlib import Path

from quillback.cli.clean import clean, one_line
from quillback.cli.exits import DONE, FAILED, USAGE, CliError
from quillback.cli.find_session import find
from quillback.cli.sessions_command import existing
from quillback.cli.surroundings import load
from quillback.config import Settings
from quillback.transcripts.replay import Replayed, replay
from quillback.transcripts.replay_stored import Stored, StoredError, read_stored

SHOWN = 80
"""Lines of a difference."""


def replay_session(options: Namespace) -> int:
    """0 if the same stream comes of it."""
    stored = asyncio.run(_stored(load(), options.id))
    return _told(stored.id, asyncio.run(replay(stored)))


def replay_file(file: Path, text: str) -> int:
    """Raises CliError where it is no exported session."""
    try:
        stored = read_stored(text)
    except StoredError as error:
        raise CliError(f"{file}: {error}", USAGE) from None
    return _told(str(file), asyncio.run(replay(stored)))


async def _stored(settings: Settings, piece: str) -> Stored:
    async with existing(settings) as app:
        record = await find(app.store, piece)
        return Stored(record.id, record.cwd, tuple(m for m in await app.store.messages(record.id) if m.seq))


def _told(name: str, replayed: Replayed) -> int:
    done = f"{replayed.turns} turn{'s' if replayed.turns != 1 else ''} played again"
    skipped = f", {replayed.skipped} of recipes left out" if replayed.skipped else ""
    print(f"{'failed' if replayed.where else 'ok    '}  {one_line(name)}: {done}{skipped}", flush=True)
    if not replayed.where:
        return DONE
    lines = list(replayed.difference[:SHOWN])
    if len(replayed.difference) > SHOWN:
        lines.append(f"… and {len(replayed.difference) - SHOWN} more lines")
    print(clean("\n".join([f"  {replayed.where}", *(f"    {line}" for line in lines)])), flush=True)
    return FAILED
