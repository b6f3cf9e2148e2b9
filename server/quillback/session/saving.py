"""The answer to a prompt waits until what happened is on disk, and says so when it could not be saved."""

import asyncio
import logging

from attrs import evolve

from quillback.core.event import TurnCompleted
from quillback.core.ports import Store

FLUSH_SECONDS = 5.0
log = logging.getLogger(__name__)


async def saved(store: Store, completed: TurnCompleted) -> TurnCompleted:
    """`completed`, once all of its turn is on disk; with an error that names what is not saved if that fails."""
    try:
        async with asyncio.timeout(FLUSH_SECONDS):
            await store.flush()
    except TimeoutError:
        why = f"Not saved yet: writing takes longer than {FLUSH_SECONDS:.0f} s; it goes on in the background."
    except Exception as error:
        why = str(error) or type(error).__name__
    else:
        return completed
    log.error("the end of a turn is not saved: %s", why)
    return evolve(completed, error=completed.error or why, error_kind=completed.error_kind or "store")
