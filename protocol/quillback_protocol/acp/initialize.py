"""The handshake: versions, capabilities of both ends, authentication."""

from attrs import field, frozen

from quillback_protocol.acp.base import STRICT, Base, Marker


@frozen
class Implementation(Base):
    """Name and version of a program; `title` is for people."""

    name: str
    version: str
    title: str | None = None


@frozen
class FileSystemCapabilities(Base):
    read_text_file: bool = False
    write_text_file: bool = False


@frozen
class AuthCapabilities(Base):
    terminal: bool = False


@frozen
class ElicitationCapabilities(Base):
    form: Marker | None = None
    url: Marker | None = None


@frozen
class SessionConfigOptionsCapabilities(Base):
    boolean: Marker | None = None


@frozen
class ClientSessionCapabilities(Base):
    compaction: Marker | None = None
    config_options: SessionConfigOptionsCapabilities | None = None
    notices: Marker | None = None


@frozen
class ClientCapabilities(Base):
    """What the agent may ask of the client; nothing else may be asked."""

    fs: FileSystemCapabilities = FileSystemCapabilities()
    terminal: bool = False
    session: ClientSessionCapabilities | None = None
    auth: AuthCapabilities = AuthCapabilities()
    elicitation: ElicitationCapabilities | None = None


@frozen
class PromptCapabilities(Base):
    image: bool = False
    audio: bool = False
    embedded_context: bool = False


@frozen
class McpCapabilities(Base):
    """`acp` is unstable."""

    http: bool = False
    sse: bool = False
    acp: bool = False


@frozen
class SessionCapabilities(Base):
    """`fork` is unstable."""

    list: Marker | None = None
    delete: Marker | None = None
    additional_directories: Marker | None = None
    resume: Marker | None = None
    close: Marker | None = None
    fork: Marker | None = None


@frozen
class AgentAuthCapabilities(Base):
    logout: Marker | None = None


@frozen
class AgentCapabilities(Base):
    load_session: bool = False
    prompt_capabilities: PromptCapabilities = PromptCapabilities()
    mcp_capabilities: McpCapabilities = McpCapabilities()
    session_capabilities: SessionCapabilities = SessionCapabilities()
    auth: AgentAuthCapabilities = AgentAuthCapabilities()


@frozen
class AuthMethodAgent(Base):
    """The client calls `authenticate` with this id."""

    id: str
    name: str
    description: str | None = None


@frozen
class AuthMethodTerminal(Base):
    """The client runs the agent's program in a terminal with `args` added; exit code 0 means logged in."""

    id: str
    name: str
    description: str | None = None
    args: tuple[str, ...] = field(default=(), metadata=STRICT)
    env: dict[str, str] = field(factory=dict, metadata=STRICT)


AuthMethod = AuthMethodAgent | AuthMethodTerminal


@frozen
class InitializeRequest(Base):
    protocol_version: int
    client_capabilities: ClientCapabilities = ClientCapabilities()
    client_info: Implementation | None = None


@frozen
class InitializeResponse(Base):
    protocol_version: int
    agent_capabilities: AgentCapabilities = AgentCapabilities()
    auth_methods: tuple[AuthMethod, ...] = field(default=(), metadata={"written": True})
    agent_info: Implementation | None = None


@frozen
class AuthenticateRequest(Base):
    method_id: str


@frozen
class AuthenticateResponse(Base):
    pass


@frozen
class LogoutRequest(Base):
    pass


@frozen
class LogoutResponse(Base):
    pass
