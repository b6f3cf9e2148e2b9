"""Turns one reply of a script into the events that a provider would send."""

import itertools
import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from quillback.core.model import (
    BlockStopped,
    Failure,
    InputDelta,
    ProviderError,
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
from quillback.providers import failures
from quillback.providers.script import Call, Drop, Fail, RawCall, Response, Say, Think

_SIGNATURE = "c2NyaXB0ZWQ="


class ScriptPlayer:
    """One reply; it remembers which block is open. `numbers` make the ids of calls differ."""

    def __init__(self, script: str, variables: Mapping[str, str], numbers: Iterator[int]) -> None:
        self._script = script
        self._variables = variables
        self._numbers = numbers
        self._started = False
        self._index = -1
        self._open: type[Say] | type[Think] | None = None
        self._called = False

    def events(self, action: Say | Think | Call | RawCall, model: str) -> Iterator[ProviderEvent]:
        yield from self._start(model)
        match action:
            case Say() | Think():
                yield from self._words(action)
            case Call(name=name, input=given):
                yield from self._call(name, json.dumps(self._filled(given), ensure_ascii=False) if given else "")
            case RawCall(name=name, raw=raw):
                yield from self._call(name, raw)

    def end(self, response: Response, model: str) -> Iterator[ProviderEvent]:
        yield from self._start(model)
        yield from self._close()
        stop = response.stop or ("tool_use" if self._called else "end_turn")
        yield StreamStopping(stop, response.usage)
        yield StreamStopped()

    def failure(self, action: Fail | Drop) -> ProviderError:
        if isinstance(action, Drop):
            return ProviderError(Failure.INCOMPLETE, f"The script {self._script} drops the connection.")
        asked = {} if action.retry_after is None else {"retry-after": str(action.retry_after)}
        name = f"The script {self._script}"
        return failures.from_status(action.status, name, {"message": action.message}, asked, datetime.now(UTC))

    def _start(self, model: str) -> Iterator[ProviderEvent]:
        if not self._started:
            self._started = True
            yield StreamStarted(model)

    def _words(self, action: Say | Think) -> Iterator[ProviderEvent]:
        thought = isinstance(action, Think)
        if self._open is not type(action):
            yield from self._close()
            self._open, self._index = type(action), self._index + 1
            yield ThinkingStarted(self._index) if thought else TextStarted(self._index)
        text = self._filled(action.text)
        pieces = itertools.repeat(text, action.pieces) if action.pieces > 1 else re.findall(r"\S+\s*|\s+", text)
        for piece in pieces:
            yield ThinkingDelta(self._index, piece) if thought else TextDelta(self._index, piece)

    def _call(self, name: str, raw: str) -> Iterator[ProviderEvent]:
        yield from self._close()
        self._called, self._index = True, self._index + 1
        yield ToolUseStarted(self._index, f"toolu_script_{next(self._numbers)}", name)
        middle = len(raw) // 2
        for piece in (raw[:middle], raw[middle:]):
            if piece:
                yield InputDelta(self._index, piece)
        yield BlockStopped(self._index)

    def _close(self) -> Iterator[ProviderEvent]:
        if self._open is Think:
            yield SignatureDelta(self._index, _SIGNATURE)
        if self._open is not None:
            yield BlockStopped(self._index)
        self._open = None

    def _filled(self, value: Any) -> Any:  # noqa: ANN401 - any JSON value
        """`value` with its variables replaced, in every string of it; unknown ones stay."""
        if isinstance(value, str):
            return re.sub(r"\$\{(\w+)\}", lambda found: self._variables.get(found[1], found[0]), value)
        if isinstance(value, Mapping):
            return {key: self._filled(inner) for key, inner in value.items()}
        if isinstance(value, list):
            return [self._filled(inner) for inner in value]
        return value
