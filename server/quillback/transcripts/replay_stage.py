"""Where one recorded turn is played again, and what its parts share there."""

import asyncio
from collections.abc import Callable

from attrs import define

from quillback.core.message import JsonObject
from quillback.core.turn_types import Crash
from quillback.session.driver import Driver
from quillback.transcripts.replay_record import Record
from quillback.transcripts.replay_spans import Span


@define(eq=False)
class Stage:
    """Where one turn is played. `driver` is set once there is one."""

    span: Span
    record: Record
    schemas: dict[str, JsonObject]
    driver: Driver | None = None
    hanging: int = 0
    empty: int = 0

    @classmethod
    def of(cls, span: Span, schemas: dict[str, JsonObject]) -> "Stage":
        return cls(span, Record.of(span), schemas, empty=span.empty_replies)

    @property
    def running(self) -> Driver:
        assert self.driver is not None
        return self.driver

    def end(self, *, cancel: bool) -> None:
        """What ended the recorded turn from outside ends this one."""
        driver = self.running
        if not cancel:
            driver.feed(Crash("the process ended here"))
        driver.cancel()

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until other tasks have brought it about."""
        while not condition() and not self.running.ended:  # noqa: ASYNC110 - nobody tells of it
            await asyncio.sleep(0)
