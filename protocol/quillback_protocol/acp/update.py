"""`session/update`: everything an agent reports about a session."""

from enum import StrEnum

from attrs import field, frozen

from quillback_protocol.acp.base import LENIENT, Base
from quillback_protocol.acp.config import SessionConfigOption
from quillback_protocol.acp.content import ContentBlock
from quillback_protocol.acp.tool_call import ToolCall, ToolCallUpdate


@frozen
class ContentChunk(Base):
    """All chunks of one message carry its `message_id`."""

    content: ContentBlock
    message_id: str | None = None


@frozen
class UserMessageChunk(ContentChunk):
    pass


@frozen
class AgentMessageChunk(ContentChunk):
    pass


@frozen
class AgentThoughtChunk(ContentChunk):
    pass


class PlanEntryPriority(StrEnum):
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class PlanEntryStatus(StrEnum):
    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"


@frozen
class PlanEntry(Base):
    content: str
    priority: PlanEntryPriority
    status: PlanEntryStatus


@frozen
class Plan(Base):
    """Replaces the whole plan."""

    entries: tuple[PlanEntry, ...] = field(metadata=LENIENT)


@frozen
class UnstructuredCommandInput(Base):
    hint: str


@frozen
class AvailableCommand(Base):
    """`name` has no slash."""

    name: str
    description: str
    input: UnstructuredCommandInput | None = None


@frozen
class AvailableCommandsUpdate(Base):
    """Replaces the whole list."""

    available_commands: tuple[AvailableCommand, ...] = field(metadata=LENIENT)


@frozen
class CurrentModeUpdate(Base):
    current_mode_id: str


@frozen
class ConfigOptionUpdate(Base):
    """Always the complete list."""

    config_options: tuple[SessionConfigOption, ...] = field(metadata=LENIENT)


@frozen
class SessionInfoUpdate(Base):
    """`updated_at` is ISO 8601."""

    title: str | None = None
    updated_at: str | None = None


@frozen
class Cost(Base):
    """`currency` is an ISO 4217 code."""

    amount: float
    currency: str


@frozen
class UsageUpdate(Base):
    """`used` and `size` are tokens of the context window; `cost` is the session's so far."""

    used: int
    size: int
    cost: Cost | None = None


@frozen
class Notice(Base):
    """Only for clients that declare `session.notices`. `severity` is info, warning, error or the agent's own."""

    severity: str
    title: str
    description: str | None = None


@frozen
class CompactionUpdate(Base):
    """Only for clients that declare `session.compaction`.

    `status` is in_progress, completed, failed, cancelled or the agent's own.
    """

    compaction_id: str
    status: str
    summary: tuple[ContentBlock, ...] | None = None
    error: str | None = None


@frozen
class CompactionSummaryChunk(Base):
    compaction_id: str
    content: ContentBlock


SessionUpdate = (
    UserMessageChunk
    | AgentMessageChunk
    | AgentThoughtChunk
    | ToolCall
    | ToolCallUpdate
    | Plan
    | AvailableCommandsUpdate
    | CurrentModeUpdate
    | ConfigOptionUpdate
    | SessionInfoUpdate
    | UsageUpdate
    | Notice
    | CompactionUpdate
    | CompactionSummaryChunk
)


@frozen
class SessionNotification(Base):
    session_id: str
    update: SessionUpdate
