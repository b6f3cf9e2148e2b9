"""Short ways to write what a model service streams: blocks that are numbered when they are put into a reply."""

import itertools
import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from quillback.core.message import ToolKind, Usage
from quillback.core.model import (
    BlockStopped,
    InputDelta,
    Model,
    Price,
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

Block = Callable[[int], list[ProviderEvent]]
"""The events of a block, given its index."""

MODEL = Model(
    "m1", "fake", "Model One", 200_000, 32_000, Price(input=1.0, output=10.0, cache_read=0.1, cache_write=2.0)
)
USAGE = Usage(1000, 100, 10, 1)


def say(*pieces: str) -> Block:
    return lambda index: [TextStarted(index), *(TextDelta(index, p) for p in pieces), BlockStopped(index)]


def think(text: str = "", signature: str = "sig") -> Block:
    def block(index: int) -> list[ProviderEvent]:
        deltas: list[ProviderEvent] = [ThinkingDelta(index, text)] if text else []
        return [ThinkingStarted(index), *deltas, SignatureDelta(index, signature), BlockStopped(index)]

    return block


def redacted(data: str = "xyz") -> Block:
    return lambda index: [RedactedStarted(index, data), BlockStopped(index)]


def call(name: str, given: dict[str, Any] | str | None = None, id: str = "") -> Block:
    """A whole call; a string is sent as the input as it is."""
    raw = given if isinstance(given, str) else json.dumps({} if given is None else given)

    def block(index: int) -> list[ProviderEvent]:
        deltas: list[ProviderEvent] = [InputDelta(index, raw)] if raw else []
        return [ToolUseStarted(index, id or f"toolu_{index}", name), *deltas, BlockStopped(index)]

    return block


def unfinished(block: Block) -> Block:
    """A block whose end never comes."""
    return lambda index: block(index)[:-1]


def blocks(given: Iterable[Block]) -> list[ProviderEvent]:
    return [event for index, block in enumerate(given) for event in block(index)]


def reply(*given: Block, stop: str = "", usage: Usage | None = USAGE, explanation: str = "") -> list[ProviderEvent]:
    """A whole reply. It stops for `tool_use` where there is a call, otherwise at the end of the turn."""
    events = blocks(given)
    stop = stop or ("tool_use" if any(isinstance(e, ToolUseStarted) for e in events) else "end_turn")
    return [StreamStarted("m1"), *events, StreamStopping(stop, usage, explanation), StreamStopped()]


def partial(*given: Block, usage: Usage | None = None) -> list[ProviderEvent]:
    """The beginning of a reply: its last block does not end, and neither does it."""
    *whole, last = given
    return [StreamStarted("m1", usage), *blocks([*whole, unfinished(last)])]


# ---------------------------------------------------------------- tools


def spec(
    name: str,
    required: Sequence[str] = (),
    *,
    read_only: bool = False,
    polling: bool = False,
    kind: ToolKind = ToolKind.READ,
    **properties: str,
) -> ToolSpec:
    """A tool; `properties` are names and JSON types."""
    schema = {
        "type": "object",
        "properties": {key: {"type": value} for key, value in properties.items()},
        "required": list(required),
        "additionalProperties": False,
    }
    return ToolSpec(
        name,
        f"Does {name}.",
        schema,
        kind,
        lambda given: Sketch(f"{name} {given.get('path', '')}".strip()),
        read_only=read_only,
        polling=polling,
    )


READ = spec("read", ["path"], path="string", read_only=True)
WRITE = spec("write", ["path"], path="string", text="string", kind=ToolKind.EDIT)
POLL = spec("poll", polling=True, job="string")
PING = spec("ping")
TOOLS = (READ, WRITE, POLL, PING)


class Ids:
    """New ids in order: `msg_1`, `call_2`."""

    def __init__(self) -> None:
        self._count = itertools.count(1)

    def __call__(self, prefix: str) -> str:
        return f"{prefix}_{next(self._count)}"
