"""Whole turns of a session: what is told in which order, what is stored, and how each of them ends exactly once."""

import asyncio
from itertools import pairwise

import pytest

from quillback.core.event import (
    MessageAdded,
    MessageEnded,
    MessageStarted,
    Noticed,
    PartGrew,
    Retitled,
    StopReason,
    ToolProgressed,
    ToolStarted,
    TurnCompleted,
    UsageChanged,
)
from quillback.core.message import Image, MessageState, Notice, Role, Text
from quillback.core.model import Failure
from quillback.core.ports import Choice, Mode
from quillback.session.batches import AHEAD
from quillback.session.pipe import EventPipe
from support.fakes import FakeTool, Gate, outcome, progress
from support.replies import call, partial, reply, say, spec, think
from support.session_kit import collect, completed, drain, kit
from support.stores import new_store, query
from support.strict import continues
from support.turn_kit import failure

pytestmark = pytest.mark.anyio


def names(events) -> list[str]:
    return [type(e).__name__ for e in events if not isinstance(e, UsageChanged)]


async def test_a_turn_is_told_in_order_and_stored(tmp_path):
    async with kit(tmp_path, reply(say("look "), call("read", {"path": "a"})), reply(say("done"))) as k:
        events = await k.play("What is in a?")
        opened_and_closed = ["PartOpened", "PartGrew", "PartClosed"]
        assert names(events) == [
            *["MessageAdded", "Retitled", "MessageStarted"],
            *opened_and_closed * 2,
            *["MessageEnded", "ToolStarted", "MessageAdded", "MessageStarted"],
            *opened_and_closed,
            *["MessageEnded", "TurnCompleted"],
        ]
        end = completed(events)
        assert (end.stop_reason, end.text, end.error) == (StopReason.END_TURN, "done", "")
        stored = await k.stored()
        assert stored == k.session.history
        assert [m.seq for m in stored] == [1, 2, 3, 4]
        assert [m.role for m in stored] == [Role.USER, Role.ASSISTANT, Role.TOOL, Role.ASSISTANT]
        assert all(m.state is MessageState.COMPLETE for m in stored)
        record = await k.store.session(k.session.record.id)
        assert record == k.session.record
        assert record.cost == pytest.approx(end.cost) == pytest.approx(2 * 0.002003)
        assert record.title == "What is in a?"


async def test_the_id_of_the_prompt_and_of_each_message_stays_what_it_was(tmp_path):
    gate = Gate()
    async with kit(tmp_path, [*partial(say("half")), gate, *reply(say("x"))[-2:]]) as k:
        running = collect(k.session.submit([Text("hi")]))
        await gate.wait()
        await k.store.flush()
        prompt, growing = await k.stored()
        assert (growing.state, growing.text()) == (MessageState.STREAMING, "half")
        gate.open()
        events = await running
        assert [e.message.id for e in events if isinstance(e, MessageStarted | MessageEnded)] == [growing.id] * 2
        assert [m.id for m in await k.stored()] == [prompt.id, growing.id]


async def test_each_prompt_sees_the_ones_before(tmp_path):
    async with kit(tmp_path, reply(say("one")), reply(say("two"))) as k:
        await k.play("first")
        await k.play("second")
        assert [m.parts[0].text for m in k.model.requests[1].messages] == ["first", "one", "second"]
        assert k.model.requests[1].system == f"You work in {k.cwd}."


async def test_every_request_of_a_session_continues_the_one_before(tmp_path):
    first = [
        reply(think("hm"), say("look"), call("ping"), call("nope")),
        [*partial(say("half")), failure(Failure.INVALID)],
    ]
    async with kit(tmp_path, *first) as k:
        k.model.add(reply(call("ping", "{")), reply(say("done")), reply(say("again")))
        for text in ("one", "two", "three", "four"):
            await k.play(text)
        assert len(k.model.requests) == 6
        for before, after in pairwise(k.model.requests):
            assert continues(before, after)


