"""Puts a reply together from the provider's events, and says what grew.

Blocks stay in the provider's order and byte for byte. Runs of adjacent text and of adjacent thinking get their wire
id here, before their first delta.
"""

from collections.abc import Callable, Iterable, Mapping
from itertools import groupby

from attrs import define, evolve, field

from quillback.core.event import Grown, Growth, PartClosed, PartGrew, PartOpened
from quillback.core.message import JsonObject, Part, RedactedThinking, Text, Thinking, ToolUse
from quillback.core.model import (
    BlockStopped,
    InputDelta,
    ProviderEvent,
    RedactedStarted,
    SignatureDelta,
    Sketch,
    StreamStarted,
    StreamStopped,
    StreamStopping,
    TextDelta,
    TextStarted,
    ThinkingDelta,
    ThinkingStarted,
    ToolSpec,
    ToolUseStarted,
)
from quillback.core.text import one_line
from quillback.core.validate import InputError, as_json, check, parse_input

NewId = Callable[[str], str]
"""Gives a new id with a prefix: time-sortable and unique."""

CUT = "the call was cut off before its input was complete, so it was not run; send it again, smaller"


@define
class _Block:
    """`whole` is an input that came with the block's start, for calls that stream none."""

    position: int
    part: Part
    pieces: list[str] = field(factory=list)
    signature: str = ""
    held: str = ""
    open: bool = True
    whole: JsonObject | None = None


def join_surrogates(text: str) -> tuple[str, str]:
    """`text` with its surrogate pairs joined and lone ones replaced, and a last high half that may still be completed.

    Servers cut JSON escapes of one character over two deltas.
    """
    if text.isascii() or not any("\ud800" <= c <= "\udfff" for c in text):
        return text, ""
    held = text[-1] if "\ud800" <= text[-1] <= "\udbff" else ""
    whole = text[: len(text) - len(held)]
    return whole.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace"), held


