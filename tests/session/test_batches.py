import asyncio
import gc
from contextlib import aclosing

import pytest

from quillback.core.model import Failure, ProviderError, TextDelta
from quillback.session.batches import AHEAD, batches
from support.fakes import Gate, until

pytestmark = pytest.mark.anyio


class Source:
    """A stream of numbered deltas with gates between; knows whether it was closed."""

    def __init__(self, *items) -> None:
        self.items = items
        self.sent = 0
        self.closed = False

    async def __call__(self):
        try:
            for item in self.items:
                if isinstance(item, Gate):
                    await item()
                elif isinstance(item, BaseException):
                    raise item
                else:
                    self.sent += 1
                    yield TextDelta(0, str(item))
        finally:
            self.closed = True


async def texts(source: Source) -> list[str]:
    async with aclosing(batches(source())) as arriving:
        return ["".join(e.text for e in batch) async for batch in arriving]


async def test_what_arrives_together_comes_together():
    gate = Gate()
    gate.open()
    assert await texts(Source(1, 2, 3)) == ["123"]
    assert await texts(Source()) == []


async def test_what_arrives_later_comes_later():
    gate = Gate()
    source, got = Source(1, 2, gate, 3, 4), []

    async def take() -> None:
        async with aclosing(batches(source())) as arriving:
            async for batch in arriving:
                got.append([e.text for e in batch])

    taker = asyncio.ensure_future(take())
    await gate.wait()
    await until(lambda: got)
    assert got == [["1", "2"]]
    gate.open()
    await taker
    assert got == [["1", "2"], ["3", "4"]]
    assert source.closed


async def test_a_slow_taker_is_not_outrun_without_limit():
    source = Source(*range(3 * AHEAD))
    async with aclosing(batches(source())) as arriving:
        first = await anext(arriving)
        assert len(first) == AHEAD
        for _ in range(10):
            await asyncio.sleep(0)
        assert source.sent <= 2 * AHEAD
        rest = [len(batch) async for batch in arriving]
    assert sum(rest) == 2 * AHEAD


async def test_a_failure_comes_after_what_arrived_before_it():
    error = ProviderError(Failure.OVERLOADED, "busy")
    source, got = Source(1, 2, error), []

    async def take() -> None:
        async with aclosing(batches(source())) as arriving:
            async for batch in arriving:
                got.extend(e.text for e in batch)

    with pytest.raises(ProviderError) as caught:
        await take()
    assert caught.value is error
    assert got == ["1", "2"]
    assert source.closed


async def test_whoever_stops_taking_closes_the_stream():
    source = Source(1, Gate(), 2)
    async with aclosing(batches(source())) as arriving:
        await anext(arriving)
    assert source.closed


async def test_a_stream_that_waits_to_be_taken_from_is_closed_too():
    source = Source(*range(2 * AHEAD))
    async with aclosing(batches(source())) as arriving:
        await anext(arriving)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
    assert source.closed


async def test_a_cancelled_taker_closes_the_stream():
    gate = Gate()
    source = Source(1, gate)
    taker = asyncio.ensure_future(texts(source))
    await gate.wait()
    taker.cancel()
    await asyncio.wait({taker})
    assert taker.cancelled()
    assert source.closed


async def test_a_stream_that_is_cancelled_from_inside_is_no_hang():
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(texts(Source(1, asyncio.CancelledError())), 5)


async def test_a_failure_that_nobody_waits_for_any_more_is_no_complaint(caplog):
    source = Source(1, ProviderError(Failure.OVERLOADED, "busy"))
    async with aclosing(batches(source())) as arriving:
        await anext(arriving)
        await until(lambda: source.closed)
    gc.collect()
    await asyncio.sleep(0)
    assert source.closed
    assert caplog.text == ""
