"""Messages and their parts: the one stored truth of a session.

What the editor shows, what the model gets and what a restart recovers from are all read from a list of these.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from attrs import evolve, field, frozen

JsonObject = Mapping[str, Any]


class Role(StrEnum):
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


class MessageState(StrEnum):
    """QUEUED prompts have no seq yet; NOT_RUN ones were dropped from the queue by a cancel."""

    QUEUED = "queued"
    STREAMING = "streaming"
    COMPLETE = "complete"
    INTERRUPTED = "interrupted"
    NOT_RUN = "not_run"


class ToolKind(StrEnum):
    """What a call does, in the words an editor picks an icon by."""

    READ = "read"
    EDIT = "edit"
    DELETE = "delete"
    MOVE = "move"
    SEARCH = "search"
    EXECUTE = "execute"
    THINK = "think"
    FETCH = "fetch"
    OTHER = "other"


class ToolStatus(StrEnum):
    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"
    FAILED = "failed"


class Severity(StrEnum):
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


@frozen
class Location:
    """An absolute path; `line` counts from 1."""

    path: str
    line: int | None = None


@frozen
class Text:
    """`run_id` is the wire id of the run of adjacent text parts it belongs to; empty outside assistant messages."""

    text: str
    run_id: str = ""


@frozen
class Thinking:
    """A thought, kept byte for byte with the provider's signature (empty when the stream was cut before it came)."""

    text: str
    signature: str = ""
    run_id: str = ""


@frozen
class RedactedThinking:
    data: str


@frozen
class Image:
    """`data` is base64."""

    data: str
    mime_type: str
    uri: str = ""


@frozen
class Resource:
    """An embedded resource: exactly one of `text` and `blob` (base64) is set."""

    uri: str
    text: str | None = None
    blob: str | None = None
    mime_type: str = ""


@frozen
class ResourceLink:
    uri: str
    name: str
    mime_type: str = ""
    title: str = ""
    description: str = ""
    size: int | None = None


@frozen
class Notice:
    """A remark to the user that the model never sees."""

    text: str
    severity: Severity = Severity.INFO


@frozen
class ToolUse:
    """A tool call of the model.

    `id` is ours and unique in the session; `provider_id` is the provider's, which may come again.
    `raw` is the input as it was streamed. A call that cannot run has `problem` set and `input` empty.
    """

    id: str
    provider_id: str
    name: str
    input: JsonObject = field(factory=dict)
    raw: str = ""
    problem: str = ""
    title: str = ""
    kind: ToolKind = ToolKind.OTHER
    locations: tuple[Location, ...] = ()


@frozen
class Diff:
    """A change of one file. `old` is None for a new file. `path` is absolute."""

    path: str
    old: str | None
    new: str


@frozen
class Terminal:
    """A live terminal of the editor; never replayed."""

    terminal_id: str


@frozen
class PlanEntry:
    """One item of the plan. `priority` is high, medium or low; `status` pending, in_progress or completed."""

    content: str
    status: str = "pending"
    priority: str = "medium"


@frozen
class FileSeen:
    """The agent knows this content of a file: it read it or wrote it. `digest` is SHA-256 in hex."""

    path: str
    digest: str


ResultPart = Text | Image
Shown = Text | Image | ResourceLink | Diff | Terminal


@frozen
class ToolResult:
    """What a call brought: `content` for the model, `shown` for the editor."""

    call_id: str
    content: tuple[ResultPart, ...]
    is_error: bool = False
    shown: tuple[Shown, ...] = ()
    locations: tuple[Location, ...] = ()
    raw_output: Any = None
    plan: tuple[PlanEntry, ...] | None = None
    seen: tuple[FileSeen, ...] = ()


@frozen
class Summary:
    """Stands in the model's input for all that came before it in the stream; `text` is empty after a clear.

    The other fields carry on what is read from the stream and was said before: the text of the first prompt and of the
    last four, the plan, the files that the agent knows and those that it changed.
    """

    text: str
    task: str = ""
    said: tuple[str, ...] = ()
    plan: tuple[PlanEntry, ...] | None = None
    seen: tuple[FileSeen, ...] = ()
    changed: tuple[str, ...] = ()


Part = Text | Thinking | RedactedThinking | ToolUse | ToolResult | Image | Resource | ResourceLink | Notice | Summary


@frozen
class Usage:
    """Token counts of one model response; `estimated` when the provider reported none."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_creation_tokens: int = 0
    estimated: bool = False

    @property
    def context_size(self) -> int:
        """Tokens the conversation takes after this response."""
        return self.input_tokens + self.cache_read_tokens + self.cache_creation_tokens + self.output_tokens

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cache_read_tokens + other.cache_read_tokens,
            self.cache_creation_tokens + other.cache_creation_tokens,
            self.estimated or other.estimated,
        )


NO_USAGE = Usage()


@frozen
class Message:
    """One entry of a session's stream.

    `seq` is the only order (0 while queued). `created_at` is milliseconds since the epoch; `cost` is US dollars.
    `thoughts_end` says that no thinking up to here is sent to the model any more; `steered` that the user added the
    message to a turn that was running.
    """

    id: str
    session_id: str
    seq: int
    role: Role
    parts: tuple[Part, ...]
    created_at: int
    state: MessageState = MessageState.COMPLETE
    visible_to_user: bool = True
    visible_to_model: bool = True
    model: str = ""
    provider: str = ""
    usage: Usage | None = None
    cost: float = 0.0
    finish_reason: str = ""
    thoughts_end: bool = False
    steered: bool = False

    def tool_uses(self) -> tuple[ToolUse, ...]:
        return tuple(p for p in self.parts if isinstance(p, ToolUse))

    def tool_results(self) -> tuple[ToolResult, ...]:
        return tuple(p for p in self.parts if isinstance(p, ToolResult))

    def text(self) -> str:
        return "".join(p.text for p in self.parts if isinstance(p, Text))

    def with_parts(self, *parts: Part) -> "Message":
        return evolve(self, parts=parts)
