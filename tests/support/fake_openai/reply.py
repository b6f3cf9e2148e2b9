"""What a scripted reply is made of, and the deltas it turns into."""

import itertools
import json
from collections.abc import Iterator, Mapping
from typing import Any

from attrs import field, frozen

from support.fake_model.reply import pieces

_numbers = itertools.count(1)
Delta = Mapping[str, Any]


@frozen
class Say:
    """Text in `deltas` pieces, `delay` seconds after each."""

    text: str
    deltas: int = 1
    delay: float = 0.0


@frozen
class Think:
    """A thought; `fields` are the names it comes under, at once in all of them."""

    text: str
    fields: tuple[str, ...] = ("reasoning_content",)
    deltas: int = 1


@frozen
class Refuse:
    """The model's own refusal, as the API sends it."""

    text: str


@frozen
class Use:
    """A call whose arguments come in `cuts` pieces. `place` is its index (None: none is sent), `raw` is sent in place
    of the arguments' JSON, `whole` sends them as an object; `name_again` repeats id and name with every piece."""

    name: str
    input: Mapping[str, Any] = field(factory=dict)
    id: str = field(factory=lambda: f"call_{next(_numbers):08d}")
    place: int | None = 0
    raw: str | None = None
    cuts: int = 2
    whole: bool = False
    name_again: bool = False


@frozen
class Together:
    """Calls whose pieces come in turns."""

    calls: tuple[Use, ...]


@frozen
class Wait:
    seconds: float


@frozen
class Comments:
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
    """The body ends properly, without the rest of the chunks."""


@frozen
class ErrorChunk:
    """An error in the middle of the stream; `payload` is the whole chunk."""

    payload: Mapping[str, Any]


@frozen
class Raw:
    data: bytes


Piece = Say | Think | Refuse | Use | Together | Wait | Comments | Hang | Drop | Eof | ErrorChunk | Raw

USAGE = {
    "prompt_tokens": 100,
    "completion_tokens": 20,
    "total_tokens": 120,
    "prompt_tokens_details": {"cached_tokens": 0},
}


class Reply:
    """One answer. `usage` replaces the default; None leaves it out. `usage_with_end` puts it into the last chunk that
    has a choice, as some servers do.

    `finish` is the finish reason, told from the pieces by default; empty leaves it out. `done` sends [DONE]. `before`
    seconds pass before the head is sent; `cut` splits the stream into pieces of so many bytes; `body` is sent in place
    of a stream.
    """

    def __init__(
        self,
        *said: Piece,
        finish: str | None = None,
        usage: Mapping[str, Any] | None = USAGE,
        usage_with_end: bool = False,
        done: bool = True,
        before: float = 0.0,
        status: int = 200,
        error: object = None,
        headers: Mapping[str, str] | None = None,
        cut: int = 0,
        newline: str = "\n",
        content_type: str = "text/event-stream; charset=utf-8",
        body: bytes | None = None,
    ) -> None:
        self.pieces = said
        calls = any(isinstance(p, Use | Together) for p in said)
        self.finish = ("tool_calls" if calls else "stop") if finish is None else finish
        self.usage = usage
        self.usage_with_end = usage_with_end
        self.done = done
        self.before = before
        self.status = status
        self.error = {"message": "Internal error", "type": "server_error"} if error is None else error
        self.headers = dict(headers or {})
        self.cut = cut
        self.newline = newline
        self.content_type = content_type
        self.body = body


def deltas(piece: Piece) -> Iterator[Delta]:
    match piece:
        case Say(text=text, deltas=count):
            yield from ({"content": part} for part in pieces(text, count))
        case Think(text=text, fields=fields, deltas=count):
            yield from ({**dict.fromkeys(fields, part), "content": None} for part in pieces(text, count))
        case Refuse(text=text):
            yield {"refusal": text}
        case Use():
            yield from ({"tool_calls": [fragment]} for fragment in fragments(piece))
        case Together(calls=calls):
            rows = itertools.zip_longest(*(fragments(call) for call in calls))
            yield from ({"tool_calls": [fragment]} for row in rows for fragment in row if fragment)


def fragments(call: Use) -> Iterator[Delta]:
    text = (json.dumps(call.input) if call.input else "") if call.raw is None else call.raw
    place = {} if call.place is None else {"index": call.place}
    head = {**place, "id": call.id, "type": "function"} if call.id else {**place, "type": "function"}
    if call.whole:
        yield {**head, "function": {"name": call.name, "arguments": dict(call.input)}}
        return
    first, *rest = pieces(text, call.cuts) or [""]
    yield {**head, "function": {"name": call.name, "arguments": first}}
    for piece in rest:
        again = head if call.name_again else place
        yield {**again, "function": {**({"name": call.name} if call.name_again else {}), "arguments": piece}}
