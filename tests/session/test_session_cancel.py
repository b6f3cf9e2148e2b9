"""Cancels at every moment of a turn: it ends as cancelled, soon, with a valid stream, and the next prompt runs."""

import asyncio
import random

import pytest

from quillback.core.event import MessageAdded, RetryScheduled, StopReason, ToolProgressed, ToolStarted, TurnCompleted
from quillback.core.message import MessageState, Role, Text
from quillback.core.ports import Choice, Mode
from quillback.core.repair import unanswered
from quillback.core.turn import CANCELLED_CALL, CANCELLED_EARLY
from support.fakes import SOON, FakeTool, Gate, outcome, progress, until
from support.replies import call, partial, reply, say, spec, think
from support.session_kit import collect, completed, drain, kit, shown_results
from support.turn_kit import failure

pytestmark = pytest.mark.anyio


async def check_ended(k, running, seconds: float = 1.0) -> list:
    """The turn ends as cancelled in time, and another prompt sent at once is answered."""
    started = asyncio.get_running_loop().time()
    k.session.cancel()
    after = k.session.submit([Text("and now?")])
    k.model.scripts = [reply(say("I am here"))]
    events = await running
    took = asyncio.get_running_loop().time() - started
    assert completed(events).stop_reason is StopReason.CANCELLED
    assert completed(events).error == ""
    assert took < seconds
    assert completed(await drain(after)).text == "I am here"
    assert unanswered(k.session.history) == []
    assert await k.stored() == k.session.history
    return events


def tool(gate: Gate, name="slow"):
    async def body(_):
        yield progress("started")
        await gate()
        yield outcome("done")

    return FakeTool(spec(name), body)


SOME = [*partial(think("hm"), say("half a ", "sentence"))]


async def test_before_the_worker_has_begun(tmp_path):
    async with kit(tmp_path) as k:
        events = await check_ended(k, collect(k.session.submit([Text("hi")])))
        assert [type(e) for e in events] == [TurnCompleted]
        first = (await k.stored())[0]
        assert (first.text(), first.state, first.visible_to_model) == ("hi", MessageState.NOT_RUN, False)
        assert k.model.requests[0].messages[-1].parts == (Text("and now?"),)


async def test_before_the_first_byte_of_the_reply(tmp_path):
    gate = Gate()
    async with kit(tmp_path, [gate]) as k:
        running = collect(k.session.submit([Text("hi")]))
        await gate.wait()
        await check_ended(k, running)
        assert [m.text() for m in await k.stored()] == ["hi", "and now?", "I am here"]


async def test_in_the_middle_of_a_text(tmp_path):
    gate = Gate()
    async with kit(tmp_path, [*SOME, gate]) as k:
        running = collect(k.session.submit([Text("hi")]))
        await gate.wait()
        events = await check_ended(k, running)
        assert completed(events).text == "half a sentence"
        kept = (await k.stored())[1]
        assert (kept.text(), kept.state) == ("half a sentence", MessageState.INTERRUPTED)
        assert k.model.open == 0


async def test_in_the_middle_of_a_call(tmp_path):
    gate = Gate()
    async with kit(tmp_path, [*partial(call("ping"), call("write", '{"path')), gate]) as k:
        running = collect(k.session.submit([Text("hi")]))
        await gate.wait()
        events = await check_ended(k, running)
        assert shown_results(events) == [CANCELLED_EARLY] * 2


async def test_while_waiting_to_try_again(tmp_path):
    async with kit(tmp_path, [failure()]) as k:
        told = asyncio.Event()

        async def run():
            events = []
            async for event in k.session.submit([Text("hi")]):
                events.append(event)
                if isinstance(event, RetryScheduled):
                    told.set()
            return events

        running = asyncio.ensure_future(run())
        await asyncio.wait_for(told.wait(), SOON)
        await check_ended(k, running)


async def test_while_a_tool_runs_its_sibling_has_ended(tmp_path):
    gate = Gate()
    async with kit(tmp_path, reply(call("slow"), call("ping")), tools=[tool(gate)]) as k:
        running = collect(k.session.submit([Text("hi")]))
        await gate.wait()
        await until(lambda: "ping" in k.results())
        events = await check_ended(k, running)
        assert sorted(shown_results(events)) == [CANCELLED_CALL, "ping"]


