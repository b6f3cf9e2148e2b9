"""What a stored stream tells a session that opens it again."""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeGuard

from attrs import evolve

from quillback.core.assemble import CUT
from quillback.core.calls import error_result
from quillback.core.facts import files_seen
from quillback.core.message import Message, MessageState, Part, Role, ToolUse
from quillback.core.repair import INTERRUPTED, unanswered
from quillback.core.stream import next_seq


def recovered(
    stored: Sequence[Message], new_id: Callable[[str], str], now: Callable[[], int]
) -> tuple[list[Message], list[Message]]:
    """The stream as it should be, and the messages of it that are new or changed.

    Calls without a result get one that says so; calls that were cut off, and prompts that never ran, are marked.
    """
    begun = [m for m in stored if m.state is not MessageState.QUEUED]
    history = [_checked(m) for m in begun]
    changed = [new for new, old in zip(history, begun, strict=True) if new is not old]

    def add(message: Message) -> None:
        message = evolve(message, seq=next_seq(history))
        history.append(message)
        changed.append(message)

    for call in unanswered(history):
        result = error_result(call, INTERRUPTED)
        add(Message(new_id("msg"), stored[0].session_id, 0, Role.TOOL, (result,), now()))
    for message in stored:
        if message.state is MessageState.QUEUED:
            add(evolve(message, state=MessageState.NOT_RUN, visible_to_model=False))
    return history, changed


def _checked(message: Message) -> Message:
    """A reply that was cut off in the middle of a call, with that call marked: it has no input to show the model."""
    if not any(_was_cut(p) for p in message.parts):
        return message
    return message.with_parts(*(evolve(p, problem=CUT) if _was_cut(p) else p for p in message.parts))


def _was_cut(part: Part) -> TypeGuard[ToolUse]:
    return isinstance(part, ToolUse) and bool(part.raw.strip()) and not part.problem


def known_files(history: Iterable[Message]) -> dict[str, str]:
    """The digests of the files that the session has read or written, newest last."""
    return {seen.path: seen.digest for seen in files_seen(history)}


def context_used(history: Iterable[Message]) -> int:
    """Tokens of the context window that the last reply took, 0 when none is known."""
    used = [m.usage.context_size for m in history if m.usage is not None]
    return used[-1] if used else 0
