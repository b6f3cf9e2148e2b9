"""Decides what follows from a complete reply: the one place that reads the provider's stop reasons."""

from collections.abc import Iterable
from enum import Enum, auto

from attrs import frozen

from quillback.core.event import StopReason
from quillback.core.message import Message, Part, Text, Thinking, ToolUse

EMPTY_RETRIES = 3
MAX_TOKENS_IN_A_ROW = 2
PAUSES_IN_A_ROW = 5
KNOWN = frozenset(
    {
        "end_turn",
        "stop_sequence",
        "tool_use",
        "max_tokens",
        "pause_turn",
        "refusal",
        "model_context_window_exceeded",
    }
)
CUT_OFF = "The reply was cut off: it reached the model's limit of output tokens. Ask it to go on, or for less at once."
WINDOW_FULL = (
    "The conversation no longer fits the model's context window. Start a new session, or choose a larger model."
)
PAUSED = "Stopped: the model paused its reply too often."


class Next(Enum):
    RUN = auto()
    GO_ON = auto()
    EMPTY = auto()
    REFUSED = auto()
    OVERFLOW = auto()
    END = auto()


@frozen
class Decision:
    """`say` is shown to the user before the end; `keep` is False for a reply that does not enter the stream."""

    next: Next
    stop_reason: StopReason = StopReason.END_TURN
    say: str = ""
    keep: bool = True


def decide(message: Message, empty: int, max_tokens: int, pauses: int) -> Decision:
    """What follows from `message`; the numbers say how many replies like it came in a row before."""
    calls, keep = message.tool_uses(), shows_something(message.parts)
    has_text = any(isinstance(p, Text) and p.text.strip() for p in message.parts)
    match message.finish_reason:
        case "refusal":
            return Decision(Next.REFUSED, StopReason.REFUSAL, keep=keep)
        case "model_context_window_exceeded":
            return Decision(Next.OVERFLOW, StopReason.MAX_TOKENS, WINDOW_FULL, keep)
        case "max_tokens" if calls and max_tokens < MAX_TOKENS_IN_A_ROW:
            return Decision(Next.RUN)
        case "max_tokens":
            return Decision(Next.END, StopReason.MAX_TOKENS, CUT_OFF, keep)
        case _ if calls:
            return Decision(Next.RUN)
        case "pause_turn" if has_text and pauses < PAUSES_IN_A_ROW:
            return Decision(Next.GO_ON)
        case "pause_turn" if has_text:
            return Decision(Next.END, say=PAUSED)
        case "tool_use":
            return _empty("announced a tool call but sent none", empty, keep=has_text)
        case _ if has_text:
            return Decision(Next.END)
        case _:
            return _empty("sent an empty reply", empty, keep=False)


def shows_something(parts: Iterable[Part]) -> bool:
    """Whether there is a call, or text or a thought that can be seen; a message of nothing else is not stored."""
    return any(isinstance(p, ToolUse) or (isinstance(p, Text | Thinking) and bool(p.text.strip())) for p in parts)


def _empty(what: str, empty: int, *, keep: bool) -> Decision:
    if empty < EMPTY_RETRIES:
        return Decision(Next.EMPTY, keep=False)
    say = f"The model {what}, {empty + 1} times in a row. Send the prompt again, or choose another model."
    return Decision(Next.END, say=say, keep=keep)
