"""`quillback undo`: puts the files back that the latest turn of a session changed."""

import asyncio
from argparse import Namespace

from quillback.cli.exits import DONE, FAILED
from quillback.cli.find_session import find
from quillback.cli.render import Renderer
from quillback.cli.screen import open_screen
from quillback.cli.sessions_command import existing
from quillback.cli.surroundings import load
from quillback.cli.terminal_editor import GONE, TerminalEditor
from quillback.config import Settings
from quillback.core.undo import undo_text
from quillback.session.undo import undo_stored

STDOUT = 1


def undo(options: Namespace) -> int:
    """Fails where a file was left alone, and where the session is open in another process."""
    return asyncio.run(_undo(load(), options.id))


async def _undo(settings: Settings, piece: str) -> int:
    screen = open_screen(STDOUT)
    async with existing(settings) as app:
        record = await find(app.store, piece)
        editor = TerminalEditor(Renderer(screen), GONE)
        report, prompt = await undo_stored(app.services, record, editor)
    for line in undo_text(report, record.cwd, prompt).split("\n"):
        screen.line(line)
    await screen.flush()
    return FAILED if report.kept else DONE