async def test_deltas_reach_the_editor_as_they_come(tmp_path):
    gate = Gate()
    async with kit(tmp_path, [*partial(say("a", "b")), gate, *reply(say("c"))[2:]]) as k:
        texts = []
        async for event in k.session.submit([Text("hi")]):
            if isinstance(event, PartGrew):
                texts.append(event.text)
                gate.open()
        assert texts == ["ab", "c"]


@pytest.mark.parametrize("parts", [(), (Text(" \n"),), (Notice("only a remark"),)])
async def test_a_prompt_that_says_nothing_is_stored_and_starts_nothing(tmp_path, parts):
    async with kit(tmp_path) as k:
        events = await drain(k.session.submit(parts))
        assert names(events) == ["MessageAdded", "TurnCompleted"]
        assert completed(events).stop_reason is StopReason.END_TURN
        (stored,) = await k.stored()
        assert (stored.state, stored.parts) == (MessageState.COMPLETE, parts)


async def test_an_image_alone_says_something(tmp_path):
    async with kit(tmp_path, reply(say("a picture"))) as k:
        events = await drain(k.session.submit([Image("aGk=", "image/png")]))
        assert completed(events).text == "a picture"
        assert k.session.record.title == ""


async def test_the_first_prompt_with_words_names_the_session(tmp_path):
    async with kit(tmp_path, reply(say("1")), reply(say("2"))) as k:
        first = await k.play("word " * 100)
        assert [e.title for e in first if isinstance(e, Retitled)] == [k.session.record.title]
        assert len(k.session.record.title) <= 80
        assert k.session.record.title.endswith("…")
        assert not any(isinstance(e, Retitled) for e in await k.play("another"))


async def test_usage_counts_on_from_the_cost_of_the_session(tmp_path):
    async with kit(tmp_path, reply(say("1")), reply(say("2"))) as k:
        costs = []
        for _ in range(2):
            costs += [e.cost for e in await k.play() if isinstance(e, UsageChanged)]
        assert costs == [pytest.approx(0.002003), pytest.approx(0.004006)]


# ---------------------------------------------------------------- backpressure


async def test_a_reader_who_stops_taking_holds_the_model_up_and_loses_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr("quillback.session.session.EventPipe", lambda: EventPipe(1000))
    sent = 0

    async def endless(_):
        nonlocal sent
        for event in reply(say(*["x" * 10] * 4 * AHEAD)):
            sent += 1
            yield event

    async with kit(tmp_path, endless) as k:
        pipe = k.session.submit([Text("hi")])
        for _ in range(50):
            await asyncio.sleep(0.002)
        assert sent == 2 * AHEAD  # what is in the pipe, and what was read ahead of it
        assert (await k.stored())[-1].state is MessageState.STREAMING
        events = await drain(pipe)
        assert completed(events).text == "x" * 40 * AHEAD


async def test_a_cancel_works_while_the_reader_does_not_take(tmp_path, monkeypatch):
    monkeypatch.setattr("quillback.session.session.EventPipe", lambda: EventPipe(100))
    async with kit(tmp_path, [*partial(say("x" * 1000)), Gate()]) as k:
        pipe = k.session.submit([Text("hi")])
        for _ in range(20):
            await asyncio.sleep(0.002)
        k.session.cancel()
        while k.session.busy:
            await asyncio.sleep(0.002)
        assert completed(await drain(pipe)).stop_reason is StopReason.CANCELLED


# ---------------------------------------------------------------- several sessions


async def test_sessions_run_side_by_side(tmp_path):
    one, two = Gate(), Gate()

    async def mixed(request):
        await (one if request.messages[0].parts[0].text == "one" else two)()
        for event in reply(say("said " + request.messages[0].parts[0].text)):
            yield event

    async with kit(tmp_path, mixed, mixed) as k:
        other = await k.sessions.new(k.cwd)
        first = collect(k.session.submit([Text("one")]))
        second = collect(other.submit([Text("two")]))
        await one.wait()
        await two.wait()
        two.open()
        assert completed(await second).text == "said two"
        assert not first.done()
        one.open()
        assert completed(await first).text == "said one"
        assert {m.session_id for m in k.session.history} == {k.session.record.id}


