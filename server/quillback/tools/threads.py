"""Blocking work off the event loop that stops soon after its caller is cancelled."""

import asyncio
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


class Stopped(Exception):
    """The caller has gone; raised inside the thread, seen by nobody."""


def check(stop: threading.Event) -> None:
    """Called by work now and then; raises Stopped once nobody waits for it any more."""
    if stop.is_set():
        raise Stopped


async def in_thread(work: Callable[[threading.Event], T], discard: Callable[[T], None] | None = None) -> T:
    """Run `work` in a thread. A cancel does not wait for it: the event tells it to stop.

    So work must have no effect that matters after a cancel; what it still returns then goes to `discard`, on the loop.
    """
    stop = threading.Event()
    future = asyncio.get_running_loop().run_in_executor(None, work, stop)
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        stop.set()
        future.add_done_callback(lambda done: _drop(done, discard))
        raise


def _drop(done: "asyncio.Future[T]", discard: Callable[[T], None] | None) -> None:
    if not done.cancelled() and done.exception() is None and discard is not None:
        discard(done.result())