async def test_while_the_user_is_asked(tmp_path):
    gate = Gate()
    async with kit(tmp_path, reply(call("write", {"path": "a"}), call("ping")), mode=Mode.APPROVE) as k:
        k.editor.always = Choice.ALLOW_ONCE
        k.editor.answers = [[gate, Choice.ALLOW_ONCE]]
        running = collect(k.session.submit([Text("hi")]))
        await gate.wait()
        events = await check_ended(k, running)
        assert k.tools["write"].started == []
        assert CANCELLED_EARLY in shown_results(events)
        assert k.editor.open == 0


async def test_while_an_inspector_thinks(tmp_path):
    gate = Gate()

    class Slow:
        name = "slow"

        async def inspect(self, _):
            await gate()

    async with kit(tmp_path, reply(call("ping")), inspectors=[Slow()]) as k:
        running = collect(k.session.submit([Text("hi")]))
        await gate.wait()
        await check_ended(k, running)
        assert k.tools["ping"].started == []


async def test_while_a_call_is_prepared(tmp_path):
    gate = Gate()

    async def before(_):
        await gate()

    async with kit(tmp_path, reply(call("slow")), tools=[FakeTool(spec("slow"), before=before)]) as k:
        running = collect(k.session.submit([Text("hi")]))
        await gate.wait()
        await check_ended(k, running)
        assert k.tools["slow"].started == []


async def test_between_two_steps(tmp_path):
    gate = Gate()
    async with kit(tmp_path, reply(say("one"), call("ping")), [gate]) as k:
        running = collect(k.session.submit([Text("hi")]))
        await gate.wait()
        events = await check_ended(k, running)
        assert completed(events).text == "one"
        assert shown_results(events) == ["ping"]


async def test_a_tool_that_ignores_a_cancel_holds_nobody_up_and_shows_nothing_more(tmp_path):
    gate, stubborn = Gate(), asyncio.Event()

    async def body(_):
        try:
            await gate()
        except asyncio.CancelledError:
            await stubborn.wait()
        yield progress("after the cancel")
        yield outcome("much too late")

    async with kit(tmp_path, reply(call("stubborn")), tools=[FakeTool(spec("stubborn"), body)]) as k:
        running = collect(k.session.submit([Text("hi")]))
        await gate.wait()
        events = await check_ended(k, running)
        assert shown_results(events) == [CANCELLED_CALL]
        before = list(k.session.history)
        stubborn.set()
        await until(lambda: k.tools["stubborn"].log[-1][0] == "end")
        await asyncio.sleep(0.02)
        assert k.session.history == before == await k.stored()
        assert not any(isinstance(e, ToolProgressed) for e in events)


async def test_nothing_is_shown_of_a_call_that_the_cancel_has_closed(tmp_path):
    gate, said = Gate(), []

    async def body(_):
        try:
            await gate()
        except asyncio.CancelledError:
            yield progress("cleaning up")
            said.append("more")
        yield outcome("cleaned up")

    async with kit(tmp_path, reply(call("slow")), tools=[FakeTool(spec("slow"), body)]) as k:
        running = collect(k.session.submit([Text("hi")]))
        await gate.wait()
        events = await check_ended(k, running)
        assert said == ["more"]
        assert shown_results(events) == [CANCELLED_CALL]
        assert not any(isinstance(e, ToolProgressed) for e in events)


async def test_a_provider_that_ignores_a_cancel_holds_nobody_up(tmp_path):
    stubborn, gate = asyncio.Event(), Gate()

    async def stream(_):
        for item in SOME:
            yield item
        try:
            await gate()
        finally:
            await stubborn.wait()

    async with kit(tmp_path, stream) as k:
        running = collect(k.session.submit([Text("hi")]))
        await gate.wait()
        await check_ended(k, running)
        stubborn.set()
        await until(lambda: k.model.open == 0)


async def test_a_finished_result_is_kept_although_its_turn_is_cancelled_while_it_is_written(tmp_path):
    async with kit(tmp_path, reply(call("ping"), call("slow")), tools=[tool(Gate())]) as k:
        flush, caught = k.store.flush, asyncio.Event()

        async def slow_flush():
            if "ping" in k.results():
                caught.set()
                await asyncio.sleep(0.05)
            await flush()

        k.store.flush = slow_flush
        running = collect(k.session.submit([Text("hi")]))
        await asyncio.wait_for(caught.wait(), SOON)
        events = await check_ended(k, running)
        cancelled, kept = sorted(shown_results(events))
        assert kept == "ping"
        assert cancelled in (CANCELLED_CALL, CANCELLED_EARLY)  # it may have begun by then


