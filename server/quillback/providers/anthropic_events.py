"""The Messages API's stream events as provider events; whatever it does not know, it passes over."""

from collections.abc import Iterable, Mapping

from quillback.core.message import JsonObject, Usage
from quillback.core.model import (
    BlockStopped,
    InputDelta,
    ProviderEvent,
    RedactedStarted,
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

_COUNTS = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
_NOTHING: JsonObject = {}

MOST_TOKENS = 2**53
"""No honest count is larger, and larger ones cannot be multiplied by a price."""


class EventReader:
    """One reply. `stopped` is set by message_stop; `stop_reason` stays empty until the provider gave one."""

    def __init__(self) -> None:
        self.stopped = False
        self.stop_reason = ""
        self._explanation = ""
        self._counts: dict[str, int] = {}
        self._open: dict[int, str] = {}

    def read(self, event: JsonObject, kind: str) -> Iterable[ProviderEvent]:
        """The provider events that one event of the stream stands for, if any."""
        match kind:
            case "content_block_delta":
                return self._delta(event)
            case "content_block_start":
                return self._start(event)
            case "content_block_stop":
                index = _index(event)
                return (BlockStopped(index),) if self._open.pop(index, None) else ()
            case "message_start":
                message = _object(event, "message")
                self._count(message)
                return (StreamStarted(_text(message, "model"), self._usage()),)
            case "message_delta":
                self._ending(event)
                return ()
            case "message_stop":
                self.stopped = True
                if not self.stop_reason:
                    return ()
                return (StreamStopping(self.stop_reason, self._usage(), self._explanation), StreamStopped())
            case _:
                return ()

    def _delta(self, event: JsonObject) -> Iterable[ProviderEvent]:
        index = _index(event)
        delta = _object(event, "delta")
        match self._open.get(index), delta.get("type"):
            case "text", "text_delta":
                text = _text(delta, "text")
                return (TextDelta(index, text),) if text else ()
            case "thinking", "thinking_delta":
                text = _text(delta, "thinking")
                return (ThinkingDelta(index, text),) if text else ()
            case "thinking", "signature_delta":
                return (SignatureDelta(index, _text(delta, "signature")),)
            case "tool_use", "input_json_delta":
                text = _text(delta, "partial_json")
                return (InputDelta(index, text),) if text else ()
            case _:
                return ()

    def _start(self, event: JsonObject) -> Iterable[ProviderEvent]:
        index, block = _index(event), _object(event, "content_block")
        started = _started(index, block)
        if started is None:
            self._open.pop(index, None)
            return ()
        self._open[index] = block["type"]
        return (started,)

    def _ending(self, event: JsonObject) -> None:
        self._count(event)
        delta = _object(event, "delta")
        self.stop_reason = _text(delta, "stop_reason") or self.stop_reason
        details = _object(delta, "stop_details")
        self._explanation = _text(details, "explanation") or _text(details, "category") or self._explanation

    def _count(self, holder: JsonObject) -> None:
        """Counts are cumulative; servers that know a count late send 0 first, some send 0 again at the end."""
        usage = _object(holder, "usage")
        for name in _COUNTS:
            value = usage.get(name)
            if isinstance(value, int) and not isinstance(value, bool) and value > 0:
                self._counts[name] = min(value, MOST_TOKENS)

    def _usage(self) -> Usage | None:
        if not self._counts:
            return None
        sent, received, read, created = (self._counts.get(name, 0) for name in _COUNTS)
        return Usage(sent, received, read, created)


def _started(index: int, block: JsonObject) -> ProviderEvent | None:
    match block.get("type"):
        case "text":
            return TextStarted(index, _text(block, "text"))
        case "thinking":
            return ThinkingStarted(index, _text(block, "thinking"), _text(block, "signature"))
        case "redacted_thinking":
            return RedactedStarted(index, _text(block, "data"))
        case "tool_use":
            return ToolUseStarted(index, _text(block, "id"), _text(block, "name"), _object(block, "input") or None)
        case _:
            return None


def _index(event: JsonObject) -> int:
    value = event.get("index")
    return value if isinstance(value, int) else -1


def _text(holder: JsonObject, key: str) -> str:
    value = holder.get(key)
    return value if isinstance(value, str) else ""


def _object(holder: JsonObject, key: str) -> JsonObject:
    value = holder.get(key)
    return value if isinstance(value, Mapping) else _NOTHING
