"""The model of a recorded session: it gives the replies again that it gave then."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator

from attrs import frozen

from quillback.core.message import Message, MessageState, Part, RedactedThinking, Text, Thinking, ToolUse
from quillback.core.model import (
    BlockStopped,
    Failure,
    InputDelta,
    ModelRequest,
    ProviderError,
    ProviderEvent,
    RedactedStarted,
    StreamStarted,
    StreamStopped,
    StreamStopping,
    TextDelta,
    TextStarted,
    ThinkingStarted,
    ToolUseStarted,
)
from quillback.core.turn_types import Steered
from quillback.transcripts.replay_record import by_cancel
from quillback.transcripts.replay_spans import DECLINED
from quillback.transcripts.replay_stage import Stage

ENDED = "The recorded reply ended here."
NO_MORE = "the loop asks the model once more than the record has replies"


@frozen
class PlayedModel:
    """Implements the Provider port."""

    stage: Stage

    async def stream(self, request: ModelRequest) -> AsyncIterator[ProviderEvent]:
        stage = self.stage
        if request.side:
            for event in _summary(stage.record.summary()):
                yield event
            return
        if stage.empty:
            stage.empty -= 1
            for event in _end("end_turn"):
                yield event
            return
        reply = stage.record.next_reply()
        if reply is None:
            for event in _without(stage):
                yield event
            return
        yield StreamStarted(reply.model, reply.usage if reply.state is MessageState.INTERRUPTED else None)
        for index, part in enumerate(reply.parts):
            for event in _events(index, part, reply):
                yield event
        if reply.state is MessageState.INTERRUPTED:
            await self._break_off(reply)
        waiting = {message.id for message in stage.running.turn.steers}
        for message in stage.record.steers():
            if message.id not in waiting:
                stage.running.feed(Steered(message))
        yield StreamStopping(reply.finish_reason, reply.usage)
        yield StreamStopped()

    async def close(self) -> None:
        pass

    async def _break_off(self, reply: Message) -> None:
        """Raises ProviderError, or is cancelled."""
        stage = self.stage
        if not any(by_cancel(result) for result in stage.record.results()):
            raise ProviderError(Failure.INVALID, ENDED)
        await stage.until(lambda: _grown(stage.running.turn.streaming, reply))
        asyncio.get_running_loop().call_soon(lambda: stage.end(cancel=True))
        await asyncio.Event().wait()


def _grown(message: Message | None, reply: Message) -> bool:
    """Whether all of the reply has arrived, as far as it came."""
    return message is not None and [_extent(p) for p in message.parts] == [_extent(p) for p in reply.parts]


def _extent(part: Part) -> object:
    match part:
        case Text(text=text) | Thinking(text=text):
            return text
        case ToolUse(raw=raw, name=name):
            return (name, raw)
        case _:
            return type(part)


def _events(index: int, part: Part, reply: Message) -> Iterator[ProviderEvent]:
    match part:
        case Text(text=text):
            yield TextStarted(index)
            yield TextDelta(index, text)
        case Thinking(text=text, signature=signature):
            yield ThinkingStarted(index, text, signature)
        case RedactedThinking(data=data):
            yield RedactedStarted(index, data)
        case ToolUse():
            yield ToolUseStarted(index, part.provider_id, part.name)
            if raw := part.raw or (json.dumps(part.input, ensure_ascii=False) if part.input else ""):
                yield InputDelta(index, raw)
        case _:
            return
    cut = isinstance(part, ToolUse) and bool(part.problem) and reply.finish_reason == "max_tokens"
    if index < len(reply.parts) - 1 or not (cut or reply.state is MessageState.INTERRUPTED):
        yield BlockStopped(index)


def _without(stage: Stage) -> Iterator[ProviderEvent]:
    """A request for which no reply is stored: it was declined, or there was none."""
    if stage.span.declined:
        told = next(m.text() for m in stage.span.made if m.text().startswith(DECLINED))
        why = told.removeprefix(DECLINED).removeprefix(": ").partition(". This prompt")[0]
        yield StreamStarted("")
        yield StreamStopping("refusal", None, "" if why.startswith(".") else why)
        yield StreamStopped()
        return
    stage.record.trouble = NO_MORE
    raise ProviderError(Failure.INVALID, NO_MORE)


def _summary(text: str) -> Iterator[ProviderEvent]:
    if not text:
        raise ProviderError(Failure.INVALID, "there is no recorded summary")
    yield StreamStarted("")
    yield from (TextStarted(0), TextDelta(0, text), BlockStopped(0))
    yield from _end("end_turn")


def _end(reason: str) -> Iterator[ProviderEvent]:
    yield StreamStopping(reason)
    yield StreamStopped()
