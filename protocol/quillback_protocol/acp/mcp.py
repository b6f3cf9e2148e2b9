"""MCP servers as a client hands them over in session setup."""

from attrs import field, frozen

from quillback_protocol.acp.base import WRITTEN, Base, EnvVariable


@frozen
class HttpHeader(Base):
    name: str
    value: str


@frozen
class McpServerStdio(Base):
    """`command` is an absolute path. This form has no `type` on the wire."""

    name: str
    command: str
    args: tuple[str, ...] = field(default=(), metadata=WRITTEN)
    env: tuple[EnvVariable, ...] = field(default=(), metadata=WRITTEN)


@frozen
class McpServerHttp(Base):
    name: str
    url: str
    headers: tuple[HttpHeader, ...] = field(default=(), metadata=WRITTEN)


@frozen
class McpServerSse(Base):
    name: str
    url: str
    headers: tuple[HttpHeader, ...] = field(default=(), metadata=WRITTEN)


@frozen
class McpServerAcp(Base):
    """Unstable. A server inside the client; `server_id` is unique on the connection."""

    name: str
    server_id: str


McpServer = McpServerHttp | McpServerSse | McpServerAcp | McpServerStdio
