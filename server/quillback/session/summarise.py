"""Has a model summarise a conversation: shorter and shorter pieces of it until it fits, with the usual tries."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing, nullcontext

from attrs import define, frozen

from quillback.core.compaction import SummaryRequest, requests
from quillback.core.message import NO_USAGE, Text, Usage
from quillback.core.model import Failure, Model, ModelRequest, ProviderError, RequestMessage
from quillback.core.ports import Provider
from quillback.core.retry import delay
from quillback.core.side import SideModelError
from quillback.core.turn_types import Compact, Compacted, CompactionFailed
from quillback.session.side import WholeReply

SUMMARY_TOKENS = 8_000
SUMMARY_LIMIT = 60_000
"""Characters; a summary of more has not understood what it is for."""

SHARE_OF_WINDOW = 0.7
TRIES = 2
SECONDS = 120.0
TOO_LONG = (Failure.CONTEXT_LENGTH, Failure.TOO_LARGE)
NOTHING = "there is nothing to summarise."
NEVER_FITS = "even the shortest form of the conversation is too long for the model that summarises."


@define
class Spent:
    """US dollars and tokens so far."""

    cost: float = 0.0
    usage: Usage = NO_USAGE


@frozen
class Summariser:
    """`models` are asked in order: the next one where one gives no summary. `seconds` is for all of it."""

    models: Sequence[Model]
    provider: Callable[[Model], Provider]
    jitter: Callable[[], float]
    seconds: float = SECONDS

    async def summarise(self, asked: Compact) -> Compacted | CompactionFailed:
        """Never raises for what a model's service does, and takes no longer than SECONDS."""
        spent = Spent()
        try:
            async with asyncio.timeout(self.seconds):
                return await self._any(asked, spent)
        except TimeoutError:
            return CompactionFailed(f"no summary came within {self.seconds:g} seconds.", spent.cost, spent.usage)

    async def _any(self, asked: Compact, spent: Spent) -> Compacted | CompactionFailed:
        why = NOTHING
        for model in self.models:
            try:
                text = await self._with(model, asked, spent)
            except ProviderError as error:
                why = error.message
            except SideModelError as error:
                why = f"{model.name}: {error}."
            else:
                return Compacted(text, spent.cost, spent.usage)
        return CompactionFailed(why, spent.cost, spent.usage)

    async def _with(self, model: Model, asked: Compact, spent: Spent) -> str:
        """The summary. Raises ProviderError, SideModelError."""
        room = int(model.context_window * SHARE_OF_WINDOW)
        for request in requests(asked.history, asked.focus, room):
            try:
                return await self._try(model, request, spent)
            except ProviderError as error:
                if error.failure not in TOO_LONG:
                    raise
        raise ProviderError(Failure.CONTEXT_LENGTH, NEVER_FITS)

    async def _try(self, model: Model, request: SummaryRequest, spent: Spent) -> str:
        attempt = 1
        while True:
            try:
                return await self._stream(model, request, spent)
            except ProviderError as error:
                seconds = delay(attempt, error, self.jitter())
                if seconds is None or attempt >= TRIES:
                    raise
            attempt += 1
            await asyncio.sleep(seconds)

    async def _stream(self, model: Model, request: SummaryRequest, spent: Spent) -> str:
        asked = ModelRequest(
            model=model,
            system=request.system,
            messages=(RequestMessage("user", (Text(request.user),)),),
            max_tokens=min(SUMMARY_TOKENS, model.max_output),
            side=True,
        )
        reply = WholeReply()
        stream = self.provider(model).stream(asked)
        try:
            async with aclosing(stream) if isinstance(stream, AsyncGenerator) else nullcontext():
                async for event in stream:
                    reply.take(event)
                    if reply.size > SUMMARY_LIMIT:
                        raise SideModelError("its summary is too long")
        finally:
            spent.cost += reply.cost(model)
            spent.usage += reply.usage or NO_USAGE
        reply.check()
        text = "".join(reply.texts).strip()
        if not text:
            raise SideModelError("its answer is empty")
        return text
