import asyncio
import time

import pytest

from quillback.core.event import (
    Growth,
    MessageAdded,
    PartGrew,
    StopReason,
    ToolProgressed,
    TurnCompleted,
)
from quillback.core.message import Text
from quillback.session.pipe import EventPipe
from support.turn_kit import prompt

pytestmark = pytest.mark.anyio

END = TurnCompleted(StopReason.END_TURN)
ADDED = MessageAdded(prompt())


def grew(text: str, *, message="m1", index=0, supersedes=()) -> PartGrew:
    return PartGrew(message, index, Growth.TEXT, text, f"run_{index}", supersedes)


def filled(*events, full: int = 1000) -> EventPipe:
    pipe = EventPipe(full)
    for event in events:
        pipe.put(event)
    return pipe


async def taken(pipe: EventPipe) -> list:
    async with asyncio.timeout(5):
        return [event async for event in pipe]


async def test_events_come_out_in_order_and_the_last_ends_it():
    assert await taken(filled(ADDED, grew("a"), ADDED, END)) == [ADDED, grew("a"), ADDED, END]


async def test_what_comes_after_the_end_is_dropped():
    pipe = filled(grew("a"), END, grew("late"), ADDED, END)
    assert await taken(pipe) == [grew("a"), END]


async def test_deltas_of_one_part_that_wait_become_one():
    pipe = filled(grew("a", supersedes=("old",)), grew("b"), grew("c"), END)
    assert await taken(pipe) == [grew("abc", supersedes=("old",)), END]


@pytest.mark.parametrize("between", [ADDED, grew("x", index=1), grew("x", message="m2")])
async def test_deltas_with_something_between_stay_apart(between):
    assert await taken(filled(grew("a"), between, grew("b"), END)) == [grew("a"), between, grew("b"), END]


async def test_what_was_taken_is_not_sent_again():
    pipe = filled(grew("a"), grew("b"))
    events = aiter(pipe)
    assert await anext(events) == grew("ab")
    pipe.put(grew("c"))
    pipe.put(grew("d"))
    pipe.put(END)
    assert [event async for event in events] == [grew("cd"), END]


async def test_only_the_last_progress_of_a_call_waits():
    def told(call: str, text: str) -> ToolProgressed:
        return ToolProgressed(call, (Text(text),))

    pipe = filled(told("c1", "1"), told("c1", "12"), told("c2", "x"), told("c1", "123"), END)
    assert await taken(pipe) == [told("c1", "123"), told("c2", "x"), END]


async def test_progress_after_progress_that_was_taken_is_told_again():
    pipe, got = EventPipe(), []
    for event in (ToolProgressed("c1", (Text("1"),)), ToolProgressed("c1", (Text("12"),)), END):
        pipe.put(event)
        if event is not END:
            got.append(await anext(aiter(pipe)))
    assert got == [ToolProgressed("c1", (Text("1"),)), ToolProgressed("c1", (Text("12"),))]
    assert await taken(pipe) == [END]


async def test_a_taker_that_waits_gets_each_event_at_once():
    pipe, got = EventPipe(), []

    async def take() -> None:
        async for event in pipe:
            got.append(event)

    taker = asyncio.ensure_future(take())
    for event in (grew("a"), grew("b"), END):
        await asyncio.sleep(0)
        pipe.put(event)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert got[-1] == event
    await taker


async def test_merging_many_small_deltas_takes_time_in_proportion():
    def spent(count: int) -> float:
        started = time.process_time()
        pipe = filled(full=10**9)
        for _ in range(count):
            pipe.put(grew("x" * 100))
        pipe.put(END)
        return time.process_time() - started

    spent(1000)
    few, many = min(spent(4_000) for _ in range(3)), min(spent(64_000) for _ in range(3))
    assert many < few * 16 * 6


# ---------------------------------------------------------------- room


async def has_room(pipe: EventPipe) -> bool:
    waiting = asyncio.ensure_future(pipe.room())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    if waiting.done():
        return True
    waiting.cancel()
    await asyncio.wait({waiting})
    return False


@pytest.mark.parametrize("full", [1, 2, 10])
async def test_a_full_pipe_has_room_again_once_it_was_taken_from(full):
    pipe = filled(grew("x" * full), full=full)
    assert not await has_room(pipe)
    assert await anext(aiter(pipe)) == grew("x" * full)
    assert await has_room(pipe)


async def test_room_comes_back_at_half_of_the_limit():
    pipe = filled(grew("x" * 4), ADDED, grew("y" * 4), ADDED, grew("z" * 4), full=10)
    events = aiter(pipe)
    assert not await has_room(pipe)
    await anext(events)
    assert not await has_room(pipe)  # 8 of 10
    await anext(events)
    await anext(events)
    assert await has_room(pipe)  # 4 of 10


async def test_other_events_never_fill_it():
    assert await has_room(filled(*[ADDED] * 100, full=1))


async def test_the_end_of_the_turn_holds_nobody_up():
    pipe = filled(grew("x" * 50), full=10)
    waiting = asyncio.ensure_future(pipe.room())
    await asyncio.sleep(0)
    pipe.never_full()
    await asyncio.wait_for(waiting, 5)
    pipe.put(grew("y" * 50))
    assert await has_room(pipe)
    pipe.put(END)
    assert await taken(pipe) == [grew("x" * 50 + "y" * 50), END]
