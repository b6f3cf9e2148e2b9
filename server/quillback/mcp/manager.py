"""The MCP servers of one session as one toolbox: started in the background, offered as far as they are up."""

import asyncio
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from pathlib import Path

from quillback.core.mask import Mask
from quillback.core.mcp_server import AcpServer
from quillback.core.ports import Editor, Tool
from quillback.core.prompts import Prompt
from quillback.mcp import resource_tool
from quillback.mcp.connection import Connection
from quillback.mcp.link import load
from quillback.mcp.naming import prefixes, prompt_name, tool_name
from quillback.mcp.over_acp import opener
from quillback.mcp.prompt import McpPrompt
from quillback.mcp.resource_tool import ResourceTool
from quillback.mcp.server import Server, ServerStatus, secrets_of
from quillback.mcp.text import Keep, clean
from quillback.mcp.tool import offer

READY_SECONDS = 10.0
INSTRUCTIONS_LIMIT = 4_000
"""Characters of what a server says about the use of its tools."""


class McpToolbox:
    """Implements the Toolbox port. Nothing is imported or started before `start`; all but that may come at any time.

    `outputs` keeps what is too long for a result, in files named after the session and the tool. `on_notice` gets a
    text for the user for each failure, on the loop. `reserved` are names that other tools of the session have. Through
    `editor` the user is asked what servers want to know, and servers inside it are reached. `mask` knows other secrets
    than those of the servers, for what is kept.
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
        editor: Editor | None = None,
        mask: Mask | None = None,
    ) -> None:
        self._keep = Keep(outputs, session_id, mask or Mask())
        self._reserved = frozenset((*reserved, resource_tool.NAME))
        self._prefixes = prefixes([server.name for server in servers])
        self._connections = tuple(
            Connection(
                server,
                cwd,
                secrets_of(server),
                on_notice,
                self._changed,
                opener=partial(opener, editor) if editor and isinstance(server, AcpServer) else load,
                ask=partial(editor.ask_form, session_id) if editor and editor.capabilities.questions else None,
            )
            for server in servers
        )
        self._tools: tuple[Tool, ...] | None = None
        self._prompts_changed: list[Callable[[], None]] = []
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

    def tools(self) -> Sequence[Tool]:
        """What can be called now, sorted by name. Dead servers are included while they may be started again."""
        if self._tools is None:
            named = dict(self._offered())
            self._tools = tuple(named[name] for name in sorted(named))
        return self._tools

    def _offered(self) -> Iterator[tuple[str, Tool]]:
        """Names and tools. The first tool of a server tells what its server says of all of them."""
        for prefix, connection in zip(self._prefixes, self._connections, strict=True):
            named = sorted((tool_name(prefix, found.name, self._reserved), found) for found in connection.found)
            instructions = clean(connection.instructions).strip()[:INSTRUCTIONS_LIMIT]
            for index, (name, found) in enumerate(named):
                yield name, offer(found, name, connection, self._keep, "" if index else instructions)
        having = [connection for connection in self._connections if connection.resources is not None]
        if having:
            yield resource_tool.NAME, ResourceTool(having, self._keep)

    def prompts(self) -> Sequence[Prompt]:
        """What can be asked for now, sorted by name."""
        found: dict[str, Prompt] = {}
        for prefix, connection in zip(self._prefixes, self._connections, strict=True):
            for prompt in connection.prompts:
                name = prompt_name(prefix, prompt.name)
                found.setdefault(name, McpPrompt(name, prompt, connection, self._keep))
        return tuple(found[name] for name in sorted(found))

    def on_prompts(self, changed: Callable[[], None]) -> None:
        self._prompts_changed.append(changed)

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
        for changed in self._prompts_changed:
            changed()
