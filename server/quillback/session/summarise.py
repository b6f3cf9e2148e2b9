"""Has a model summarise a conversation: shorter and shorter pieces of it until it fits, with the usual tries."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing, nullcontext

from attrs import frozen

from quillback.core.compaction import SummaryRequest, requests
from quillback.core.message import Text, Usage
from quillback.core.model import (
    Failure,
    Model,
    ModelRequest,
    ProviderError,
    RequestMessage,
    StreamStarted,
    StreamStopping,
    TextDelta,
    TextStarted,
)
from quillback.core.ports import Provider
from quillback.core.retry import delay
from quillback.core.turn_types import Compact, Compacted, CompactionFailed
from quillback.core.usage import cost

SUMMARY_TOKENS = 8_000
SHARE_OF_WINDOW = 0.7
TOO_LONG = (Failure.CONTEXT_LENGTH, Failure.TOO_LARGE)
NOTHING = "there is nothing to summarise."
EMPTY = "the model that summarises sent an empty answer."
NEVER_FITS = "even the shortest form of the conversation is too long for the model that summarises."


@frozen
class Summariser:
    """`models` are asked in order: the next one where one cannot be used at all."""

    models: Sequence[Model]
    provider: Callable[[Model], Provider]
    jitter: Callable[[], float]

    async def summarise(self, asked: Compact) -> Compacted | CompactionFailed:
        """Never raises for what a model's service does."""
        failed = CompactionFailed(NOTHING)
        spent = 0.0
        for model in self.models:
            try:
                text, price = await self._with(model, asked)
            except ProviderError as error:
                failed = CompactionFailed(error.message, spent)
                continue
            spent += price
            if text.strip():
                return Compacted(text, spent)
            failed = CompactionFailed(EMPTY, spent)
        return failed

    async def _with(self, model: Model, asked: Compact) -> tuple[str, float]:
        """The summary and its cost. Raises ProviderError."""
        room = int(model.context_window * SHARE_OF_WINDOW)
        for request in requests(asked.history, asked.focus, room):
            try:
                return await self._try(model, request)
            except ProviderError as error:
                if error.failure not in TOO_LONG:
                    raise
        raise ProviderError(Failure.CONTEXT_LENGTH, NEVER_FITS)

    async def _try(self, model: Model, request: SummaryRequest) -> tuple[str, float]:
        attempt = 1
        while True:
            try:
                return await self._stream(model, request)
            except ProviderError as error:
                seconds = delay(attempt, error, self.jitter())
                if seconds is None:
                    raise
            attempt += 1
            await asyncio.sleep(seconds)

    async def _stream(self, model: Model, request: SummaryRequest) -> tuple[str, float]:
        asked = ModelRequest(
            model=model,
            system=request.system,
            messages=(RequestMessage("user", (Text(request.user),)),),
            max_tokens=min(SUMMARY_TOKENS, model.max_output),
            side=True,
        )
        texts: list[str] = []
        usage, stopped = Usage(), False
        stream = self.provider(model).stream(asked)
        async with aclosing(stream) if isinstance(stream, AsyncGenerator) else nullcontext():
            async for event in stream:
                match event:
                    case TextStarted(text=text) | TextDelta(text=text):
                        texts.append(text)
                    case StreamStarted(usage=Usage() as said):
                        usage = said
                    case StreamStopping(usage=said):
                        usage, stopped = said or usage, True
                    case _:
                        pass
        if not stopped:
            raise ProviderError(Failure.INCOMPLETE, "The summary ended before it was complete.")
        return "".join(texts), cost(model, usage)
