"""What happened is written down.

The answer to a prompt waits until it is on disk, and says so when it could not be saved.
"""

import asyncio
import logging
from collections.abc import Iterable

from attrs import evolve

from quillback.core.event import (
    Event,
    MessageAdded,
    MessageChanged,
    MessageDropped,
    MessageEnded,
    MessageStarted,
    PartClosed,
    PartGrew,
    PartOpened,
    TurnCompleted,
)
from quillback.core.ports import Store, StoreError
from quillback.core.reply import KNOWN

FLUSH_SECONDS = 5.0
log = logging.getLogger(__name__)


async def saved(store: Store, completed: TurnCompleted, session_id: str) -> TurnCompleted:
    """`completed`, once all of its turn is on disk; with an error that names what is not saved if that fails.

    The store leaves out what belongs to a session that is gone, and none ever comes back: so whether it is there at the
    end says whether its turn was kept.
    """
    try:
        async with asyncio.timeout(FLUSH_SECONDS):
            await store.flush()
            if await store.session(session_id) is None:
                raise StoreError(f"Nothing of this turn is saved: the session {session_id} was deleted meanwhile.")
    except TimeoutError:
        why = f"Not saved yet: writing takes longer than {FLUSH_SECONDS:.0f} s; it goes on in the background."
    except Exception as error:
        why = str(error) or type(error).__name__
    else:
        return completed
    log.error("the end of a turn is not saved: %s", why)
    return evolve(completed, error=completed.error or why, error_kind=completed.error_kind or "store")


def keep(store: Store, events: Iterable[Event]) -> None:
    """Write down what events say of the stream; it is on its way to the disk when this returns."""
    for event in events:
        match event:
            case MessageAdded(message=m) | MessageStarted(message=m) | MessageChanged(message=m):
                store.put(m)
            case MessageEnded(message=m):
                store.put(m)
                if m.finish_reason and m.finish_reason not in KNOWN:
                    log.warning("unknown stop reason %r, taken as the end of the turn", m.finish_reason)
            case PartOpened() | PartGrew() | PartClosed():
                store.journal(event)
            case MessageDropped(message_id=message_id):
                store.drop(message_id)
            case _:
                pass
