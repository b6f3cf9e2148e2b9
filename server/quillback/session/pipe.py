"""The one way up: a turn's events, in order, to whoever shows them.

Deltas of one part that were not taken yet become one, and so does the progress of one call. `room` lets the producer
wait when too much is waiting.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator

from attrs import evolve

from quillback.core.event import Event, PartGrew, ToolProgressed, TurnCompleted

FULL = 8 * 1024 * 1024


class EventPipe:
    """One producer, one consumer. The consumer's iteration ends after TurnCompleted."""

    def __init__(self, full: int = FULL) -> None:
        self._full = full
        self._queue: deque[Event] = deque()
        self._pieces: list[str] = []
        self._progress: dict[str, ToolProgressed] = {}  # the latest of each call that has one in the queue
        self._bytes = 0
        self._filled = asyncio.Event()
        self._has_room = asyncio.Event()
        self._has_room.set()
        self._taken = asyncio.Event()
        self._complete = False

    def put(self, event: Event) -> None:
        """Add an event; what comes after TurnCompleted is dropped."""
        if self._complete:
            return
        self._complete = isinstance(event, TurnCompleted)
        self._taken.clear()
        last = self._queue[-1] if self._queue else None
        if isinstance(event, PartGrew):
            self._bytes += len(event.text)
            if isinstance(last, PartGrew) and (last.message_id, last.index) == (event.message_id, event.index):
                self._pieces.append(event.text)
            else:
                self._seal()
                self._pieces = [event.text]
                self._queue.append(event)
        elif isinstance(event, ToolProgressed) and event.call_id in self._progress:
            self._progress[event.call_id] = event  # it holds what the one before held
        else:
            if isinstance(event, ToolProgressed):
                self._progress[event.call_id] = event
            self._seal()
            self._queue.append(event)
        if self._bytes >= self._full:
            self._has_room.clear()
        self._filled.set()

    async def room(self) -> None:
        """Wait until the consumer has caught up."""
        await self._has_room.wait()

    @property
    def caught_up(self) -> bool:
        """Whether the consumer is done with all there was and waits for more."""
        return self._taken.is_set()

    async def taken(self) -> None:
        """Wait until the consumer is done with all there was and waits for more."""
        await self._taken.wait()

    def never_full(self) -> None:
        """Never hold the producer up again: the consumer is gone."""
        self._full = 1 << 62
        self._has_room.set()
        self._taken.set()

    async def __aiter__(self) -> AsyncIterator[Event]:
        while True:
            while not self._queue:
                self._filled.clear()
                self._taken.set()
                await self._filled.wait()
            if len(self._queue) == 1:
                self._seal()
            event = self._queue.popleft()
            if isinstance(event, PartGrew):
                self._bytes -= len(event.text)
                if self._bytes <= self._full // 2:
                    self._has_room.set()
            elif isinstance(event, ToolProgressed):
                event = self._progress.pop(event.call_id)
            yield event
            if isinstance(event, TurnCompleted):
                self._taken.set()
                return

    def _seal(self) -> None:
        """Join what grew onto the last event; joining once keeps it linear."""
        if len(self._pieces) > 1:
            last = self._queue[-1]
            assert isinstance(last, PartGrew)
            self._queue[-1] = evolve(last, text="".join(self._pieces))
        self._pieces = []
