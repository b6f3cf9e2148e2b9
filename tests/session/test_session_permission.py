"""Who may say that a call runs: the inspectors, the user's answers, and what was stored of them."""

import asyncio

import pytest

from quillback.core.audit import DecidedBy, Decision
from quillback.core.event import StopReason, ToolStarted
from quillback.core.message import Diff, Location, Text
from quillback.core.ports import Access, Choice, EditorError, Mode, Rule, RuleEffect, StoreError
from quillback.inspectors.permission import CHAT
from quillback.session.permits import REJECTED
from support.fakes import FakeTool, Gate, Run, outcome, until
from support.replies import call, reply, say, spec
from support.session_kit import collect, completed, kit

pytestmark = pytest.mark.anyio

DONE = reply(say("done"))


def shell() -> FakeTool:
    return FakeTool(spec("shell", command="string"), access=lambda given: Access(command=given["command"]))


def commands(*lines: str):
    return reply(*(call("shell", {"command": line}) for line in lines))


def asking(path, *scripts, **options):
    return kit(path, *scripts, mode=Mode.APPROVE, tools=[shell()], **options)


# ---------------------------------------------------------------- answers


@pytest.mark.parametrize("choice", [Choice.ALLOW_ONCE, Choice.ALLOW_ALWAYS])
async def test_an_allowed_call_runs(tmp_path, choice):
    async with asking(tmp_path, commands("ls"), DONE) as k:
        k.editor.answers = [choice]
        assert completed(await k.play()).stop_reason is StopReason.END_TURN
        assert k.results() == ["shell"]


@pytest.mark.parametrize("choice", [Choice.REJECT_ONCE, Choice.REJECT_ALWAYS])
async def test_a_rejected_call_does_not_run_and_the_turn_goes_on(tmp_path, choice):
    async with asking(tmp_path, commands("ls"), DONE) as k:
        k.editor.answers = [choice]
        events = await k.play()
        assert completed(events).text == "done"
        (result,) = k.tool_results()
        assert (k.results(), result.is_error) == ([REJECTED], True)
        assert not any(isinstance(e, ToolStarted) for e in events)
        assert k.tools["shell"].started == []


async def test_a_rejection_can_end_the_turn(tmp_path):
    async with asking(tmp_path, reply(say("so"), call("shell", {"command": "ls"})), stop_on_reject=True) as k:
        k.editor.answers = [Choice.REJECT_ONCE]
        end = completed(await k.play())
        assert (end.stop_reason, end.text) == (StopReason.END_TURN, "so")
        assert k.results() == [REJECTED]


async def test_a_denial_that_no_user_made_does_not_end_the_turn(tmp_path):
    async with asking(tmp_path, commands("ls"), DONE, stop_on_reject=True) as k:
        await k.store.add_rule(Rule(k.session.root, "shell(ls)", RuleEffect.REJECT))
        assert completed(await k.play()).text == "done"


@pytest.mark.parametrize("answer", ["yes", "allow", None, True, "reject_once "])
async def test_an_answer_that_was_never_offered_runs_nothing(tmp_path, answer):
    async with asking(tmp_path, commands("ls"), DONE) as k:

        async def odd(*_):
            return answer

        k.editor.ask_permission = odd
        assert completed(await k.play()).text == "done"
        assert k.tools["shell"].started == []
        assert k.tool_results()[0].is_error


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (EditorError("the editor is gone"), "not run: the user could not be asked for permission (the editor is gone)"),
        (RuntimeError("secret"), "shell failed inside: RuntimeError. Try another way."),
        (asyncio.CancelledError(), "shell was interrupted from inside; it may have had effects."),
    ],
)
async def test_a_question_that_fails_runs_nothing(tmp_path, error, said):
    async with asking(tmp_path, commands("ls"), DONE) as k:
        k.editor.answers = [error]
        assert completed(await k.play()).text == "done"
        assert k.tools["shell"].started == []
        assert k.results() == [said]


async def test_the_question_says_what_will_happen(tmp_path):
    class Changing(FakeTool):
        async def prepare(self, call_id, arguments):
            diff = Diff("/x/a", "old", "new")
            return Run(self, call_id, arguments, Access(writes=("/x/a",)), (diff,), (Location("/x/a", 3),))

    async with asking(tmp_path, reply(call("write", {"path": "a"})), DONE) as k:
        k.toolboxes[0]._tools = (Changing(k.tools["write"].spec),)
        k.editor.answers = [Choice.ALLOW_ONCE]
        await k.play()
        (ask,) = k.editor.asks
        assert ask.call == k.session.history[1].tool_uses()[0]
        assert (ask.shown, ask.locations) == ((Diff("/x/a", "old", "new"),), (Location("/x/a", 3),))
        assert ask.rule == "write(/x/a)"
        assert ask.reason == "/x/a is outside the workspace"


async def test_what_came_before_a_question_is_on_disk(tmp_path):
    async with asking(tmp_path, reply(say("I will"), call("shell", {"command": "ls"})), DONE) as k:
        gate = Gate()
        k.editor.answers = [[gate, Choice.ALLOW_ONCE]]
        running = collect(k.session.submit([Text("go")]))
        await gate.wait()
        assert not k.store._outbox
        gate.open()
        await running


# ---------------------------------------------------------------- stored answers


async def test_always_means_this_very_call_and_no_other(tmp_path):
    """P03"""
    lines = ["git status", "git status", "rm x", "git status; rm x", "bash -c 'git status'"]
    async with asking(tmp_path, *(commands(line) for line in lines), DONE) as k:
        k.editor.answers = [Choice.ALLOW_ALWAYS]
        k.editor.always = Choice.REJECT_ONCE
        await k.play()
        assert k.results() == ["shell", "shell", REJECTED, REJECTED, REJECTED]
        assert [a.call.input["command"] for a in k.editor.asks] == [lines[0], *lines[2:]]
        (rule,) = await k.store.rules(k.session.root)
        assert rule == Rule(k.session.root, "shell(git status)", RuleEffect.ALLOW)


