"""Takes a provider's events in the lumps in which they arrived, so that deltas of one read are one chunk."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, nullcontext

from quillback.core.model import ProviderEvent

AHEAD = 4096


async def batches(stream: AsyncIterator[ProviderEvent]) -> AsyncGenerator[list[ProviderEvent], None]:
    """Lists of events that were there at the same time. Closing it ends the stream."""
    arrived: list[ProviderEvent] = []
    changed = asyncio.Event()
    taken = asyncio.Event()

    async def pump() -> None:
        try:
            async with aclosing(stream) if isinstance(stream, AsyncGenerator) else nullcontext():
                async for event in stream:
                    arrived.append(event)
                    changed.set()
                    if len(arrived) >= AHEAD:
                        taken.clear()
                        await taken.wait()
        finally:
            changed.set()

    reader = asyncio.ensure_future(pump())
    try:
        while not (reader.done() and not arrived):
            if not arrived:
                changed.clear()
                await changed.wait()
                continue
            batch, arrived = arrived, []
            taken.set()
            yield batch
        reader.result()
    finally:
        if not reader.done():
            reader.cancel()
            await asyncio.wait({reader})
        if not reader.cancelled():
            reader.exception()  # nobody is left to hear of it
