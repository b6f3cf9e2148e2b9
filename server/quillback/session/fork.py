"""Copies a session up to a message, so that another one can go on from there; the original stays as it is."""

from collections.abc import Callable, Sequence

from attrs import evolve

from quillback.core.calls import error_result
from quillback.core.message import Message, MessageState, Part, Role, Text, Thinking
from quillback.core.ports import SessionRecord
from quillback.core.repair import unanswered
from quillback.session.services import Services

CUT_OFF = "the session was forked before this call had a result here; it may have had effects"
SUFFIX = " (fork)"
_UNFINISHED = (MessageState.QUEUED, MessageState.STREAMING)


class ForkError(ValueError):
    """There is no place to fork at; the text says why."""


async def fork_stored(
    services: Services, record: SessionRecord, messages: Sequence[Message], through: str = ""
) -> SessionRecord:
    """The record of a new session with the stream `messages` of another one up to `through`, stored and not open.

    See `copied`. Raises ForkError, StoreError.
    """
    new_id, now = services.new_id, services.now()
    fork = evolve(
        record,
        id=new_id("sess"),
        title=_title(record.title),
        created_at=now,
        updated_at=now,
        cost=0.0,
        parent="",
    )
    copies = copied(messages, through, fork.id, new_id)
    await services.store.create_session(fork)
    for message in copies:
        services.store.put(message)
    await services.store.flush()
    return fork


def copied(messages: Sequence[Message], through: str, session_id: str, new_id: Callable[[str], str]) -> list[Message]:
    """The stream up to the message `through`, or all of it where that is empty; with ids of its own.

    `through` is the id of a message, or one under which the editor was shown a text or a thought. What still grows and
    what waits to run is left out. A step stays whole: the results of its calls come along, and a call that has none
    yet gets one that says so. Calls keep their ids. Thinking comes along and is not sent to the model again. What the
    copies cost was paid by the original. Raises ForkError where there is no such message.
    """
    done = [message for message in messages if message.state not in _UNFINISHED]
    part = done[: _end(done, through)] if through else done
    copies = _renamed(part, session_id, new_id)
    for call in unanswered(copies):
        at = copies[-1]
        result = error_result(call, CUT_OFF)
        copies.append(Message(new_id("msg"), session_id, at.seq + 1, Role.TOOL, (result,), at.created_at))
    if copies:
        copies[-1] = evolve(copies[-1], thoughts_end=True)
    return copies


def _end(messages: Sequence[Message], through: str) -> int:
    """How many messages there are up to `through` and the results of the step it belongs to."""
    at = next((i for i, message in enumerate(messages) if is_message(message, through)), None)
    if at is None:
        raise ForkError(f"there is no finished message {through!r} in this session")
    open_calls = {call.id for call in unanswered(messages[: at + 1])}
    end = at + 1
    for i in range(at + 1, len(messages)):
        if not open_calls or messages[i].role is Role.ASSISTANT:
            break
        answered = {result.call_id for result in messages[i].tool_results()}
        if answered & open_calls:
            open_calls -= answered
            end = i + 1
    return end


def is_message(message: Message, wanted: str) -> bool:
    """Whether the editor was shown the message, or a part of it, under this id."""
    return message.id == wanted or any(isinstance(p, Text | Thinking) and p.run_id == wanted for p in message.parts)


def _renamed(messages: Sequence[Message], session_id: str, new_id: Callable[[str], str]) -> list[Message]:
    runs: dict[str, str] = {}

    def own(part: Part) -> Part:
        if not isinstance(part, Text | Thinking) or not part.run_id:
            return part
        if part.run_id not in runs:
            runs[part.run_id] = new_id("msg")
        return evolve(part, run_id=runs[part.run_id])

    copies = []
    for seq, message in enumerate(messages, 1):
        parts = tuple(own(part) for part in message.parts)
        copies.append(evolve(message, id=new_id("msg"), session_id=session_id, seq=seq, parts=parts, cost=0.0))
    return copies


def _title(title: str) -> str:
    """One without a title gets its own with the next prompt."""
    return title if not title or title.endswith(SUFFIX) else title + SUFFIX