class Assembler:
    """One reply. `parts` is what it holds by now; `runs` the wire ids of its runs that grew."""

    def __init__(
        self,
        message_id: str,
        new_id: NewId,
        tools: Mapping[str, ToolSpec],
        supersedes: tuple[str, ...] = (),
    ) -> None:
        self.message_id = message_id
        self.runs: list[str] = []
        self.stopping: StreamStopping | None = None
        self.started: StreamStarted | None = None
        self.whole = False
        self._new_id = new_id
        self._tools = tools
        self._supersedes = supersedes
        self._blocks: dict[int, _Block] = {}
        self._order: list[_Block] = []

    @property
    def parts(self) -> tuple[Part, ...]:
        return tuple(self._current(b) for b in self._order)

    def feed(self, events: Iterable[ProviderEvent]) -> list[Grown]:
        """What grew, with adjacent deltas of one part joined."""
        out: list[Grown] = []
        for event in events:
            match event:
                case StreamStarted():
                    self.started = event
                case StreamStopping():
                    self.stopping = event
                case StreamStopped():
                    self.whole = True
                case BlockStopped(index=index):
                    out += self._stop(index)
                case TextDelta(index=index, text=text):
                    self._delta(out, index, text, Text, Growth.TEXT)
                case ThinkingDelta(index=index, text=text):
                    self._delta(out, index, text, Thinking, Growth.THOUGHT)
                case InputDelta(index=index, json=text):
                    self._delta(out, index, text, ToolUse, Growth.INPUT)
                case SignatureDelta(index=index, signature=signature):
                    if index in self._blocks:
                        self._blocks[index].signature += signature
                case TextStarted() | ThinkingStarted() | RedactedStarted() | ToolUseStarted():
                    out += self._start(event)
        return _joined(out)

    def finish(self, *, cut: bool) -> list[Grown]:
        """Close what is still open. `cut` says that the reply ended before its time."""
        open_blocks = [b for b in self._order if b.open]
        out = [grown for b in open_blocks for grown in self._close(b, cut=cut)]
        if self.stopping and self.stopping.stop_reason == "max_tokens":
            out += self._cut_last()
        return out

    def _cut_last(self) -> list[Grown]:
        """At the limit of output tokens some services close the last block although it is not complete."""
        block = self._order[-1] if self._order else None
        if block is None or not isinstance(block.part, ToolUse) or block.part.problem == CUT:
            return []
        call, spec = block.part, self._tools.get(block.part.name)
        lacks_input = not call.input and not block.pieces and spec is not None and spec.input_schema.get("properties")
        if not call.raw and not lacks_input:
            return []
        block.part = evolve(call, input={}, problem=CUT)
        return [PartClosed(self.message_id, block.position, block.part)]

    # ------------------------------------------------------------ blocks

    def _start(self, event: TextStarted | ThinkingStarted | RedactedStarted | ToolUseStarted) -> list[Grown]:
        out = self._stop(event.index)
        match event:
            case TextStarted(index=index, text=text):
                block = self._open(index, Text("", self._run_id(Text)))
                growth, first = Growth.TEXT, text
            case ThinkingStarted(index=index, text=text, signature=signature):
                block = self._open(index, Thinking("", "", self._run_id(Thinking)))
                block.signature = signature
                growth, first = Growth.THOUGHT, text
            case RedactedStarted(index=index, data=data):
                block = self._open(index, RedactedThinking(data))
                growth, first = Growth.THOUGHT, ""
            case ToolUseStarted(index=index):
                block = self._open(index, self._call(event))
                block.whole = event.input
                growth, first = Growth.INPUT, ""
        out.append(PartOpened(self.message_id, block.position, block.part))
        if first:
            self._delta(out, event.index, first, type(block.part), growth)
        return out

    def _call(self, event: ToolUseStarted) -> ToolUse:
        spec = self._tools.get(event.name)
        call = ToolUse(id=self._new_id("call"), provider_id=event.id, name=event.name)
        if spec is None:
            return evolve(call, title=one_line(event.name) or "(no name)")
        return evolve(call, title=_sketch(spec, {}).title, kind=spec.kind)

    def _open(self, index: int, part: Part) -> _Block:
        block = _Block(len(self._order), part)
        self._blocks[index] = block
        self._order.append(block)
        return block

    def _run_id(self, kind: type[Text] | type[Thinking]) -> str:
        last = self._order[-1].part if self._order else None
        return last.run_id if isinstance(last, Text | Thinking) and isinstance(last, kind) else self._new_id("msg")

    def _delta(self, out: list[Grown], index: int, text: str, kind: type[Part], growth: Growth) -> None:
        block = self._blocks.get(index)
        if block is None or not block.open or not isinstance(block.part, kind):
            return
        text, block.held = join_surrogates(block.held + text)
        if text:
            self._grow(out, block, text, growth)

    def _grow(self, out: list[Grown], block: _Block, text: str, growth: Growth) -> None:
        block.pieces.append(text)
        run = block.part.run_id if isinstance(block.part, Text | Thinking) else ""
        supersedes: tuple[str, ...] = ()
        if run and run not in self.runs:
            self.runs.append(run)
            supersedes, self._supersedes = self._supersedes, ()
        out.append(PartGrew(self.message_id, block.position, growth, text, run, supersedes))

    def _stop(self, index: int) -> list[Grown]:
        block = self._blocks.get(index)
        return self._close(block, cut=False) if block and block.open else []

    def _close(self, block: _Block, *, cut: bool) -> list[Grown]:
        out: list[Grown] = []
        if block.held:
            block.held = ""
            growth = Growth.TEXT if isinstance(block.part, Text) else Growth.THOUGHT
            self._grow(out, block, "\ufffd", Growth.INPUT if isinstance(block.part, ToolUse) else growth)
        part = self._current(block)
        block.open = False
        block.part = self._checked(part, block.whole, cut=cut) if isinstance(part, ToolUse) else part
        return [*out, PartClosed(self.message_id, block.position, block.part)]

    def _current(self, block: _Block) -> Part:
        if not block.open:
            return block.part
        match block.part:
            case Text() as part:
                return evolve(part, text="".join(block.pieces))
            case Thinking() as part:
                return evolve(part, text="".join(block.pieces), signature=block.signature)
            case ToolUse() as part:
                return evolve(part, raw="".join(block.pieces))
            case part:
                return part

    def _checked(self, call: ToolUse, whole: JsonObject | None, *, cut: bool) -> ToolUse:
        """The call with its parsed input, or with the problem that keeps it from running."""
        if cut:
            return evolve(call, input={}, problem=CUT)
        try:
            arguments = parse_input(call.raw if call.raw.strip() or not whole else as_json(whole))
        except InputError as error:
            return evolve(call, input={}, problem=str(error))
        spec = self._tools.get(call.name)
        if spec is None:
            known = ", ".join(sorted(self._tools)) or "none"
            return evolve(
                call,
                input=arguments,
                raw="",
                problem=f"there is no tool {one_line(call.name)!r}; the tools are: {known}",
            )
        sketch = _sketch(spec, arguments)
        problem = check(arguments, spec.input_schema)
        return evolve(
            call,
            input=arguments,
            raw="",
            problem=problem,
            title=sketch.title,
            kind=spec.kind,
            locations=sketch.locations,
        )


def _sketch(spec: ToolSpec, arguments: JsonObject) -> Sketch:
    """How the call is announced; a tool that cannot tell is announced by its name."""
    try:
        sketch = spec.describe(arguments)
    except Exception:  # the input is the model's, and a title must not end the turn
        return Sketch(spec.name)
    return evolve(sketch, title=one_line(sketch.title) or spec.name)


def _joined(grown: Iterable[Grown]) -> list[Grown]:
    """Adjacent deltas of one part as one. Each is joined once, since thousands may come in one read."""
    out: list[Grown] = []
    for _, same in groupby(enumerate(grown), lambda it: it[1].index if isinstance(it[1], PartGrew) else -1 - it[0]):
        events = [event for _, event in same]
        first, texts = events[0], [event.text for event in events if isinstance(event, PartGrew)]
        out.append(evolve(first, text="".join(texts)) if isinstance(first, PartGrew) and texts[1:] else first)
    return out
