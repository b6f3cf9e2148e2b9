"""Prompts that come while a turn runs: they wait in line, and none is ever lost, stuck or answered twice."""

import asyncio

import pytest

from quillback.core.event import MessageAdded, StopReason
from quillback.core.message import MessageState, Role, Text
from quillback.core.model import Failure
from quillback.core.ports import StoreError
from quillback.session.session import BusyError, ClosedError
from support.fakes import FakeTool, Gate, outcome, until
from support.replies import call, partial, reply, say, spec
from support.session_kit import collect, completed, drain, kit
from support.turn_kit import failure

pytestmark = pytest.mark.anyio


def submit(k, text: str):
    return k.session.submit([Text(text)])


async def test_prompts_run_one_after_the_other_in_their_order(tmp_path):
    gate = Gate()
    async with kit(tmp_path, [gate, *reply(say("1"))], reply(say("2")), reply(say("3"))) as k:
        runs = [collect(submit(k, text)) for text in "abc"]
        await gate.wait()
        assert k.session.busy
        gate.open()
        ends = [completed(await run).text for run in runs]
        assert ends == ["1", "2", "3"]
        stream = [(m.text(), m.seq) for m in await k.stored()]
        assert stream == [("a", 1), ("1", 2), ("b", 3), ("2", 4), ("c", 5), ("3", 6)]
        assert not k.session.busy


async def test_a_waiting_prompt_is_on_disk_at_once(tmp_path):
    gate = Gate()
    async with kit(tmp_path, [gate, *reply(say("1"))], reply(say("2"))) as k:
        runs = [collect(submit(k, text)) for text in "ab"]
        await gate.wait()
        await k.store.flush()
        first, waiting = await k.stored()
        assert (first.seq, waiting.seq) == (1, 0)
        assert (waiting.text(), waiting.state) == ("b", MessageState.QUEUED)
        gate.open()
        await asyncio.gather(*runs)
        assert [m.id for m in k.session.history if m.role is Role.USER] == [first.id, waiting.id]


async def test_a_waiting_prompt_is_not_seen_by_the_turn_before_it(tmp_path):
    gate = Gate()
    async with kit(tmp_path, [gate, *reply(call("ping"))], reply(say("1")), reply(say("2"))) as k:
        runs = [collect(submit(k, text)) for text in ("first", "second")]
        await gate.wait()
        gate.open()
        await asyncio.gather(*runs)
        texts = [[p.text for m in r.messages for p in m.parts if isinstance(p, Text)] for r in k.model.requests]
        assert texts == [["first"], ["first"], ["first", "1", "second"]]


async def test_where_prompts_do_not_wait_a_second_one_is_refused(tmp_path):
    gate = Gate()
    async with kit(tmp_path, [gate, *reply(say("1"))], reply(say("2")), queue_when_busy=False) as k:
        first = collect(submit(k, "a"))
        await gate.wait()
        with pytest.raises(BusyError):
            submit(k, "b")
        gate.open()
        assert completed(await first).text == "1"
        assert completed(await k.play()).text == "2"
        assert [m.text() for m in await k.stored()] == ["a", "1", "do it", "2"]


async def test_a_cancel_empties_the_queue_and_each_prompt_is_answered(tmp_path):
    gate = Gate()
    async with kit(tmp_path, [*partial(say("half")), gate]) as k:
        runs = [collect(submit(k, text)) for text in "abc"]
        await gate.wait()
        k.session.cancel()
        ends = [completed(await run) for run in runs]
        assert [e.stop_reason for e in ends] == [StopReason.CANCELLED] * 3
        stored = await k.stored()
        assert [(m.text(), m.seq, m.state) for m in stored] == [
            ("a", 1, MessageState.COMPLETE),
            ("half", 2, MessageState.INTERRUPTED),
            ("b", 3, MessageState.NOT_RUN),
            ("c", 4, MessageState.NOT_RUN),
        ]
        assert [m.visible_to_model for m in stored] == [True, True, False, False]
        assert stored == k.session.history
        k.model.add(reply(say("next")))
        await k.play("d")
        sent = [p.text for m in k.model.requests[-1].messages for p in m.parts if isinstance(p, Text)]
        assert sent == ["a", "half", "d"]


async def test_the_text_of_a_dropped_prompt_is_on_disk_before_it_is_answered(tmp_path):
    gate = Gate()
    async with kit(tmp_path, [gate]) as k:
        running = collect(submit(k, "a"))
        await gate.wait()
        pipe = submit(k, "b")
        k.session.cancel()
        await drain(pipe)
        assert "b" in [m.text() for m in await k.stored()]
        await running


async def test_a_dropped_prompt_that_cannot_be_saved_is_answered_with_that(tmp_path):
    gate = Gate()
    async with kit(tmp_path, [gate]) as k:
        running = collect(submit(k, "a"))
        await gate.wait()
        pipe, flush = submit(k, "b"), k.store.flush

        async def fails():
            raise StoreError("Not saved: 1 x message.")

        k.store.flush = fails
        k.session.cancel()
        assert completed(await drain(pipe)).error == "Not saved: 1 x message."
        k.store.flush = flush
        await running


async def test_a_prompt_that_comes_while_a_cancel_settles_waits_for_it(tmp_path):
    settling, gate = Gate(), Gate()

    async def body(_):
        try:
            await gate()
        finally:
            await settling()
        yield outcome("never")

    async with kit(tmp_path, reply(call("slow")), reply(say("2")), tools=[FakeTool(spec("slow"), body)]) as k:
        first = collect(submit(k, "a"))
        await gate.wait()
        k.session.cancel()
        await settling.wait()
        second = collect(submit(k, "b"))
        await asyncio.sleep(0.01)
        assert len(k.model.requests) == 1
        settling.open()
        assert completed(await first).stop_reason is StopReason.CANCELLED
        assert completed(await second).text == "2"


