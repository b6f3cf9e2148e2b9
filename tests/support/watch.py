"""Watches a stream of events and objects to what may never happen in one."""

from collections.abc import Iterable, Sequence

from quillback.core.event import (
    Event,
    Growth,
    MessageAdded,
    MessageChanged,
    MessageDropped,
    MessageEnded,
    MessageStarted,
    PartClosed,
    PartGrew,
    PartOpened,
    ToolChanged,
    ToolProgressed,
    ToolStarted,
    TurnCompleted,
    grow,
)
from quillback.core.message import Message, MessageState, Part, Role, Text, Thinking, ToolResult, ToolUse


class Watch:
    """`kept` are the messages of the stream by now, in the order in which they came to stay."""

    def __init__(self, history: Iterable[Message] = ()) -> None:
        self.kept: dict[str, Message] = {m.id: m for m in history}
        self.calls: dict[str, ToolUse] = {}
        self.closed: set[str] = set()
        self.completed: TurnCompleted | None = None
        self._growing: dict[str, list[Part]] = {}
        self._over: set[str] = set()
        self._runs: dict[str, tuple[str, Growth]] = {}

    def take(self, events: Iterable[Event]) -> None:
        for event in events:
            assert self.completed is None, f"{event} after the end"
            self._take(event)

    def _take(self, event: Event) -> None:
        match event:
            case MessageStarted(message=message):
                assert message.state is MessageState.STREAMING
                assert message.parts == ()
                self._new(message.id)
                self._growing[message.id] = []
            case PartOpened() | PartGrew() | PartClosed():
                self._grow(event)
            case MessageEnded(message=message):
                assert list(message.parts) == self._growing.pop(message.id)
                self._keep(message)
            case MessageDropped(message_id=message_id, calls=calls):
                parts = self._growing.pop(message_id)
                assert [c.id for c in calls] == [p.id for p in parts if isinstance(p, ToolUse)]
                self.closed |= {c.id for c in calls}
            case MessageAdded(message=message):
                self._new(message.id)
                self._keep(message)
            case MessageChanged(message=message):
                assert message.id in self.kept
                self.kept[message.id] = message
            case ToolChanged(call=call) | ToolStarted(call=call):
                self._open(call.id)
            case ToolProgressed(call_id=call_id):
                self._open(call_id)
            case TurnCompleted():
                assert not self._growing
                assert self.open_calls() == []
                self.completed = event
            case _:
                pass

    def open_calls(self) -> list[str]:
        return [c for c in self.calls if c not in self.closed]

    def _new(self, message_id: str) -> None:
        assert message_id not in self._over, f"message {message_id} comes twice"
        self._over.add(message_id)

    def _open(self, call_id: str) -> None:
        assert call_id in self.open_calls(), f"{call_id} is shown, and is not open"

    def _grow(self, event: PartOpened | PartGrew | PartClosed) -> None:
        assert event.message_id in self._growing, f"{event} outside its message"
        parts = self._growing[event.message_id]
        match event:
            case PartOpened(index=index, part=part):
                assert index == len(parts)
                if isinstance(part, ToolUse):
                    assert part.id not in self.calls
                    self.calls[part.id] = part
            case PartGrew(run_id=run, growth=growth, supersedes=supersedes):
                assert event.text
                if growth is not Growth.INPUT:
                    self._run(run, event.message_id, growth)
                assert all(s in self._runs and self._runs[s][0] != event.message_id for s in supersedes)
            case PartClosed(index=index, part=part):
                before = parts[index]
                if isinstance(part, Text | Thinking):
                    assert isinstance(before, type(part))
                    assert part.text == before.text, "text that never was in a delta"
        grow(parts, event)

    def _run(self, run: str, message_id: str, growth: Growth) -> None:
        assert run, "a delta without a wire id"
        assert self._runs.setdefault(run, (message_id, growth)) == (message_id, growth), f"run {run} comes twice"

    def _keep(self, message: Message) -> None:
        assert message.parts or message.role is Role.USER, "an empty message"
        assert message.state in (MessageState.COMPLETE, MessageState.INTERRUPTED)
        seqs = [m.seq for m in self.kept.values()]
        # results are shown when they are on disk, which may be in another order
        assert message.seq > max(seqs, default=0) or (message.role is Role.TOOL and message.seq not in seqs), seqs
        self.kept[message.id] = message
        if message.role is Role.TOOL:
            for result in message.tool_results():
                self._close(result)

    def _close(self, result: ToolResult) -> None:
        assert result.call_id not in self.closed, f"{result.call_id} ends twice"
        self.closed.add(result.call_id)


def watched(events: Sequence[Event]) -> Watch:
    """A watch that has seen `events`."""
    watch = Watch()
    watch.take(events)
    return watch


def texts_of(events: Iterable[Event], growth: Growth = Growth.TEXT) -> dict[str, str]:
    """What the editor shows under each wire id, without what was superseded."""
    shown: dict[str, str] = {}
    for event in events:
        match event:
            case PartGrew(run_id=run, text=text, supersedes=supersedes, growth=kind):
                for old in supersedes:
                    shown.pop(old, None)
                if kind is growth:
                    shown[run] = shown.get(run, "") + text
            case MessageAdded(message=message) if message.role is Role.ASSISTANT:
                shown |= {p.run_id: p.text for p in message.parts if isinstance(p, Text)}
            case _:
                pass
    return shown


def results_of(events: Iterable[Event]) -> list[ToolResult]:
    return [r for e in events if isinstance(e, MessageAdded) for r in e.message.tool_results()]
