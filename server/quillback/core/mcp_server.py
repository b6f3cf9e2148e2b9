"""How to reach an MCP server that a session was given."""

from collections.abc import Mapping

from attrs import field, frozen


@frozen
class StdioServer:
    """A server started as `command` with `args`; `env` comes on top of the few variables every server gets."""

    name: str
    command: str
    args: tuple[str, ...] = field(default=(), repr=False)
    env: Mapping[str, str] = field(factory=dict, repr=False)


@frozen
class HttpServer:
    """A server behind a URL (streamable HTTP); `headers` go with every request."""

    name: str
    url: str = field(repr=False)
    headers: Mapping[str, str] = field(factory=dict, repr=False)


@frozen
class AcpServer:
    """A server inside the editor, reached over the editor's own connection; `server_id` is the editor's name for it."""

    name: str
    server_id: str


McpServer = StdioServer | HttpServer | AcpServer