async def test_never_is_refused_without_a_question(tmp_path):
    async with asking(tmp_path, commands("rm x"), commands("rm x"), DONE) as k:
        k.editor.answers = [Choice.REJECT_ALWAYS]
        await k.play()
        assert k.results() == [REJECTED, "not run: the user chose to always reject this call"]
        assert len(k.editor.asks) == 1


async def test_an_answer_holds_for_the_calls_that_already_wait_for_theirs(tmp_path):
    async with asking(tmp_path, commands("ls", "ls", "pwd"), DONE) as k:
        k.editor.answers = [Choice.ALLOW_ALWAYS, Choice.REJECT_ONCE]
        await k.play()
        assert sorted(k.results()) == sorted([REJECTED, "shell", "shell"])
        assert [a.call.input["command"] for a in k.editor.asks] == ["ls", "pwd"]


async def test_an_answer_that_cannot_be_stored_runs_nothing(tmp_path):
    async with asking(tmp_path, commands("ls"), DONE) as k:

        async def fails(_):
            raise StoreError("The disk is full.")

        k.store.add_rule = fails
        k.editor.answers = [Choice.ALLOW_ALWAYS]
        assert completed(await k.play()).text == "done"
        assert k.results() == ["not run: The disk is full."]
        assert k.tools["shell"].started == []
        (record,) = await k.store.audits(k.session.record.id)
        assert (record.decision, record.decided_by) == (Decision.DENY, DecidedBy.INSPECTORS)


async def test_stored_answers_outlive_the_session_and_stay_in_its_directory(tmp_path):
    async with asking(tmp_path, commands("ls"), DONE, commands("ls"), DONE, commands("ls"), DONE) as k:
        k.editor.answers = [Choice.ALLOW_ALWAYS]
        await k.play()
        await k.play(session=await k.sessions.new(k.cwd))
        assert len(k.editor.asks) == 1
        (tmp_path / "other").mkdir()
        k.editor.answers = [Choice.REJECT_ONCE]
        await k.play(session=await k.sessions.new(str(tmp_path / "other")))
        assert len(k.editor.asks) == 2


# ---------------------------------------------------------------- questions one at a time


async def test_one_question_at_a_time_and_nobody_else_waits_for_it(tmp_path):
    first = Gate()
    calls = [call("shell", {"command": "a"}), call("shell", {"command": "b"}), call("read", {"path": "x"})]
    async with asking(tmp_path, reply(*calls), DONE) as k:
        k.editor.answers = [[first, Choice.REJECT_ONCE], Choice.ALLOW_ONCE]
        running = collect(k.session.submit([Text("go")]))
        await first.wait()
        await until(lambda: k.results() == ["read x"])
        assert len(k.editor.asks) == 1
        first.open()
        await running
        assert k.ended() == ["read x", REJECTED, "shell"]
        assert k.editor.most_open == 1


async def test_a_call_that_was_allowed_runs_while_the_next_is_asked_about(tmp_path):
    second = Gate()
    async with asking(tmp_path, commands("a", "b"), DONE) as k:
        k.editor.answers = [Choice.ALLOW_ONCE, [second, Choice.ALLOW_ONCE]]
        running = collect(k.session.submit([Text("go")]))
        await second.wait()
        await until(lambda: k.results() == ["shell"])
        assert k.editor.open == 1
        second.open()
        await running
        assert k.results() == ["shell", "shell"]


# ---------------------------------------------------------------- modes


async def test_in_chat_mode_nothing_runs_and_nobody_is_asked(tmp_path):
    async with kit(tmp_path, reply(call("read", {"path": "a"}), call("ping")), DONE, mode=Mode.CHAT) as k:
        assert completed(await k.play()).text == "done"
        assert k.results() == [CHAT, CHAT]
        assert all(r.is_error for r in k.tool_results())
        assert all(not t.started for t in k.tools.values())


async def test_in_chat_mode_a_stored_answer_runs_nothing_either(tmp_path):
    async with kit(tmp_path, reply(call("ping")), DONE, mode=Mode.CHAT) as k:
        await k.store.add_rule(Rule(k.session.root, "ping({})", RuleEffect.ALLOW))
        await k.play()
        assert k.results() == [CHAT]


@pytest.mark.parametrize(("mode", "said"), [(Mode.CHAT, CHAT), (Mode.AUTO, "ping")])
async def test_a_mode_that_is_switched_in_mid_turn_holds_from_the_next_call_on(tmp_path, mode, said):
    async def switch(_):
        k.session.set_mode(mode)
        yield outcome("switched")

    tool = FakeTool(spec("switch", read_only=True), switch)
    async with kit(tmp_path, reply(call("switch")), reply(call("ping")), DONE, mode=Mode.APPROVE, tools=[tool]) as k:
        await k.play()
        assert k.results() == ["switched", said]
        assert k.editor.asks == []
        assert (await k.store.session(k.session.record.id)).mode is mode


async def test_a_switch_to_chat_holds_for_calls_that_wait_for_their_question(tmp_path):
    first = Gate()
    async with asking(tmp_path, commands("a", "b"), DONE) as k:
        k.editor.answers = [[first, Choice.ALLOW_ONCE]]
        running = collect(k.session.submit([Text("go")]))
        await first.wait()
        k.session.set_mode(Mode.CHAT)
        first.open()
        await running
        assert k.results() == [CHAT, CHAT]