async def test_an_idle_cancel_is_nothing_and_neither_is_a_second_one(tmp_path):
    gate = Gate()
    async with kit(tmp_path, reply(say("1")), [*SOME, gate], reply(say("3"))) as k:
        k.session.cancel()
        assert completed(await k.play()).text == "1"
        k.session.cancel()
        running = collect(k.session.submit([Text("hi")]))
        await gate.wait()
        for _ in range(3):
            k.session.cancel()
        assert completed(await running).stop_reason is StopReason.CANCELLED
        k.session.cancel()
        assert completed(await k.play()).text == "3"


async def test_a_cancel_after_the_last_event_does_not_touch_the_answer(tmp_path):
    async with kit(tmp_path, reply(say("done"))) as k:
        events = []
        async for event in k.session.submit([Text("hi")]):
            events.append(event)
            if type(event).__name__ == "MessageEnded":
                await until(lambda: not k.session.busy)
                k.session.cancel()
        assert completed(events).stop_reason is StopReason.END_TURN


@pytest.mark.parametrize("seed", range(20))
async def test_a_cancel_at_any_moment_and_a_prompt_right_behind_it(tmp_path, seed):
    """C06: three tools, a cancel after a random number of turns of the loop, then the next prompt at once."""
    moment = random.Random(seed).randrange(0, 120)

    async def some(run):
        for n in range(3):
            await asyncio.sleep(0)
            yield progress(str(n))
        yield outcome("done")

    tools = [FakeTool(spec(name), some) for name in ("one", "two", "three")]
    first = [*reply(think("hm"), say("go "), call("one"), call("two"), call("three"))]
    async with kit(tmp_path, first, reply(say("done")), tools=tools) as k:
        running = collect(k.session.submit([Text("hi")]))
        for _ in range(moment):
            await asyncio.sleep(0)
        k.session.cancel()
        second = k.session.submit([Text("again")])
        k.model.scripts = [*k.model.scripts, reply(say("again"))][-1:]
        events = await running
        assert completed(events).stop_reason in (StopReason.CANCELLED, StopReason.END_TURN)
        late = await drain(second)
        assert completed(late).text == "again"
        own = {m.id for m in k.session.history if m.seq > max(e.message.seq for e in late if is_prompt(e)) - 1}
        assert {e.message.id for e in late if isinstance(e, MessageAdded)} <= own
        assert not any(isinstance(e, ToolStarted | ToolProgressed) for e in late)
        assert unanswered(k.session.history) == []
        assert await k.stored() == k.session.history


def is_prompt(event) -> bool:
    return isinstance(event, MessageAdded) and event.message.role is Role.USER


# ---------------------------------------------------------------- the editor answers `cancelled`


async def test_after_one_cancelled_question_no_sibling_runs_or_is_asked_about(tmp_path):
    """C03"""
    calls = [call("write", {"path": p}) for p in ("A", "B", "C")]
    async with kit(tmp_path, reply(*calls), mode=Mode.APPROVE) as k:
        k.editor.answers = [Choice.CANCELLED]
        events = await k.play()
        assert completed(events).stop_reason is StopReason.CANCELLED
        assert k.tools["write"].started == []
        assert len(k.editor.asks) == 1
        assert shown_results(events) == [CANCELLED_EARLY] * 3
        k.model.add(reply(say("fine")))
        assert completed(await k.play()).text == "fine"


async def test_a_cancelled_question_ends_running_siblings_even_stubborn_ones(tmp_path):
    gate, stubborn = Gate(), asyncio.Event()

    async def body(_):
        try:
            await gate()
        except asyncio.CancelledError:
            await stubborn.wait()
        yield outcome("late")

    async def asked(_):
        await gate.wait()

    tools = [FakeTool(spec("look", read_only=True), body), FakeTool(spec("change"), before=asked)]
    async with kit(tmp_path, reply(call("look"), call("change")), mode=Mode.APPROVE, tools=tools) as k:
        k.editor.answers = [Choice.CANCELLED]
        started = asyncio.get_running_loop().time()
        events = await k.play()
        assert asyncio.get_running_loop().time() - started < 1.0
        assert completed(events).stop_reason is StopReason.CANCELLED
        assert shown_results(events) == [CANCELLED_CALL, CANCELLED_EARLY]
        stubborn.set()
        await until(lambda: k.tools["look"].log[-1][0] == "end")
