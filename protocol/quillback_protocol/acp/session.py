"""Sessions and prompts: everything a client asks about one, modes and config options apart."""

from enum import StrEnum

from attrs import field, frozen

from quillback_protocol.acp.base import LENIENT, STRICT, WRITTEN, Base
from quillback_protocol.acp.config import SessionConfigOption, SessionModeState
from quillback_protocol.acp.content import ContentBlock
from quillback_protocol.acp.mcp import McpServer


@frozen
class NewSessionRequest(Base):
    """All directories are absolute paths."""

    cwd: str
    mcp_servers: tuple[McpServer, ...] = field(default=(), metadata=WRITTEN)
    additional_directories: tuple[str, ...] = field(default=(), metadata=STRICT)


@frozen
class NewSessionResponse(Base):
    session_id: str
    modes: SessionModeState | None = None
    config_options: tuple[SessionConfigOption, ...] | None = None


@frozen
class LoadSessionRequest(Base):
    """`additional_directories` is the complete new list."""

    session_id: str
    cwd: str
    mcp_servers: tuple[McpServer, ...] = field(default=(), metadata=WRITTEN)
    additional_directories: tuple[str, ...] = field(default=(), metadata=STRICT)


@frozen
class LoadSessionResponse(Base):
    modes: SessionModeState | None = None
    config_options: tuple[SessionConfigOption, ...] | None = None


@frozen
class ResumeSessionRequest(Base):
    session_id: str
    cwd: str
    mcp_servers: tuple[McpServer, ...] = field(default=(), metadata=STRICT)
    additional_directories: tuple[str, ...] = field(default=(), metadata=STRICT)


@frozen
class ResumeSessionResponse(Base):
    modes: SessionModeState | None = None
    config_options: tuple[SessionConfigOption, ...] | None = None


@frozen
class ForkSessionRequest(Base):
    """Unstable. `session_id` is the session to copy; `additional_directories` is the complete list of the new one."""

    session_id: str
    cwd: str
    mcp_servers: tuple[McpServer, ...] = field(default=(), metadata=STRICT)
    additional_directories: tuple[str, ...] = field(default=(), metadata=STRICT)


@frozen
class ForkSessionResponse(Base):
    """Unstable. `session_id` is the new session."""

    session_id: str
    modes: SessionModeState | None = None
    config_options: tuple[SessionConfigOption, ...] | None = None


@frozen
class ListSessionsRequest(Base):
    """`cwd` filters; `cursor` is the `next_cursor` of the page before."""

    cwd: str | None = field(default=None, metadata=STRICT)
    cursor: str | None = field(default=None, metadata=STRICT)


@frozen
class SessionInfo(Base):
    """`updated_at` is ISO 8601."""

    session_id: str
    cwd: str
    additional_directories: tuple[str, ...] = ()
    title: str | None = None
    updated_at: str | None = None


@frozen
class ListSessionsResponse(Base):
    sessions: tuple[SessionInfo, ...] = field(metadata=LENIENT)
    next_cursor: str | None = None


@frozen
class DeleteSessionRequest(Base):
    session_id: str


@frozen
class DeleteSessionResponse(Base):
    pass


@frozen
class CloseSessionRequest(Base):
    session_id: str


@frozen
class CloseSessionResponse(Base):
    pass


@frozen
class PromptRequest(Base):
    session_id: str
    prompt: tuple[ContentBlock, ...]


class StopReason(StrEnum):
    END_TURN = "end_turn"
    MAX_TOKENS = "max_tokens"
    MAX_TURN_REQUESTS = "max_turn_requests"
    REFUSAL = "refusal"
    CANCELLED = "cancelled"


@frozen
class PromptResponse(Base):
    stop_reason: StopReason


@frozen
class CancelNotification(Base):
    session_id: str


@frozen
class CancelRequestNotification(Base):
    """`$/cancel_request`, in both directions: asks to end the request with this JSON-RPC id."""

    request_id: str | int | None