async def test_a_result_is_on_disk_before_it_is_shown(tmp_path):
    async with kit(tmp_path, reply(call("ping")), reply(say("done"))) as k:
        seen = []
        async for event in k.session.submit([Text("hi")]):
            if isinstance(event, MessageAdded) and event.message.role is Role.TOOL:
                stored = query(tmp_path / "quillback.db", "SELECT 1 FROM messages WHERE id = ?", event.message.id)
                seen.append(len(stored))
        assert seen == [1]


class Recorder:
    """A store that notes when something is given to it, and when all of it is made durable."""

    def __init__(self, path) -> None:
        self._real = new_store(path)
        self.log: list[str] = []

    def __getattr__(self, name):
        return getattr(self._real, name)

    def put(self, message) -> None:
        self.log.append("write")
        self._real.put(message)

    def journal(self, event) -> None:
        self.log.append("write")
        self._real.journal(event)

    async def flush(self) -> None:
        await self._real.flush()
        self.log.append("flush")


@pytest.mark.parametrize("mode", [Mode.APPROVE, Mode.AUTO])
async def test_all_is_durable_before_a_request_a_question_and_a_tool(tmp_path, mode):
    async def asks(_):
        k.store.log.append("request")
        for event in reply(say("I will"), call("ping")):
            yield event

    async def ends(_):
        k.store.log.append("request")
        for event in reply(say("done")):
            yield event

    async def body(_):
        k.store.log.append("run")
        yield outcome()

    async def answer(*_):
        k.store.log.append("ask")
        return Choice.ALLOW_ONCE

    async with kit(tmp_path, asks, ends, mode=mode, store=Recorder, tools=[FakeTool(spec("ping"), body)]) as k:
        k.editor.ask_permission = answer
        await k.play()
        log = list(k.store.log)
    for moment in ("request", "ask", "run"):
        for at in (n for n, what in enumerate(log) if what == moment):
            assert "flush" in log[max((n for n in range(at) if log[n] == "write"), default=0) : at], (moment, log)
    asked = ["ask"] if mode is Mode.APPROVE else []
    assert [what for what in log if what in ("request", "ask", "run")] == ["request", *asked, "run", "request"]


async def test_what_is_to_be_known_of_the_tools_is_told_in_the_turn_or_in_the_next(tmp_path):
    async def tells(_):
        k.toolboxes[0].notice("a server is gone")
        yield outcome()

    async def tells_late(_):
        try:
            await gate()
        finally:
            k.toolboxes[0].notice("and back")
        yield outcome()

    tool = FakeTool(spec("tells"), tells)
    async with kit(tmp_path, reply(call("tells")), reply(say("1")), reply(say("2")), tools=[tool]) as k:
        k.toolboxes[0].notice("a server did not start")
        told = [e.title for e in await k.play() if isinstance(e, Noticed)]
        assert told == ["a server did not start", "a server is gone"]
        gate = Gate()
        k.tools["tells"].body = tells_late
        k.model.scripts.insert(0, reply(call("tells")))
        running = collect(k.session.submit([Text("hi")]))
        await gate.wait()
        k.session.cancel()
        assert not any(isinstance(e, Noticed) for e in await running)
        notices = [e for e in await k.play() if isinstance(e, Noticed)]
        assert [e.title for e in notices] == ["and back"]
        assert notices[0].run_id


async def test_everything_is_on_disk_when_the_prompt_is_answered(tmp_path):
    async with kit(tmp_path, reply(think("hm"), say("done"))) as k:
        async for event in k.session.submit([Text("hi")]):
            if isinstance(event, TurnCompleted):
                assert not k.store._outbox
        assert [m.text() for m in await k.stored()] == ["hi", "done"]


async def test_what_a_tool_shows_comes_between_its_start_and_its_result(tmp_path):
    async def slow(_):
        yield progress("1")
        await asyncio.sleep(0)
        yield progress("12")
        yield outcome("123")

    async with kit(tmp_path, reply(call("slow")), reply(say("x")), tools=[FakeTool(spec("slow"), slow)]) as k:
        events = [e for e in await k.play() if isinstance(e, ToolStarted | ToolProgressed)]
        assert isinstance(events[0], ToolStarted)
        assert [e.shown for e in events[1:]][-1] == (Text("12"),)
