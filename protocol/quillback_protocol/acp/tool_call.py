"""Tool calls and the permission question about one."""

from enum import StrEnum
from typing import Any

from attrs import frozen

from quillback_protocol.acp.base import Base
from quillback_protocol.acp.content import ContentBlock


class ToolKind(StrEnum):
    READ = "read"
    EDIT = "edit"
    DELETE = "delete"
    MOVE = "move"
    SEARCH = "search"
    EXECUTE = "execute"
    THINK = "think"
    FETCH = "fetch"
    SWITCH_MODE = "switch_mode"
    OTHER = "other"


class ToolCallStatus(StrEnum):
    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"
    FAILED = "failed"


@frozen
class Content(Base):
    content: ContentBlock


@frozen
class Diff(Base):
    """`path` is absolute; `old_text` None is a new file."""

    path: str
    new_text: str
    old_text: str | None = None


@frozen
class Terminal(Base):
    terminal_id: str


ToolCallContent = Content | Diff | Terminal


@frozen
class ToolCallLocation(Base):
    """`path` is absolute; `line` counts from 1."""

    path: str
    line: int | None = None


@frozen
class ToolCall(Base):
    """The first report of a call. An absent kind means other, an absent status pending."""

    tool_call_id: str
    title: str
    name: str | None = None
    kind: ToolKind | None = None
    status: ToolCallStatus | None = None
    content: tuple[ToolCallContent, ...] = ()
    locations: tuple[ToolCallLocation, ...] = ()
    raw_input: Any = None
    raw_output: Any = None


@frozen
class ToolCallUpdate(Base):
    """A change of a call: None is unchanged, `content` and `locations` replace what was there."""

    tool_call_id: str
    kind: ToolKind | None = None
    status: ToolCallStatus | None = None
    title: str | None = None
    name: str | None = None
    content: tuple[ToolCallContent, ...] | None = None
    locations: tuple[ToolCallLocation, ...] | None = None
    raw_input: Any = None
    raw_output: Any = None


class PermissionOptionKind(StrEnum):
    ALLOW_ONCE = "allow_once"
    ALLOW_ALWAYS = "allow_always"
    REJECT_ONCE = "reject_once"
    REJECT_ALWAYS = "reject_always"


@frozen
class PermissionOption(Base):
    option_id: str
    name: str
    kind: PermissionOptionKind


@frozen
class RequestPermissionRequest(Base):
    session_id: str
    tool_call: ToolCallUpdate
    options: tuple[PermissionOption, ...]


@frozen
class SelectedPermissionOutcome(Base):
    option_id: str


@frozen
class CancelledPermissionOutcome(Base):
    pass


RequestPermissionOutcome = SelectedPermissionOutcome | CancelledPermissionOutcome


@frozen
class RequestPermissionResponse(Base):
    outcome: RequestPermissionOutcome
