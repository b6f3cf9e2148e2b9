"""Rebuilds messages from their journals: the streaming ones as they stand, those of a dead process for good."""

import logging
from collections.abc import Collection, Iterable, Iterator

from aiosqlite import Connection
from attrs import evolve

from quillback.core.event import Grown, PartGrew, grow
from quillback.core.message import Message, MessageState, Part
from quillback.store.codec import decode_growth, decode_message, encode_message
from quillback.store.sql import change, rows

log = logging.getLogger(__name__)


def fold(start: Iterable[Part], events: Iterable[Grown]) -> tuple[Part, ...]:
    """`core.event.grow` over `events`, in time linear in their text.

    Ends early, with a line in the log, at an event that cannot be read or applied.
    """
    parts = list(start)
    tails: dict[int, tuple[PartGrew, list[str]]] = {}  # texts of a part that are not joined to it yet
    try:
        for event in events:
            if isinstance(event, PartGrew) and event.index in tails:
                tails[event.index][1].append(event.text)
                continue
            grow(parts, event)
            if isinstance(event, PartGrew):
                tails[event.index] = (event, [])
            else:
                tails.pop(event.index, None)  # the event brought the part as a whole
    except (ValueError, IndexError) as error:
        log.error("the rest of a journal was left out: %s", error)
    for first, texts in tails.values():
        grow(parts, evolve(first, text="".join(texts)))
    return tuple(parts)


async def unfinished(db: Connection, session_id: str) -> list[str]:
    """The ids of the session's streaming messages."""
    found = await rows(db, "SELECT id FROM messages WHERE session_id = ? AND state = 'streaming'", session_id)
    return [str(row[0]) for row in found]


async def grown(db: Connection, message: Message) -> Message:
    """A streaming message with what its journal adds."""
    found = await rows(db, "SELECT event FROM journal WHERE message_id = ? ORDER BY n", message.id)
    return evolve(message, parts=fold(message.parts, _events(found)))


async def interrupt(db: Connection, session_id: str, live: Collection[str]) -> None:
    """Store the session's streaming messages as interrupted, except the `live` ones; empty ones go.

    Runs inside the caller's transaction.
    """
    for message_id in await unfinished(db, session_id):
        if message_id in live:
            continue
        ((body,),) = await rows(db, "SELECT body FROM messages WHERE id = ?", message_id)
        message = evolve(await grown(db, decode_message(body)), state=MessageState.INTERRUPTED)
        if message.parts:
            await change(
                db,
                "UPDATE messages SET state = ?, body = ? WHERE id = ?",
                *(message.state, encode_message(message), message_id),
            )
            await change(db, "DELETE FROM journal WHERE message_id = ?", message_id)
        else:
            await change(db, "DELETE FROM messages WHERE id = ?", message_id)


def _events(found: Iterable[tuple[bytes, ...]]) -> Iterator[Grown]:
    for (event,) in found:
        yield decode_growth(event)
