"""A subagent is a session of its own with its parent's rights, limits and editor; whatever ends it, nothing is left."""

import asyncio

import pytest

from quillback.core.event import StopReason, ToolProgressed
from quillback.core.hooks import HookAnswer, HookCall, HookPoint
from quillback.core.message import Text
from quillback.core.ports import Choice, Mode, SessionBusyError
from quillback.core.turn_types import Limits
from quillback.core.verdict import Allow
from quillback.inspectors.permission import PermissionInspector
from quillback.session.subagent_parts import NEVER
from support.fakes import FakeTool, Gate, outcome, until
from support.replies import USAGE, call, reply, say, spec
from support.session_kit import collect, completed, drain
from support.subagents import PRICE, children, room, shell, steps, tasks

pytestmark = pytest.mark.anyio

# ---------------------------------------------------------------- the way it should go


async def test_the_answer_comes_back_with_cost_and_session(tmp_path):
    async with room(tmp_path, boss=[tasks("kid: look"), reply(say("done"))], kid=steps(say("hm"), call("ping"))) as k:
        end = completed(await k.play("boss"))
        assert end.text == "done"
        (child,) = await children(k)
        (result,) = k.tool_results()
        assert k.results() == [f"the answer\n\n[The subagent's session is {child.id}.]"]
        assert not result.is_error
        assert result.raw_output == {"sessionId": child.id}
        assert "[x] ping" in result.shown[0].text
        assert child.title == "kid: look"
        assert (child.parent, child.mode, child.model) == (k.session.record.id, Mode.AUTO, "m1")
        assert end.cost == pytest.approx(4 * PRICE)
        read = USAGE.context_size - USAGE.output_tokens
        assert (end.input_tokens, end.output_tokens) == (4 * read, 4 * USAGE.output_tokens)
        assert child.cost == pytest.approx(2 * PRICE)
        assert k.session.record.cost == pytest.approx(end.cost)
        assert [r.id for r in await k.store.sessions()] == [k.session.record.id]
        assert [m.text() for m in await k.store.messages(child.id)][-1] == "the answer"
        assert len(k.toolboxes) == 2
        assert (k.toolboxes[0].closed, k.toolboxes[1].closed) == (0, 1)
        await k.store.acquire(child.id)  # it was given back


async def test_its_request_is_its_own(tmp_path):
    async with room(tmp_path, boss=[tasks(), reply(say("done"))], kid=[reply(say("x"))]) as k:
        await k.play("boss and a secret")
        mine = k.model.requests[1]
        assert "You are a subagent" in mine.system
        assert mine.system.startswith(k.model.requests[0].system)
        assert len(mine.messages) == 1
        assert "secret" not in str(mine.messages)
        assert {t.name for t in mine.tools} == {t.name for t in k.model.requests[0].tools} - NEVER


async def test_a_task_is_never_a_command(tmp_path):
    class Trap:
        ran = False

        def available(self):
            return ()

        async def run(self, name, argument, desk):
            self.ran = self.ran or name == "mode"

        async def changed(self):
            await asyncio.Event().wait()

    trap = Trap()
    async with room(tmp_path, boss=[tasks("/mode kid"), reply(say("."))], kid=[reply(say("x"))], commands=trap) as k:
        await k.play("boss")
        assert not trap.ran
        assert k.results()[0].startswith("x")


async def test_only_the_named_tools_are_there(tmp_path):
    script = [tasks("kid", tools=["ping"]), tasks("kid", tools=["ping", "magic"]), reply(say("."))]
    async with room(tmp_path, boss=script, kid=steps(call("read", {"path": "a"}))) as k:
        await k.play("boss")
        assert [t.name for t in k.model.requests[1].tools] == ["ping"]
        assert "a subagent has no tool magic; there are: ping, poll, read, write" in k.results()[1]
        (child,) = await children(k)
        results = [r for m in await k.store.messages(child.id) for r in m.tool_results()]
        assert results[0].is_error