@pytest.mark.parametrize(
    "broken",
    [[failure(Failure.INVALID)], [ValueError("x")], [*partial(say("x")), asyncio.CancelledError()]],
    ids=["refused", "broken", "cancelled inside"],
)
async def test_a_failed_turn_never_leaves_the_queue_stuck(tmp_path, broken):
    async with kit(tmp_path, broken, reply(say("2")), broken, reply(say("4"))) as k:
        runs = [collect(submit(k, text)) for text in "abcd"]
        ends = [completed(await run) for run in runs]
        assert [bool(e.error) for e in ends] == [True, False, True, False]
        assert [e.text for e in ends[1::2]] == ["2", "4"]


# ---------------------------------------------------------------- one prompt alone


async def test_a_waiting_prompt_can_be_withdrawn_alone(tmp_path):
    gate = Gate()
    async with kit(tmp_path, [gate, *reply(say("1"))], reply(say("3"))) as k:
        pipes = [submit(k, text) for text in "abc"]
        runs = [collect(pipe) for pipe in pipes]
        await gate.wait()
        k.session.withdraw(pipes[1])
        assert completed(await runs[1]).stop_reason is StopReason.CANCELLED
        assert not runs[0].done()
        gate.open()
        assert completed(await runs[0]).text == "1"
        assert completed(await runs[2]).text == "3"
        stored = await k.stored()
        assert stored == k.session.history
        assert [m.text() for m in stored if m.state is MessageState.NOT_RUN] == ["b"]
        k.session.withdraw(pipes[0])
        k.session.withdraw(pipes[1])
        k.model.add(reply(say("4")))
        assert completed(await k.play()).text == "4"


async def test_the_running_prompt_can_be_withdrawn_and_the_next_runs(tmp_path):
    gate = Gate()
    async with kit(tmp_path, [*partial(say("half")), gate], reply(say("2"))) as k:
        pipes = [submit(k, text) for text in "ab"]
        runs = [collect(pipe) for pipe in pipes]
        await gate.wait()
        k.session.withdraw(pipes[0])
        assert completed(await runs[0]).stop_reason is StopReason.CANCELLED
        assert completed(await runs[1]).text == "2"


# ---------------------------------------------------------------- close


async def test_closing_answers_everything_and_ends_what_the_session_started(tmp_path):
    gate = Gate()
    async with kit(tmp_path, [*partial(say("half")), gate]) as k:
        runs = [collect(submit(k, text)) for text in "ab"]
        await gate.wait()
        await k.sessions.close(k.session.record.id)
        assert not k.session.busy
        assert k.model.open == 0
        ends = [completed(await run).stop_reason for run in runs]
        assert ends == [StopReason.CANCELLED] * 2
        assert k.toolboxes[0].closed == 1
        with pytest.raises(ClosedError):
            submit(k, "c")
        assert await k.stored() == k.session.history
        assert k.session.record.id not in k.store._leases.held


async def test_the_tools_are_closed_when_the_turn_that_uses_them_is_over(tmp_path):
    gate, seen = Gate(), []

    async def body(_):
        try:
            await gate()
        finally:
            await asyncio.sleep(0.05)
        yield outcome()

    async with kit(tmp_path, reply(call("slow")), tools=[FakeTool(spec("slow"), body)]) as k:
        close = k.toolboxes[0].close

        async def watched_close():
            seen.append((k.session.busy, k.tools["slow"].log[-1][0]))
            await close()

        k.toolboxes[0].close = watched_close
        running = collect(submit(k, "a"))
        await gate.wait()
        await k.sessions.close(k.session.record.id)
        await running
        assert seen == [(False, "end")]


async def test_closing_twice_is_once(tmp_path):
    async with kit(tmp_path, reply(say("1"))) as k:
        await k.play()
        await k.session.close()
        await k.session.close()
        assert await k.stored() == k.session.history


async def test_a_toolbox_that_cannot_be_closed_does_not_keep_the_session(tmp_path):
    async with kit(tmp_path) as k:

        async def fails():
            k.toolboxes[0].closed += 1
            raise OSError("no")

        k.toolboxes[0].close = fails
        with pytest.raises(OSError, match="no"):
            await k.session.close()
        assert k.session.record.id not in k.store._leases.held


async def test_a_store_that_fails_does_not_stop_a_close(tmp_path, caplog):
    async with kit(tmp_path) as k:
        flush = k.store.flush

        async def fails():
            raise StoreError("Not saved: 1 x message.")

        k.store.flush = fails
        await k.session.close()
        k.store.flush = flush
        assert "Not saved" in caplog.text
        assert k.session.record.id not in k.store._leases.held


async def test_what_comes_of_a_prompt_belongs_to_its_pipe_alone(tmp_path):
    async with kit(tmp_path, reply(say("1"), call("ping")), reply(say("2")), reply(say("3"))) as k:
        first, second = submit(k, "a"), submit(k, "b")
        await until(lambda: not k.session.busy)
        of_first, of_second = await drain(first), await drain(second)
        added = [[e.message.seq for e in events if isinstance(e, MessageAdded)] for events in (of_first, of_second)]
        assert added == [[1, 3], [5]]
