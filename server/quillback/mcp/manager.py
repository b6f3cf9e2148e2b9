"""The MCP servers of one session as one toolbox: started in the background, offered as far as they are up."""

import asyncio
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from quillback.mcp.connection import Connection
from quillback.mcp.naming import prefixes, tool_name
from quillback.mcp.server import Server, ServerStatus, secrets_of
from quillback.mcp.text import Keep
from quillback.mcp.tool import McpTool, offer

READY_SECONDS = 10.0


class McpToolbox:
    """Implements the Toolbox port. Nothing is imported or started before `start`; all but that may come at any time.

    `outputs` keeps what is too long for a result, in files named after the session and the tool. `on_notice` gets a
    text for the user for each failure, on the loop. `reserved` are names that other tools of the session have.
    """

    def __init__(
        self,
        servers: Sequence[Server],
        *,
        session_id: str,
        cwd: Path,
        outputs: Path,
        on_notice: Callable[[str], None],
        reserved: Collection[str] = (),
    ) -> None:
        self._keep = Keep(outputs, session_id)
        self._reserved = frozenset(reserved)
        self._prefixes = prefixes([server.name for server in servers])
        self._connections = tuple(
            Connection(server, cwd, secrets_of(server), on_notice, self._changed) for server in servers
        )
        self._tools: tuple[McpTool, ...] | None = None
        self._deadline = 0.0

    def start(self) -> None:
        """Begin to connect to all servers; a second call does nothing. Needs a running loop."""
        if self._deadline == 0.0:
            self._deadline = asyncio.get_running_loop().time() + READY_SECONDS
        for connection in self._connections:
            connection.start()

    async def ready(self, timeout: float | None = None) -> None:
        """Wait until each started server is up or has failed. Never raises for a server.

        At most `timeout` seconds, or what is left of 10 seconds since `start`.
        """
        if timeout is None:
            timeout = max(0.0, self._deadline - asyncio.get_running_loop().time())
        waits = [asyncio.create_task(connection.settled()) for connection in self._connections]
        if not waits:
            return
        try:
            await asyncio.wait(waits, timeout=timeout)
        finally:
            for wait in waits:
                wait.cancel()

    def tools(self) -> Sequence[McpTool]:
        """What can be called now, sorted by name. Dead servers are included while they may be started again."""
        if self._tools is None:
            named = {
                name: offer(found, name, connection, self._keep)
                for prefix, connection in zip(self._prefixes, self._connections, strict=True)
                for found in connection.found
                for name in (tool_name(prefix, found.name, self._reserved),)
            }
            self._tools = tuple(named[name] for name in sorted(named))
        return self._tools

    def status(self) -> tuple[ServerStatus, ...]:
        """How each server fares, in the order they were given."""
        return tuple(connection.status for connection in self._connections)

    async def close(self) -> None:
        """End every server with all its descendants: within 1 s when they obey, 3 s at most. May be called again."""
        closing = [asyncio.create_task(connection.close()) for connection in self._connections]
        if closing:
            await asyncio.wait(closing)

    def _changed(self) -> None:
        self._tools = None
