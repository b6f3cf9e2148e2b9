"""The chunks of a chat completions stream as provider events; whatever it does not know, it passes over."""

import json
from collections.abc import Iterator, Mapping

from attrs import define

from quillback.core.message import JsonObject, Usage
from quillback.core.model import (
    BlockStopped,
    InputDelta,
    ProviderEvent,
    SignatureDelta,
    StreamStarted,
    StreamStopped,
    StreamStopping,
    TextDelta,
    TextStarted,
    ThinkingDelta,
    ThinkingStarted,
    ToolUseStarted,
)
from quillback.providers.openai_dialect import THOUGHT_FIELDS

MOST_TOKENS = 2**53
_REASONS = {
    "stop": "end_turn",
    "length": "max_tokens",
    "model_length": "max_tokens",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "content_filter": "refusal",
}
_NOTHING: JsonObject = {}


@define
class _Call:
    """A call as far as it came. `index` is ours, -1 until its name is known; `place` is the server's own count."""

    place: int | None
    id: str
    name: str = ""
    index: int = -1
    arguments: str = ""
    open: bool = True


class ChunkReader:
    """One reply. `finish_reason` is the server's own word, empty until it came; after it only counts may follow."""

    def __init__(self) -> None:
        self.finish_reason = ""
        self._started = False
        self._next = 0
        self._run: tuple[str, int] | None = None  # the field and the index of the text or thought that is open
        self._calls: list[_Call] = []
        self._refused = ""
        self._usage: Usage | None = None

    def read(self, chunk: JsonObject) -> Iterator[ProviderEvent]:
        """The provider events that one chunk stands for."""
        if not self._started:
            self._started = True
            yield StreamStarted(_text(chunk, "model"))
        self._usage = _usage(_object(chunk, "usage")) or self._usage
        choice = _choice(chunk)
        delta = _object(choice, "delta")
        field = next((name for name in THOUGHT_FIELDS if _text(delta, name)), "")
        if field:
            yield from self._grow(field, _text(delta, field))
        if text := _text(delta, "content"):
            yield from self._grow("content", text)
        if refusal := _text(delta, "refusal"):
            self._refused += refusal
            yield from self._grow("content", refusal)
        calls = delta.get("tool_calls")
        for fragment in calls if isinstance(calls, list) else ():
            if isinstance(fragment, Mapping):
                yield from self._fragment(fragment)
        self._usage = _usage(_object(choice, "usage")) or self._usage
        self.finish_reason = _text(choice, "finish_reason") or self.finish_reason

    def end(self) -> Iterator[ProviderEvent]:
        """What closes a reply that is whole."""
        yield from self._end_run()
        for call in self._calls:
            if call.index < 0:
                yield from self._begin(call)
            yield from self._close(call)
        yield StreamStopping(self._stop_reason(), self._usage, self._refused)
        yield StreamStopped()

    def _stop_reason(self) -> str:
        reason = _REASONS.get(self.finish_reason, self.finish_reason)
        if self._calls and reason == "end_turn":
            return "tool_use"
        return "refusal" if self._refused else reason

    # ------------------------------------------------------------ text and thoughts

    def _grow(self, field: str, text: str) -> Iterator[ProviderEvent]:
        thought = field in THOUGHT_FIELDS
        if self._run is None or self._run[0] != field:
            yield from self._end_run()
            self._run = (field, self._take())
            yield ThinkingStarted(self._run[1]) if thought else TextStarted(self._run[1])
        index = self._run[1]
        yield ThinkingDelta(index, text) if thought else TextDelta(index, text)

    def _end_run(self) -> Iterator[ProviderEvent]:
        if self._run is None:
            return
        (field, index), self._run = self._run, None
        if field in THOUGHT_FIELDS:
            yield SignatureDelta(index, field)  # says under which name it goes back; see openai_wire
        yield BlockStopped(index)

    # ------------------------------------------------------------ calls

    def _fragment(self, fragment: JsonObject) -> Iterator[ProviderEvent]:
        function = _object(fragment, "function")
        name = _text(function, "name")
        call = self._of(fragment, name)
        if call is None:
            yield from self._end_run()
            yield from self._close_whole()
            call = _Call(_place(fragment), _text(fragment, "id"))
            self._calls.append(call)
        call.id = call.id or _text(fragment, "id")
        if call.index < 0 and name:
            call.name = name
            yield from self._begin(call)
        given = function.get("arguments")
        piece = given if isinstance(given, str) else "" if given is None else json.dumps(given, ensure_ascii=False)
        if piece:
            call.arguments += piece
            if call.index >= 0 and call.open:
                yield InputDelta(call.index, piece)

    def _of(self, fragment: JsonObject, name: str) -> _Call | None:
        """The call that a fragment goes on with. Some servers count all calls as 0, or do not count at all."""
        place, id_ = _place(fragment), _text(fragment, "id")
        call = next((c for c in reversed(self._calls) if place is None or c.place == place), None)
        if call is None or (id_ and call.id and id_ != call.id):
            return None
        named_again = bool(name and call.name) and not (id_ and id_ == call.id)
        return None if named_again and (place is None or _is_whole(call.arguments)) else call

    def _begin(self, call: _Call) -> Iterator[ProviderEvent]:
        call.index = self._take()
        yield ToolUseStarted(call.index, call.id or f"call_{call.index}", call.name)
        if call.arguments:
            yield InputDelta(call.index, call.arguments)

    def _close_whole(self) -> Iterator[ProviderEvent]:
        """Calls whose input is complete may be carried out before the next one has come."""
        for call in self._calls:
            if call.open and call.index >= 0 and _is_whole(call.arguments):
                yield from self._close(call)

    def _close(self, call: _Call) -> Iterator[ProviderEvent]:
        if call.open:
            call.open = False
            yield BlockStopped(call.index)

    def _take(self) -> int:
        index, self._next = self._next, self._next + 1
        return index


def _is_whole(arguments: str) -> bool:
    try:
        return isinstance(json.loads(arguments), dict)
    except (ValueError, RecursionError):
        return False


def _usage(counts: JsonObject) -> Usage | None:
    """Prompt tokens include those of the cache; two services name these in ways of their own."""
    sent, received = _count(counts, "prompt_tokens"), _count(counts, "completion_tokens")
    if not sent and not received:
        return None
    details = _object(counts, "prompt_tokens_details")
    read = min(sent, _count(details, "cached_tokens") or _count(counts, "prompt_cache_hit_tokens"))
    written = min(sent - read, _count(details, "cache_write_tokens"))
    return Usage(sent - read - written, received, read, written)


def _count(holder: JsonObject, key: str) -> int:
    value = holder.get(key)
    return min(value, MOST_TOKENS) if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def _choice(chunk: JsonObject) -> JsonObject:
    """The first choice; we ask for no other."""
    choices = chunk.get("choices")
    for choice in choices if isinstance(choices, list) else ():
        if isinstance(choice, Mapping) and choice.get("index") in (0, None):
            return choice
    return _NOTHING


def _place(fragment: JsonObject) -> int | None:
    value = fragment.get("index")
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _text(holder: JsonObject, key: str) -> str:
    value = holder.get(key)
    return value if isinstance(value, str) else ""


def _object(holder: JsonObject, key: str) -> JsonObject:
    value = holder.get(key)
    return value if isinstance(value, Mapping) else _NOTHING
