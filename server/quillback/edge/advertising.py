"""Tells the client which slash commands its sessions have: behind the answer that opens one, and when they change."""

import asyncio
import logging
from collections.abc import Callable

from quillback.core.commands import CommandInfo
from quillback.session.session import Session
from quillback_protocol import acp

PAUSE = 0.05
"""Seconds between the answer and the list: clients drop what comes for a session they have not yet made."""

log = logging.getLogger(__name__)


class Advertising:
    """`send` sends an update of a session. `busy` says whether the session's stream is being shown; then a change waits
    for `at_a_break`, so that nothing comes between two chunks of a message."""

    def __init__(
        self, send: Callable[[str, acp.AvailableCommandsUpdate], None], busy: Callable[[Session], bool]
    ) -> None:
        self._send = send
        self._busy = busy
        self._told: dict[str, tuple[CommandInfo, ...]] = {}
        self._due: set[str] = set()
        self._followers: dict[str, asyncio.Task[None]] = {}

    def begin(self, session: Session) -> None:
        """To be called once the answer that opens the session is written. The client knows nothing yet, or no more."""
        session_id = session.record.id
        self.end(session_id)
        self._followers[session_id] = asyncio.create_task(self._follow(session), name=f"commands of {session_id}")

    def end(self, session_id: str) -> None:
        """The session is being closed; nothing more is said of it."""
        follower = self._followers.pop(session_id, None)
        if follower is not None:
            follower.cancel()
        self._due.discard(session_id)
        self._told.pop(session_id, None)

    def end_all(self) -> None:
        for session_id in list(self._followers):
            self.end(session_id)

    def before_prompt(self, session: Session) -> None:
        """Files may have come or changed since the last one."""
        if session.record.id in self._followers and not self._busy(session):
            self._tell(session)

    def at_a_break(self, session: Session) -> None:
        """Nothing is half said in the session's stream now."""
        if session.record.id in self._due:
            self._tell(session)

    def after_prompt(self, session: Session) -> None:
        if not self._busy(session):
            self.at_a_break(session)

    async def _follow(self, session: Session) -> None:
        await asyncio.sleep(PAUSE)
        while True:
            self._due.add(session.record.id)
            if not self._busy(session):
                self._tell(session)
            await session.commands.changed()

    def _tell(self, session: Session) -> None:
        session_id = session.record.id
        self._due.discard(session_id)
        try:
            commands = session.commands.available()
        except Exception:
            log.exception("the commands of %s could not be listed", session_id)
            return
        if commands != self._told.get(session_id):
            self._told[session_id] = commands
            self._send(session_id, acp.AvailableCommandsUpdate(tuple(map(_command, commands))))


def _command(command: CommandInfo) -> acp.AvailableCommand:
    hint = acp.UnstructuredCommandInput(command.hint) if command.hint else None
    return acp.AvailableCommand(command.name, command.description, hint)
