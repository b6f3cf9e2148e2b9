"""Asks the small model a question beside the session: its own messages, no tools, nothing stored."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, nullcontext

from attrs import frozen

from quillback.core.message import Text
from quillback.core.model import (
    Model,
    ModelRequest,
    ProviderError,
    RequestMessage,
    StreamStopped,
    StreamStopping,
    TextDelta,
    TextStarted,
    ToolUseStarted,
)
from quillback.core.ports import Provider
from quillback.core.side import SideModelError

SECONDS = 20.0
ANSWER_TOKENS = 1_024
WHOLE = ("end_turn", "stop_sequence")


@frozen
class SmallModel:
    """Implements the SideModel port. `model` and `provider` are looked up for each question."""

    model: Callable[[], Model]
    provider: Callable[[Model], Provider]
    seconds: float = SECONDS

    async def ask(self, system: str, user: str) -> str:
        try:
            async with asyncio.timeout(self.seconds):
                return await self._ask(system, user)
        except TimeoutError:
            raise SideModelError(f"no answer within {self.seconds:g} seconds") from None
        except ProviderError as error:
            raise SideModelError(error.message) from None

    async def _ask(self, system: str, user: str) -> str:
        model = self.model()
        request = ModelRequest(
            model=model,
            system=system,
            messages=(RequestMessage("user", (Text(user),)),),
            max_tokens=min(ANSWER_TOKENS, model.max_output),
            side=True,
        )
        texts: list[str] = []
        stop, stopped = "", False
        stream = self.provider(model).stream(request)
        async with aclosing(stream) if isinstance(stream, AsyncGenerator) else nullcontext():
            async for event in stream:
                match event:
                    case TextStarted(text=text) | TextDelta(text=text):
                        texts.append(text)
                    case ToolUseStarted():
                        raise SideModelError("it called a tool instead of answering")
                    case StreamStopping(stop_reason=reason):
                        stop = reason
                    case StreamStopped():
                        stopped = True
                    case _:
                        pass
        if not stopped or stop not in WHOLE:
            raise SideModelError(f"its answer is not whole ({stop or 'no stop reason'})")
        return "".join(texts)
