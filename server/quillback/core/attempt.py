"""One try at a reply: its message from the first event to its end, whether it is kept or given up."""

from collections.abc import Sequence

from attrs import evolve

from quillback.core.assemble import Assembler
from quillback.core.event import Event, Grown, MessageDropped, MessageStarted
from quillback.core.message import NO_USAGE, Message, MessageState, Part, ToolUse, Usage
from quillback.core.model import ModelRequest, ProviderEvent
from quillback.core.reply import shows_something
from quillback.core.request import part_bytes, request_bytes
from quillback.core.usage import cost, estimate

BELIEVABLE = 10**12
"""Tokens; a count of more is no count."""


class Attempt:
    """`message` is the one being filled; it is announced with the first part that grows."""

    def __init__(self, request: ModelRequest, message: Message, assembler: Assembler) -> None:
        self.request = request
        self._message = message
        self._assembler = assembler
        self._announced = False

    @property
    def stop_reason(self) -> str:
        """The provider's stop reason; empty as long as the reply is not whole."""
        stopping = self._assembler.stopping
        return stopping.stop_reason if stopping and self._assembler.whole else ""

    @property
    def message(self) -> Message | None:
        """As far as it has come; None before it is announced."""
        return evolve(self._message, parts=self._assembler.parts) if self._announced else None

    @property
    def explanation(self) -> str:
        return self._assembler.stopping.explanation if self._assembler.stopping else ""

    @property
    def runs(self) -> tuple[str, ...]:
        """The wire ids of the runs that the editor has seen."""
        return tuple(self._assembler.runs)

    def received(self, events: Sequence[ProviderEvent]) -> list[Event]:
        return self._announce(self._assembler.feed(events))

    def complete(self) -> tuple[list[Event], Message]:
        """Close a whole reply: what grew last, and its message."""
        grown = self._announce(self._assembler.finish(cut=self.stop_reason == "max_tokens"))
        parts = self._assembler.parts
        usage = self._usage(parts)
        message = evolve(
            self._message,
            parts=parts,
            finish_reason=self.stop_reason,
            usage=usage,
            cost=cost(self.request.model, usage),
            state=MessageState.COMPLETE,
        )
        return grown, message

    def interrupt(self) -> tuple[list[Event], Message | None]:
        """Close a reply that ended before its time; no message when there is nothing in it to see."""
        if not self._announced:
            return [], None
        grown: list[Event] = list(self._assembler.finish(cut=True))
        parts = self._assembler.parts
        if not shows_something(parts):
            return [*grown, *self.abandon()], None
        usage = self._reported()
        message = evolve(self._message, parts=parts, state=MessageState.INTERRUPTED, usage=usage, cost=self.spent)
        return grown, message

    def abandon(self) -> list[Event]:
        """Its message leaves the stream."""
        if not self._announced:
            return []
        self._announced = False
        calls = tuple(p for p in self._assembler.parts if isinstance(p, ToolUse))
        return [MessageDropped(self._message.id, calls)]

    def _announce(self, grown: list[Grown]) -> list[Event]:
        if not grown or self._announced:
            return list(grown)
        self._announced = True
        return [MessageStarted(self._message), *grown]

    @property
    def spent(self) -> float:
        """US dollars for what has come of the reply, as far as the provider has said."""
        return cost(self.request.model, self.usage)

    @property
    def usage(self) -> Usage:
        """The tokens of what has come of the reply, as far as the provider has said."""
        return self._reported() or NO_USAGE

    def _reported(self) -> Usage | None:
        stopping, started = self._assembler.stopping, self._assembler.started
        usage = (stopping.usage if stopping else None) or (started.usage if started else None)
        return usage if usage is not None and 0 < usage.context_size < BELIEVABLE else None

    def _usage(self, parts: Sequence[Part]) -> Usage:
        return self._reported() or estimate(request_bytes(self.request), sum(part_bytes(p) for p in parts))