async def test_progress_is_bounded_and_shows_the_work(tmp_path):
    gate = Gate()

    async def body(run):
        await gate()
        yield outcome("ok")

    script = {"boss": [tasks(), reply(say("."))], "kid": steps(say("Let me see."), call("slow"))}
    async with room(tmp_path, tools=[FakeTool(spec("slow"), body)], **script) as k:
        turn = k.session.submit([Text("boss")])
        shown = []
        async for event in turn:
            if isinstance(event, ToolProgressed):
                shown.append(event.shown[0].text)
                if "[>] slow" in shown[-1]:
                    gate.open()
        assert any("Let me see." in text for text in shown)
        assert "[>] slow" in "".join(shown)


async def test_four_at_a_time(tmp_path):
    gate = Gate()
    script = {f"kid{n}": [[gate, *reply(say(f"from {n}"))]] for n in range(6)}
    async with room(tmp_path, boss=[tasks(*script), reply(say("."))], **script) as k:
        events = collect(k.session.submit([Text("boss")]))
        await until(lambda: k.model.open == 4)
        await asyncio.sleep(0.05)
        assert k.model.open == 4
        gate.open()
        await events
        assert [text.split("\n")[0] for text in k.results()] == [f"from {n}" for n in range(6)]


# ---------------------------------------------------------------- rights


async def test_its_calls_are_inspected_as_the_parents_and_asked_under_its_id(tmp_path):
    seen = []

    class Watching:
        name = "watching"

        async def inspect(self, inspection):
            seen.append(inspection)
            return Allow()

    script = {"boss": [tasks(), reply(say("."))], "kid": steps(call("shell", {"command": "ls"}))}
    chain = [Watching(), PermissionInspector()]
    async with room(tmp_path, mode=Mode.APPROVE, inspectors=chain, tools=[shell()], **script) as k:
        k.editor.answers = [Choice.ALLOW_ONCE]
        await k.play("boss said this")
        (ask,) = k.editor.asks
        assert k.editor.sessions == [k.session.record.id]
        assert ask.subagent
        assert ask.call.title == "Subagent: shell"
        assert ask.reason == "a subagent wants it"
        assert [i.call.name for i in seen] == ["subagent", "shell"]
        assert seen[1].session_id == k.session.record.id
        assert (seen[1].task, seen[1].said) == ("boss said this", ("boss said this",))
        (child,) = await children(k)
        assert [a.tool for a in await k.store.audits(child.id)] == ["shell"]


async def test_questions_of_several_come_one_at_a_time(tmp_path):
    names = [f"kid{n}" for n in range(3)]
    script = {name: steps(call("shell", {"command": name})) for name in names}
    boss = [tasks(*names), reply(say("."))]
    async with room(tmp_path, mode=Mode.APPROVE, tools=[shell()], boss=boss, **script) as k:
        k.editor.always = Choice.ALLOW_ONCE
        await k.play("boss")
        assert (len(k.editor.asks), k.editor.most_open) == (3, 1)
        assert len({ask.call.id for ask in k.editor.asks}) == 3


async def test_a_cancelled_question_cancels_the_whole_turn(tmp_path):
    script = {"boss": [tasks()], "kid": [reply(call("shell", {"command": "ls"}))]}
    async with room(tmp_path, mode=Mode.APPROVE, tools=[shell()], **script) as k:
        k.editor.answers = [Choice.CANCELLED]
        end = completed(await k.play("boss"))
        assert end.stop_reason is StopReason.CANCELLED
        await until(lambda: k.session.record.cost > 0.003)  # both replies were paid
        assert k.tools["shell"].started == []


async def test_a_rejection_that_stops_turns_stops_the_parents(tmp_path):
    script = {"boss": [tasks()], "kid": [reply(call("shell", {"command": "ls"}))]}
    async with room(tmp_path, mode=Mode.APPROVE, tools=[shell()], stop_on_reject=True, **script) as k:
        k.editor.answers = [Choice.REJECT_ONCE]
        end = completed(await k.play("boss"))
        assert end.stop_reason is StopReason.END_TURN
        assert "rejected a call of the subagent" in k.results()[0]
        assert len(k.model.requests) == 2


