"""Asks the small model a question beside the session: its own messages, no tools, nothing stored."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, nullcontext

from attrs import define, field, frozen

from quillback.core.message import Text, Usage
from quillback.core.model import (
    Model,
    ModelRequest,
    ProviderError,
    ProviderEvent,
    RequestMessage,
    StreamStarted,
    StreamStopped,
    StreamStopping,
    TextDelta,
    TextStarted,
    ToolUseStarted,
)
from quillback.core.ports import Provider
from quillback.core.side import SideModelError
from quillback.core.usage import cost

SECONDS = 20.0
ANSWER_TOKENS = 1_024
WHOLE = ("end_turn", "stop_sequence")


@frozen
class SideAnswer:
    """`cost` is US dollars."""

    text: str
    cost: float


@frozen
class SmallModel:
    """Implements the SideModel port. `model` and `provider` are looked up for each question."""

    model: Callable[[], Model]
    provider: Callable[[Model], Provider]
    seconds: float = SECONDS

    async def ask(self, system: str, user: str) -> str:
        return (await self.answer(system, user)).text

    async def answer(self, system: str, user: str) -> SideAnswer:
        """Like `ask`, with what it cost. Raises SideModelError, which has the cost too."""
        model = self.model()
        reply = WholeReply()
        try:
            async with asyncio.timeout(self.seconds):
                await self._read(model, system, user, reply)
            reply.check()
        except TimeoutError:
            raise SideModelError(f"no answer within {self.seconds:g} seconds", reply.cost(model)) from None
        except ProviderError as error:
            raise SideModelError(error.message, reply.cost(model)) from None
        except SideModelError as error:
            error.cost = reply.cost(model)
            raise
        return SideAnswer("".join(reply.texts), reply.cost(model))

    async def _read(self, model: Model, system: str, user: str, reply: "WholeReply") -> None:
        request = ModelRequest(
            model=model,
            system=system,
            messages=(RequestMessage("user", (Text(user),)),),
            max_tokens=min(ANSWER_TOKENS, model.max_output),
            side=True,
        )
        stream = self.provider(model).stream(request)
        async with aclosing(stream) if isinstance(stream, AsyncGenerator) else nullcontext():
            async for event in stream:
                reply.take(event)


@define
class WholeReply:
    """An answer as it comes: text alone, to its own end."""

    texts: list[str] = field(factory=list)
    stop: str = ""
    stopped: bool = False
    usage: Usage | None = None
    _size: int = 0

    def take(self, event: ProviderEvent) -> None:
        match event:
            case StreamStarted(usage=usage):
                self.usage = usage
            case TextStarted(text=text) | TextDelta(text=text):
                self.texts.append(text)
                self._size += len(text)
            case ToolUseStarted():
                raise SideModelError("it called a tool instead of answering")
            case StreamStopping(stop_reason=reason, usage=usage):
                self.stop = reason
                self.usage = usage or self.usage
            case StreamStopped():
                self.stopped = True
            case _:
                pass

    @property
    def size(self) -> int:
        """Characters so far."""
        return self._size

    def check(self) -> None:
        if not self.stopped or self.stop not in WHOLE:
            raise SideModelError(f"its answer is not whole ({self.stop or 'no stop reason'})")

    def cost(self, model: Model) -> float:
        """As far as the service has said what it took."""
        return cost(model, self.usage) if self.usage is not None else 0.0
