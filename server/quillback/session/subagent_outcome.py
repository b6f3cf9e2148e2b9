"""What the model that asked for a subagent is told of its end."""

from collections.abc import Sequence
from typing import assert_never

from attrs import frozen

from quillback.core.event import StopReason, TurnCompleted
from quillback.core.message import Message, Role, Shown, Text, Usage
from quillback.core.ports import ToolOutcome


@frozen
class Ended:
    """How a subagent ended: its session, its stream, its last event. `calls` is a line for each of its calls.

    `limit` is which limit of the parent's turn ended it, `halt` the words of a hook that did; `stops` says that a
    rejection ends the parent's turn. Both empty and False where nothing of it holds.
    """

    session_id: str
    history: Sequence[Message]
    completed: TurnCompleted
    calls: str = ""
    limit: str = ""
    halt: str = ""
    stops: bool = False


def outcome_of(ended: Ended) -> ToolOutcome:
    """The subagent's last text, with a note where that is not the end of its work. It has its cost and tokens."""
    text, fault = _last_text(ended.history), _fault(ended)
    log = f"[The subagent's session is {ended.session_id}.]"
    if fault:
        by_then = f"What it had said by then:\n{text}" if text else "It had not said anything by then."
        told = f"{fault}\n\n{by_then}"
    else:
        note = _note(ended.completed)
        told = "\n\n".join(filter(None, (text or "(It ended without a word.)", note)))
    shown: tuple[Shown, ...] = (Text(ended.calls),) if ended.calls else ()
    return ToolOutcome(
        content=(Text(f"{told}\n\n{log}"),),
        is_error=bool(fault),
        shown=shown,
        raw_output={"sessionId": ended.session_id},
        stop_turn=bool(ended.halt) or ended.stops,
        say=f"A hook ended the turn: {ended.halt}" if ended.halt else "",
        cost=ended.completed.cost,
        usage=Usage(ended.completed.input_tokens, ended.completed.output_tokens),
    )


def _fault(ended: Ended) -> str:
    """What went wrong, for the model; empty when nothing did."""
    completed = ended.completed
    if ended.limit:
        return f"The subagent was stopped: {ended.limit}"
    if ended.halt:
        return f"A hook stopped the subagent: {ended.halt}"
    if ended.stops:
        return "The user rejected a call of the subagent, which ends the turn."
    if completed.error:
        return f"The subagent failed: {completed.error}"
    match completed.stop_reason:
        case StopReason.CANCELLED:
            return "The subagent was cancelled."
        case StopReason.REFUSAL:
            return f"The subagent's model declined the task. {completed.text}"
        case StopReason.END_TURN | StopReason.MAX_TOKENS | StopReason.MAX_TURN_REQUESTS:
            return ""
        case _:
            assert_never(completed.stop_reason)


def _note(completed: TurnCompleted) -> str:
    match completed.stop_reason:
        case StopReason.MAX_TURN_REQUESTS:
            why = completed.text.removesuffix(" Send another prompt to go on.")
            return f"[The subagent is not done, this is what it has said so far. {why}]"
        case StopReason.MAX_TOKENS:
            return "[Its answer was cut off: it was too long.]"
        case _:
            return ""


def _last_text(history: Sequence[Message]) -> str:
    said = (m.text().strip() for m in reversed(history) if m.role is Role.ASSISTANT and m.visible_to_model)
    return next(filter(None, said), "")
