"""The stream of a session: in memory from its last summary on, whole on disk."""

from collections.abc import Sequence

from attrs import evolve, frozen

from quillback.core.compaction import context_size, last_shown
from quillback.core.event import HistoryReplaced, MessageAdded, UsageChanged
from quillback.core.facts import files_seen
from quillback.core.message import Message, Part, Summary
from quillback.core.model import Model
from quillback.core.storing import SessionRecord
from quillback.core.stream import Stream, next_seq
from quillback.session.pipe import EventPipe
from quillback.session.services import Services


@frozen
class Past:
    """`history` is what is in memory; its owner is the session, and the turn that runs."""

    history: list[Message]
    session_id: str
    services: Services

    def enter(self, message: Message, pipe: EventPipe | None = None) -> Message:
        """The message takes its place in the stream, and is shown where somebody looks."""
        message = evolve(message, seq=next_seq(self.history))
        self.history.append(message)
        return self._kept(message, pipe)

    def tell_model(self, parts: Sequence[Part], pipe: EventPipe | None = None) -> Message:
        """Add what only the model sees."""
        return self._kept(self._stream().tell_model(*parts).message, pipe)

    def tell_user(self, text: str, pipe: EventPipe | None = None) -> str:
        """Add what only the user sees; the id of its run."""
        added, run = self._stream().tell_user(text)
        self._kept(added.message, pipe)
        return run

    def forget(self, pipe: EventPipe, record: SessionRecord, model: Model) -> None:
        """From now on the model sees nothing of what came before; the files that it knows stay known."""
        shown = last_shown(self.history)
        self.tell_model([Summary("", seen=files_seen(self.history))], pipe)
        del self.history[:-1]
        pipe.put(HistoryReplaced(shown, shown))
        used = context_size(self.history, self.services.system(record), ())
        pipe.put(UsageChanged(used, model.context_window, record.cost))

    async def older(self) -> list[Message]:
        """What of the stream is not in memory any more. Raises StoreError."""
        first = self.history[0].seq if self.history else 0
        if first <= 1:
            return []
        return [m for m in await self.services.store.messages(self.session_id) if 0 < m.seq < first]

    def follows(self, older: Sequence[Message]) -> bool:
        """Whether `history` goes on where `older` ends."""
        first = self.history[0].seq if self.history else 0
        return next_seq(older) == first if older else first <= 1

    def _kept(self, message: Message, pipe: EventPipe | None) -> Message:
        self.services.store.put(message)
        if pipe is not None:
            pipe.put(MessageAdded(message))
        return message

    def _stream(self) -> Stream:
        return Stream(self.history, self.session_id, self.services.new_id, self.services.now)
