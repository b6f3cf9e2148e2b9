"""What a turn reports: one stream of facts that the store writes down and the edge shows.

A message's growth is `MessageStarted`, then `PartOpened`/`PartGrew`/`PartClosed`, then `MessageEnded` or
`MessageDropped`. The same growth events are the journal: `grow` folds them, live and after a crash.
"""

from enum import Enum, StrEnum

from attrs import evolve, frozen

from quillback.core.message import Message, Part, Severity, Shown, Text, Thinking, ToolUse


class Growth(Enum):
    TEXT = "text"
    THOUGHT = "thought"
    INPUT = "input"


class StopReason(StrEnum):
    """Why a turn ended, in ACP's words."""

    END_TURN = "end_turn"
    MAX_TOKENS = "max_tokens"
    MAX_TURN_REQUESTS = "max_turn_requests"
    REFUSAL = "refusal"
    CANCELLED = "cancelled"


@frozen
class MessageAdded:
    """A whole message entered the stream: a prompt, a tool result, a notice."""

    message: Message


@frozen
class MessageStarted:
    message: Message


@frozen
class PartOpened:
    message_id: str
    index: int
    part: Part


@frozen
class PartGrew:
    """`run_id` is the wire id of the text or thought run; `supersedes` names the runs a retry replaces."""

    message_id: str
    index: int
    growth: Growth
    text: str
    run_id: str = ""
    supersedes: tuple[str, ...] = ()


@frozen
class PartClosed:
    message_id: str
    index: int
    part: Part


@frozen
class MessageEnded:
    message: Message


@frozen
class MessageChanged:
    """A stored message got another state or visibility."""

    message: Message


@frozen
class MessageDropped:
    """An attempt was abandoned: the message leaves the stream, its open `calls` are shown as failed."""

    message_id: str
    calls: tuple[ToolUse, ...] = ()


@frozen
class ToolChanged:
    """A hook gave a call other arguments: `call` is what will run. The stored message keeps the model's own."""

    call: ToolUse


@frozen
class ToolStarted:
    call: ToolUse


@frozen
class ToolProgressed:
    """`shown` is the whole of what the editor should show for the call by now."""

    call_id: str
    shown: tuple[Shown, ...]


@frozen
class UsageChanged:
    """`used` and `size` are tokens of the context window; `cost` is the session's, in US dollars."""

    used: int
    size: int
    cost: float


@frozen
class RetryScheduled:
    """The model request failed and is tried again after `delay` seconds. `run_id` is the wire id to say so under."""

    attempt: int
    attempts: int
    delay: float
    reason: str
    run_id: str


@frozen
class Noticed:
    """A remark to the user that is not stored. `run_id` is the wire id to say so under."""

    run_id: str
    title: str
    severity: Severity = Severity.INFO
    description: str = ""


@frozen
class HistoryReplaced:
    """For the model, a summary stands for everything up to the message that the editor knows as `hidden_through`;
    `summary_id` is the wire id of what the user was told of it."""

    hidden_through: str
    summary_id: str


@frozen
class CompactionChanged:
    """A summary is being made, or how that ended. `status` is in_progress, completed, failed or cancelled."""

    id: str
    status: str
    summary: str = ""
    error: str = ""


@frozen
class SettingsChanged:
    """A command gave the session another mode or model."""


@frozen
class Continued:
    """The turn goes on although the model has come to an end. `message_id` is what it was told, a message that was
    added right before; empty where the user's own words are the reason. `why` is the reason in words for the user."""

    reason: str
    message_id: str = ""
    why: str = ""


@frozen
class Retitled:
    """The session got a title."""

    title: str


@frozen
class TurnCompleted:
    """The last event of each accepted prompt, exactly once.

    `error` is set when the turn failed; then `stop_reason` says nothing. `message_id` names the last text run.
    `checks_passed` is None for a turn without a recipe; `final` is the final output that its recipe asked for, as JSON.
    The tokens and the cost, in US dollars, are those of all requests of the turn, of summaries and subagents too.
    `refused` says that the prompt was not carried out: a command that there is not, that was given something wrong or
    could not do its work, or a prompt that a hook did not let through; `text` says why.
    """

    stop_reason: StopReason
    message_id: str = ""
    text: str = ""
    error: str = ""
    error_kind: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0
    checks_passed: bool | None = None
    final: str = ""
    refused: bool = False


Grown = PartOpened | PartGrew | PartClosed
Event = (
    MessageAdded
    | MessageStarted
    | PartOpened
    | PartGrew
    | PartClosed
    | MessageEnded
    | MessageChanged
    | MessageDropped
    | ToolChanged
    | ToolStarted
    | ToolProgressed
    | UsageChanged
    | RetryScheduled
    | Noticed
    | HistoryReplaced
    | CompactionChanged
    | SettingsChanged
    | Continued
    | Retitled
    | TurnCompleted
)


def grow(parts: list[Part], event: Grown) -> None:
    """Apply one growth event to the parts of its message, in place.

    Text is appended by concatenation; a caller that streams joins deltas first (see `assemble`).
    """
    match event:
        case PartOpened(index=index, part=part) if index == len(parts):
            parts.append(part)
        case PartOpened(index=index, part=part) | PartClosed(index=index, part=part):
            parts[index] = part
        case PartGrew(index=index, text=text):
            match parts[index]:
                case Text() | Thinking() as part:
                    parts[index] = evolve(part, text=part.text + text)
                case ToolUse() as part:
                    parts[index] = evolve(part, raw=part.raw + text)
                case _:
                    raise ValueError(f"part {index} of {event.message_id} cannot grow")