async def test_a_change_of_mode_holds_at_once(tmp_path):
    gate = Gate()
    script = {"boss": [tasks(), reply(say("."))], "kid": [[gate, *reply(call("ping"))], reply(say("x"))]}
    async with room(tmp_path, **script) as k:
        events = collect(k.session.submit([Text("boss")]))
        await gate.wait()
        k.session.set_mode(Mode.CHAT)
        gate.open()
        await events
        assert k.tools["ping"].started == []


async def test_only_hooks_about_tools_hold(tmp_path):
    class Listening:
        def __init__(self):
            self.heard = []

        def any(self, point):
            return True

        async def fire(self, call: HookCall):
            self.heard.append((call.point, call.tool))
            if call.point is HookPoint.STOP and len(self.heard) < 50:
                return HookAnswer()
            return HookAnswer(halt="enough") if call.tool == "ping" else HookAnswer()

    hooks = Listening()
    async with room(tmp_path, hooks=hooks, boss=[tasks()], kid=[reply(call("ping"))]) as k:
        end = completed(await k.play("boss"))
        assert end.stop_reason is StopReason.END_TURN
        assert "enough" in end.text
    points = [point for point, _ in hooks.heard]
    assert points.count(HookPoint.USER_PROMPT_SUBMIT) == 1
    assert points.count(HookPoint.SESSION_START) <= 1
    assert points.count(HookPoint.TURN_COMPLETED) == 1
    assert (HookPoint.PRE_TOOL_USE, "ping") in hooks.heard


# ---------------------------------------------------------------- limits


async def test_its_steps_are_bounded_and_what_it_has_comes_back(tmp_path):
    kid = [reply(say(f"at {n}"), call("poll", {"job": str(n)})) for n in range(9)]
    async with room(tmp_path, boss=[tasks(), reply(say("."))], kid=kid, subagent_steps=3) as k:
        await k.play("boss")
        (text,) = k.results()
        assert text.startswith("at 2\n\n[The subagent is not done")
        assert "Stopped after 3 steps" in text
        assert "Send another prompt" not in text
        assert not k.tool_results()[0].is_error
        assert len(k.model.requests) == 5


@pytest.mark.parametrize("kids", [1, 3])
async def test_what_the_parent_may_still_spend_is_the_limit(tmp_path, kids):
    names = [f"kid{n}" for n in range(kids)]
    script = {name: [reply(call("poll", {"job": str(n)})) for n in range(30)] for name in names}
    boss = [tasks(*names)]
    limits = Limits(max_cost=0.02)
    async with room(tmp_path, requests=100, boss=boss, limits=limits, **script) as k:
        end = completed(await k.play("boss"))
        assert end.stop_reason is StopReason.MAX_TURN_REQUESTS
        assert 0.02 <= end.cost <= 0.02 + kids * PRICE
        assert k.session.record.cost == pytest.approx(end.cost)


async def test_nothing_begins_when_nothing_is_left(tmp_path):
    async with room(tmp_path, boss=[tasks()], limits=Limits(max_cost=0.001)) as k:
        await k.play("boss")
        assert "limit of this turn is reached" in k.results()[0]
        assert await children(k) == []


# ---------------------------------------------------------------- the registry


async def test_its_session_is_nobody_elses_while_it_works_and_goes_with_its_parent(tmp_path):
    gate = Gate()
    async with room(tmp_path, boss=[tasks(), reply(say("."))], kid=[[gate, *reply(say("x"))]]) as k:
        events = collect(k.session.submit([Text("boss")]))
        await gate.wait()
        (child,) = await children(k)
        with pytest.raises(SessionBusyError, match="subagent"):
            await k.sessions.open(child.id, k.cwd)
        with pytest.raises(SessionBusyError, match="subagent"):
            await k.sessions.delete(child.id)
        gate.open()
        await events
        again = await k.sessions.open(child.id, k.cwd)
        assert completed(await drain_with(k, again)).stop_reason is StopReason.END_TURN
        await k.sessions.close(child.id)
        await k.sessions.delete(k.session.record.id)
        assert await k.store.session(child.id) is None


async def drain_with(k, session):
    k.model.scripts.insert(0, reply(say("as a session of its own")))
    return await drain(session.submit([Text("more")]))
