"""Lets the calls of a step ask the user one at a time and in call order."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

ORDER_SECONDS = 0.2


class Questions:
    """A call lets those before it ask first, but does not wait for slow ones."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._ready: dict[str, asyncio.Event] = {}

    def expect(self, call_id: str) -> None:
        self._ready[call_id] = asyncio.Event()

    def settled(self, call_id: str) -> None:
        """The call asks nothing any more, or is about to ask."""
        self._ready[call_id].set()

    @asynccontextmanager
    async def turn_of(self, call_id: str) -> AsyncIterator[None]:
        earlier = list(self._ready)[: list(self._ready).index(call_id)]
        waits = [asyncio.ensure_future(self._ready[c].wait()) for c in earlier if not self._ready[c].is_set()]
        if waits:
            try:
                await asyncio.wait(waits, timeout=ORDER_SECONDS)
            finally:
                for wait in waits:
                    wait.cancel()
        self.settled(call_id)
        async with self._lock:
            yield
