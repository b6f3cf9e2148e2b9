"""However a subagent ends, its parent is told what happened and pays for it, and nothing of it is left."""

import asyncio

import pytest

from quillback.core.event import StopReason
from quillback.core.message import Text
from quillback.core.model import Failure, ProviderError
from quillback.core.ports import StoreError
from support.fakes import Gate, until
from support.replies import call, partial, reply, say
from support.session_kit import collect, completed
from support.subagents import PRICE, children, room, tasks

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("script", "says", "so_far"),
    [
        ([[ProviderError(Failure.AUTHENTICATION, "Bad key.")]], "The subagent failed: Bad key.", "not said anything"),
        (
            [reply(say("first"), call("ping")), [*partial(say("se")), ProviderError(Failure.INVALID, "Odd.")]],
            "The subagent failed: Odd.",
            "said by then:\nse",
        ),
        ([reply(say("no"), stop="refusal")], "declined the task", ""),
    ],
)
async def test_a_failure_is_an_error_result(tmp_path, script, says, so_far):
    async with room(tmp_path, boss=[tasks(), reply(say("go on"))], kid=script) as k:
        end = completed(await k.play("boss"))
        assert (end.stop_reason, end.text) == (StopReason.END_TURN, "go on")
        assert k.tool_results()[0].is_error
        assert says in k.results()[0]
        assert so_far in k.results()[0]


async def test_an_answer_that_was_cut_says_so(tmp_path):
    async with room(tmp_path, boss=[tasks(), reply(say("."))], kid=[reply(say("long"), stop="max_tokens")]) as k:
        await k.play("boss")
        assert "long\n\n[Its answer was cut off" in k.results()[0]


async def test_a_long_answer_is_bounded_and_kept(tmp_path):
    async with room(tmp_path, boss=[tasks(), reply(say("."))], kid=[reply(say("x" * 50_000))]) as k:
        await k.play("boss")
        assert len(k.results()[0]) < 31_000
        (kept,) = (tmp_path / "outputs").iterdir()
        assert kept.read_text().startswith("x" * 50_000)


async def test_a_store_that_fails_lets_none_begin(tmp_path):
    async with room(tmp_path, boss=[tasks(), reply(say("."))]) as k:
        create = k.store.create_session

        async def failing(record):
            raise StoreError("the disk is full")

        k.store.create_session = failing
        await k.play("boss")
        k.store.create_session = create
        assert "could not begin: the disk is full" in k.results()[0]


async def test_a_cancel_ends_it_and_its_cost_is_paid(tmp_path):
    gate = Gate()
    script = {"boss": [tasks("kid1", "kid2")]}
    kids = {name: [reply(call("ping")), [*partial(say("so far")), gate]] for name in ("kid1", "kid2")}
    async with room(tmp_path, **script, **kids) as k:
        events = collect(k.session.submit([Text("boss")]))
        await gate.wait()
        await until(lambda: k.model.open == 2)
        k.session.cancel()
        end = completed(await events)
        assert end.stop_reason is StopReason.CANCELLED
        await k.session.subagents.close()
        await until(lambda: k.model.open == 0)
        assert end.cost == pytest.approx(PRICE)
        assert k.session.record.cost == pytest.approx(3 * PRICE)  # a reply of each
        for child in await children(k):
            stream = await k.store.messages(child.id)
            assert [m.text() for m in stream][-1] == "so far"
            await k.store.acquire(child.id)
        assert len(await children(k)) == 2


async def test_closing_the_session_ends_it(tmp_path):
    gate = Gate()
    async with room(tmp_path, boss=[tasks()], kid=[[*partial(say("so far")), gate]]) as k:
        events = collect(k.session.submit([Text("boss")]))
        await gate.wait()
        await k.sessions.close(k.session.record.id)
        assert completed(await events).stop_reason is StopReason.CANCELLED
        assert all(box.closed for box in k.toolboxes)


@pytest.mark.parametrize("moment", range(12))
async def test_a_cancel_at_any_moment_of_its_beginning_leaves_nothing(tmp_path, moment):
    async with room(tmp_path, boss=[tasks()], kid=[reply(say("x"))]) as k:
        events = collect(k.session.submit([Text("boss")]))
        await until(lambda: k.session.subagents._running)
        for _ in range(moment):
            await asyncio.sleep(0)
        k.session.cancel()
        await events
        await k.session.subagents.close()
        for child in await children(k):
            await k.store.acquire(child.id)
            await k.store.release(child.id)
