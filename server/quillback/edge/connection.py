"""What the method handlers share: one client's connection, its sessions, and what it can show."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable

from attrs import Factory, define, evolve, field

from quillback.core.mcp_server import McpServer
from quillback.core.ports import StoreError
from quillback.edge.advertising import Advertising
from quillback.edge.convert import View, mcp_servers
from quillback.edge.editor import AcpEditor
from quillback.edge.frontend import declared_tools
from quillback.session.pipe import EventPipe
from quillback.session.registry import BadDirectoryError, Sessions, UnknownSessionError
from quillback.session.session import ClosedError, Session
from quillback_protocol import acp
from quillback_protocol.extensions import client_declaration
from quillback_protocol.framing import EncodeError
from quillback_protocol.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS, RESOURCE_NOT_FOUND, RpcError
from quillback_protocol.peer import Peer

log = logging.getLogger(__name__)
BEHIND = 1024 * 1024
"""Bytes that a client has not taken, above which its updates wait and deltas of one run become one."""


@define
class Connection:
    """`problems` are faults of the configuration: no session starts with them. `models` gives ids and names to choose
    from; `prompts` the running prompts by the identity of their request; `initialized` is set by the client's offer."""

    peer: Peer
    editor: AcpEditor
    sessions: Sessions
    models: Callable[[], Iterable[tuple[str, str]]]
    problems: tuple[str, ...] = ()
    client: acp.ClientCapabilities = field(factory=acp.ClientCapabilities)
    initialized: bool = False
    message_ids: bool = False
    history_replaced: bool = False
    mcp_over_acp: bool = False
    prompts: dict[int, tuple[Session, EventPipe]] = field(factory=dict)
    advertising: Advertising = field(
        default=Factory(lambda self: Advertising(self._notify, self._showing), takes_self=True), init=False
    )
    _replays: dict[str, asyncio.Event] = field(factory=dict, init=False)

    def offered(self, request: acp.InitializeRequest) -> None:
        """Take note of what the client can do."""
        self.initialized = True
        self.client = request.client_capabilities
        declaration = client_declaration(request.client_capabilities.meta)
        self.message_ids = declaration.message_ids
        self.history_replaced = declaration.history_replaced
        self.mcp_over_acp = declaration.mcp_over_acp
        tools, problems = declared_tools(declaration.frontend_tools)
        for problem in problems:
            log.warning("%s", problem)
        self.editor.declare(tools)
        self.editor.offered(request.client_capabilities)

    @property
    def auth_methods(self) -> bool:
        """Whether the client was offered a way to log in."""
        return self.client.auth.terminal

    def view(self) -> View:
        session = self.client.session
        return View(
            notices=session is not None and session.notices is not None,
            compaction=session is not None and session.compaction is not None,
            separate=not self.message_ids,
        )

    async def show(self, session_id: str, updates: Iterable[acp.SessionUpdate]) -> None:
        """Send updates in order; waits while the client is behind, and while the session is replayed."""
        while (replay := self._replays.get(session_id)) is not None:
            await replay.wait()
        await self._send(session_id, updates)

    async def replay(self, session: Session) -> None:
        """Show the whole stream, with what has come of a reply that still grows. What comes of it meanwhile is shown
        behind that, so that the client gets each piece once."""
        session_id, view = session.record.id, self.view()
        while True:
            older = await session.past.older()
            await self._caught_up(session)
            if session.past.follows(older):
                break
        # nothing may happen from there to here: all that is in the stream now was shown, and nothing else was
        growing = session.streaming
        messages = [*older, *session.history, *([] if growing is None else [growing])]
        over = self._replays[session_id] = asyncio.Event()
        try:
            for message in messages:
                await self._send(session_id, view.replay(message))
        finally:
            del self._replays[session_id]
            over.set()

    async def _caught_up(self, session: Session) -> None:
        """Wait until no other replay runs and what the session's turns have brought is shown."""
        while True:
            behind = [pipe for of, pipe in self.prompts.values() if of is session and not pipe.caught_up]
            if (replay := self._replays.get(session.record.id)) is not None:
                await replay.wait()
            elif behind:
                await behind[0].taken()
            else:
                return

    def _showing(self, session: Session) -> bool:
        """Whether a turn or a replay of the session is being shown."""
        return session.record.id in self._replays or any(of is session for of, _ in self.prompts.values())

    async def _send(self, session_id: str, updates: Iterable[acp.SessionUpdate]) -> None:
        for update in updates:
            self._notify(session_id, update)
        if self.peer.buffered > BEHIND:
            await self.peer.drain()

    def _notify(self, session_id: str, update: acp.SessionUpdate) -> None:
        """One update that has no JSON form must cost neither the turn nor the rest of a replay."""
        try:
            self.peer.notify("session/update", acp.SessionNotification(session_id, update))
        except EncodeError:
            log.exception("%s has no JSON form", type(update).__name__)
            if isinstance(update, acp.ToolCall | acp.ToolCallUpdate):
                bare = evolve(update, raw_input=None, raw_output=None)
                self.peer.notify("session/update", acp.SessionNotification(session_id, bare))

    def session(self, session_id: str) -> Session:
        """An open session. Raises RpcError -32002."""
        try:
            return self.sessions.get(session_id)
        except UnknownSessionError as error:
            raise unknown_session(error.session_id) from None

    def check_configuration(self) -> None:
        if self.problems:
            text = "; ".join(self.problems)
            raise RpcError(INTERNAL_ERROR, f"The configuration has errors: {text}", {"problems": list(self.problems)})


async def opened(session: Awaitable[Session]) -> Session:
    """A session that is being made or loaded, with its failures as errors of the wire."""
    try:
        return await session
    except UnknownSessionError as error:
        raise unknown_session(error.session_id, "stored") from None
    except BadDirectoryError as error:
        raise RpcError(INVALID_PARAMS, str(error)) from None
    except (StoreError, ClosedError) as error:
        raise RpcError(INTERNAL_ERROR, str(error)) from None


def servers_of(connection: Connection, servers: Iterable[acp.McpServer]) -> tuple[McpServer, ...]:
    """Raises RpcError -32602 for a transport that is not offered."""
    servers = tuple(servers)
    if not connection.mcp_over_acp and any(isinstance(s, acp.McpServerAcp) for s in servers):
        raise RpcError(INVALID_PARAMS, "mcpServers: type acp was not declared in clientCapabilities")
    try:
        return mcp_servers(servers)
    except ValueError as error:
        raise RpcError(INVALID_PARAMS, f"mcpServers: {error}") from None


def unknown_session(session_id: str, kind: str = "open") -> RpcError:
    return RpcError(RESOURCE_NOT_FOUND, f"There is no {kind} session {session_id!r}.", {"sessionId": session_id})
