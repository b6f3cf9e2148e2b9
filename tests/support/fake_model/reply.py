"""What a scripted reply is made of, and the stream events it turns into."""

import itertools
import json
from collections.abc import Iterator, Mapping
from typing import Any

from attrs import field, frozen

_numbers = itertools.count(1)


@frozen
class Say:
    """A text block in `deltas` pieces, `delay` seconds after each."""

    text: str
    deltas: int = 1
    delay: float = 0.0


@frozen
class Think:
    text: str
    signature: str = field(factory=lambda: f"c2lnbmF0dXJl{next(_numbers):06d}==")
    deltas: int = 1


@frozen
class Redacted:
    data: str


@frozen
class Use:
    """A tool call; `raw` is sent in place of the input's JSON, in `cuts` pieces; `at_once` puts it in the start."""

    name: str
    input: Mapping[str, Any] = field(factory=dict)
    id: str = field(factory=lambda: f"toolu_{next(_numbers):08d}")
    raw: str | None = None
    cuts: int = 2
    at_once: bool = False


@frozen
class Open:
    """A block without its end, as in a reply that was cut."""

    block: Say | Think | Use


@frozen
class Wait:
    seconds: float


@frozen
class Pings:
    count: int
    every: float


@frozen
class Hang:
    """Silence with an open connection."""


@frozen
class Drop:
    """The connection ends in the middle of the body."""


@frozen
class Eof:
    """The body ends properly, without the rest of the events."""


@frozen
class ErrorEvent:
    type: str = "overloaded_error"
    message: str = "Overloaded"


@frozen
class Raw:
    """Bytes of the stream as they are."""

    data: bytes


Block = Say | Think | Redacted | Use
Piece = Block | Open | Wait | Pings | Hang | Drop | Eof | ErrorEvent | Raw
Event = Mapping[str, Any]

USAGE = {"input_tokens": 100, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 20}


class Reply:
    """One answer. `usage` is merged into a default; None leaves usage out everywhere.

    `before` seconds pass before the head is sent; `cut` splits the stream into pieces of that many bytes; `newline` is
    the stream's line end; without `event_names` there are no `event:` lines; `body` is sent in place of a stream.
    """

    def __init__(
        self,
        *pieces: Piece,
        stop: str | None = None,
        usage: Mapping[str, Any] | None = USAGE,
        before: float = 0.0,
        status: int = 200,
        error: tuple[str, str] = ("api_error", "Internal server error"),
        headers: Mapping[str, str] | None = None,
        cut: int = 0,
        newline: str = "\n",
        event_names: bool = True,
        message_stop: bool = True,
        content_type: str = "text/event-stream; charset=utf-8",
        stop_details: Mapping[str, Any] | None = None,
        body: bytes | None = None,
    ) -> None:
        self.pieces = pieces
        calls = any(isinstance(p, Use) or (isinstance(p, Open) and isinstance(p.block, Use)) for p in pieces)
        self.stop = stop or ("tool_use" if calls else "end_turn")
        self.usage = None if usage is None else {**USAGE, **usage}
        self.before = before
        self.status = status
        self.error = error
        self.headers = dict(headers or {})
        self.cut = cut
        self.newline = newline
        self.event_names = event_names
        self.message_stop = message_stop
        self.content_type = content_type
        self.stop_details = stop_details
        self.body = body

    def blocks(self) -> list[Block]:
        """The content blocks of the reply, in order."""
        found = [p.block if isinstance(p, Open) else p for p in self.pieces]
        return [p for p in found if isinstance(p, Block)]

    def head(self, model: str) -> Event:
        message = {"id": f"msg_{next(_numbers):08d}", "type": "message", "role": "assistant", "model": model}
        message |= {"content": [], "stop_reason": None, "stop_sequence": None}
        if self.usage is not None:
            message["usage"] = {**self.usage, "output_tokens": 1}
        return {"type": "message_start", "message": message}

    def tail(self) -> list[Event]:
        delta = {"stop_reason": self.stop, "stop_sequence": None}
        if self.stop_details is not None:
            delta["stop_details"] = self.stop_details
        event: dict[str, Any] = {"type": "message_delta", "delta": delta}
        if self.usage is not None:
            event["usage"] = {"output_tokens": self.usage["output_tokens"]}
        return [event, {"type": "message_stop"}] if self.message_stop else [event]


def block_events(index: int, block: Block) -> Iterator[Event]:
    """The events of a block without its end."""
    match block:
        case Say(text=text, deltas=deltas):
            yield _start(index, {"type": "text", "text": ""})
            yield from (_delta(index, "text_delta", "text", piece) for piece in pieces(text, deltas))
        case Think(text=text, signature=signature, deltas=deltas):
            yield _start(index, {"type": "thinking", "thinking": "", "signature": ""})
            yield from (_delta(index, "thinking_delta", "thinking", piece) for piece in pieces(text, deltas))
            yield _delta(index, "signature_delta", "signature", signature)
        case Redacted(data=data):
            yield _start(index, {"type": "redacted_thinking", "data": data})
        case Use(name=name, input=given, id=id_, raw=raw, cuts=cuts, at_once=at_once):
            start = {"type": "tool_use", "id": id_, "name": name, "input": given if at_once else {}}
            yield _start(index, start)
            text = (json.dumps(given) if given and not at_once else "") if raw is None else raw
            for piece in pieces(text, cuts) or [""]:
                yield _delta(index, "input_json_delta", "partial_json", piece)


def pieces(text: str, count: int) -> list[str]:
    size = max(1, -(-len(text) // max(1, count)))
    return [text[at : at + size] for at in range(0, len(text), size)]


def _start(index: int, block: Mapping[str, Any]) -> Event:
    return {"type": "content_block_start", "index": index, "content_block": block}


def _delta(index: int, kind: str, key: str, value: str) -> Event:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, key: value}}
