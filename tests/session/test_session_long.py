"""What a session does around its turns: hooks of its moments, commands that clear and compact, messages on the way."""

import asyncio

import pytest
from attrs import define, field

from quillback.core.commands import Begin, Clear, CommandInfo, Compact, Desk, Expand, Say, refusal
from quillback.core.event import Continued, HistoryReplaced, Noticed, StopReason, UsageChanged
from quillback.core.hooks import NOTHING, HookAnswer, HookCall, HookPoint
from quillback.core.message import MessageState, Role, Text, Usage
from quillback.core.model import ProviderEvent
from quillback.core.ports import ToolOutcome
from quillback.session.session import NotRunningError
from support.fakes import FakeTool, Gate, until
from support.replies import call, reply, say, spec
from support.session_kit import collect, completed, drain, kit

pytestmark = pytest.mark.anyio
FULL = 195_000


@define
class FakeHooks:
    """Answers each moment as told, and remembers what it was asked."""

    answers: dict[HookPoint, HookAnswer] = field(factory=dict)
    heard: list[HookCall] = field(factory=list)
    hold: asyncio.Event | None = None

    def any(self, point: HookPoint) -> bool:
        return point in self.answers

    async def fire(self, moment: HookCall) -> HookAnswer:
        self.heard.append(moment)
        if self.hold is not None:
            await self.hold.wait()
        return self.answers.get(moment.point, NOTHING)

    def points(self) -> list[HookPoint]:
        return [c.point for c in self.heard]


@define
class FakeCommands:
    results: dict[str, object]

    def available(self) -> tuple[CommandInfo, ...]:
        return ()

    async def changed(self) -> None:
        await asyncio.Event().wait()

    async def run(self, name: str, argument: str, desk: Desk):
        return self.results.get(name)


def full(text: str) -> list[ProviderEvent]:
    return reply(say(text), usage=Usage(FULL, 100))


def sent(k, at: int = -1) -> str:
    return str(k.model.requests[at].messages)


def user_saw(k) -> list[str]:
    return [m.text() for m in k.session.history if m.visible_to_user]


# ---------------------------------------------------------------- hooks


async def test_context_of_hooks_comes_before_the_prompt_and_only_the_model_sees_it(tmp_path):
    hooks = FakeHooks(
        {
            HookPoint.SESSION_START: HookAnswer(context=("it is monday",)),
            HookPoint.USER_PROMPT_SUBMIT: HookAnswer(context=("the build is red",), notes=("careful",)),
        }
    )
    async with kit(tmp_path, reply(say("ok")), reply(say("ok")), hooks=hooks) as k:
        events = await k.play("fix it")
        text = sent(k)
        assert text.index("it is monday") < text.index("the build is red") < text.index("fix it")
        assert user_saw(k) == ["fix it", "ok"]
        assert [e.title for e in events if isinstance(e, Noticed)] == ["careful"]
        await k.play("again")
        assert hooks.points() == [
            HookPoint.SESSION_START,
            HookPoint.USER_PROMPT_SUBMIT,
            HookPoint.USER_PROMPT_SUBMIT,
        ]
        assert hooks.heard[0].fields["source"] == "startup"
        assert hooks.heard[1].fields["prompt"] == "fix it"


async def test_a_prompt_that_a_hook_refuses_never_reaches_the_model(tmp_path):
    hooks = FakeHooks({HookPoint.USER_PROMPT_SUBMIT: HookAnswer(blocked="no secrets")})
    async with kit(tmp_path, reply(say("ok")), hooks=hooks) as k:
        done = completed(await k.play("my key is x"))
        assert (done.stop_reason, done.error, done.refused) == (StopReason.END_TURN, "", True)
        assert "no secrets" in done.text
        assert k.model.requests == []
        hooks.answers.clear()
        await k.play("hello")
        assert "my key" not in sent(k)
        assert user_saw(k)[0] == "my key is x"


async def test_a_cancel_while_a_hook_runs_is_answered_and_keeps_the_text(tmp_path):
    hooks = FakeHooks({HookPoint.USER_PROMPT_SUBMIT: NOTHING}, hold=asyncio.Event())
    async with kit(tmp_path, reply(say("ok")), hooks=hooks) as k:
        running = collect(k.session.submit([Text("slow")]))
        await until(lambda: hooks.heard)
        k.session.cancel()
        assert completed(await running).stop_reason is StopReason.CANCELLED
        assert [(m.text(), m.state) for m in k.session.history] == [("slow", MessageState.NOT_RUN)]
        hooks.hold.set()
        assert completed(await k.play("next")).text == "ok"


async def test_hooks_that_only_listen_hold_nobody_up(tmp_path):
    hooks = FakeHooks({HookPoint.TURN_COMPLETED: NOTHING, HookPoint.SESSION_END: NOTHING}, hold=asyncio.Event())
    async with kit(tmp_path, reply(say("one")), reply(say("two")), hooks=hooks) as k:
        assert completed(await k.play()).text == "one"
        assert completed(await k.play()).text == "two"
    assert hooks.points() == [HookPoint.TURN_COMPLETED, HookPoint.TURN_COMPLETED, HookPoint.SESSION_END]
    assert hooks.heard[0].fields["last_assistant_message"] == "one"


async def test_a_stop_hook_keeps_the_turn_going_with_its_reason(tmp_path):
    hooks = FakeHooks({HookPoint.STOP: HookAnswer(blocked="run the tests")})
    scripts = [reply(say(f"done {n}")) for n in range(9)]
    async with kit(tmp_path, *scripts, hooks=hooks) as k:
        events = await k.play()
        assert [e.reason for e in events if isinstance(e, Continued)] == ["stop_hook"] * 8
        assert "run the tests" in sent(k)
        assert [c.fields["stop_hook_active"] for c in hooks.heard] == [False, *[True] * 8]


# ---------------------------------------------------------------- compaction


async def test_a_hook_may_add_to_a_compaction_but_not_stop_one_that_is_due(tmp_path):
    hooks = FakeHooks({HookPoint.PRE_COMPACT: HookAnswer(context=("keep the port numbers",))})
    async with kit(tmp_path, full("one"), reply(say("SUMMARY")), reply(say("two")), hooks=hooks) as k:
        await k.play("first")
        events = await k.play("second")
        assert hooks.heard[0].fields["trigger"] == "auto"
        assert "keep the port numbers" in sent(k, 1)
        assert "SUMMARY" in sent(k)
        assert len([e for e in events if isinstance(e, HistoryReplaced)]) == 1
        assert k.model.requests[1].side


async def test_a_hook_may_stop_one_that_was_asked_for(tmp_path):
    hooks = FakeHooks({HookPoint.PRE_COMPACT: HookAnswer(blocked="not now")})
    commands = FakeCommands({"compact": Compact("the API")})
    async with kit(tmp_path, reply(say("one")), reply(say("two")), hooks=hooks, commands=commands) as k:
        await k.play("first")
        done = completed(await k.play("/compact the API"))
        assert "not now" in done.text
        assert hooks.heard[0].fields == {
            "permission_mode": "auto",
            "trigger": "manual",
            "custom_instructions": "the API",
        }
        await k.play("second")
        assert "first" in sent(k)


async def test_after_it_a_session_that_is_opened_again_shows_all_and_sends_little(tmp_path):
    async with kit(tmp_path, full("one"), reply(say("SUMMARY")), reply(say("two")), reply(say("three"))) as k:
        await k.play("first")
        await k.play("second")
        await k.sessions.close(k.session.record.id)
        session = await k.sessions.open(k.session.record.id, k.cwd)
        older = await session.past.older()
        assert session.past.follows(older)
        assert [m.text() for m in [*older, *session.history] if m.visible_to_user and m.role is Role.USER] == [
            "first",
            "second",
        ]
        await drain(session.submit([Text("third")]))
        assert "SUMMARY" in sent(k)
        assert "'one'" not in sent(k)


# ---------------------------------------------------------------- commands


async def test_an_answer_of_a_command_is_for_the_user_only(tmp_path):
    async with kit(tmp_path, reply(say("ok")), commands=FakeCommands({"cost": Say("$1")})) as k:
        done = completed(await k.play("/cost"))
        assert (done.text, k.model.requests) == ("$1", [])
        assert done.message_id
        await k.play("hello")
        assert "/cost" not in sent(k)
        assert "$1" not in sent(k)
        assert user_saw(k) == ["/cost", "$1", "hello", "ok"]


async def test_clear_lets_the_model_begin_anew_and_the_user_keeps_all(tmp_path):
    commands = FakeCommands({"clear": Clear("Forgotten.")})
    async with kit(tmp_path, reply(say("one")), reply(say("two")), commands=commands) as k:
        await k.play("first")
        events = await k.play("/clear")
        assert [type(e) for e in events if isinstance(e, HistoryReplaced)] == [HistoryReplaced]
        await k.play("second")
        assert "first" not in sent(k)
        stored = [m.text() for m in await k.stored() if m.visible_to_user]
        assert stored == ["first", "one", "/clear", "Forgotten.", "second", "two"]


async def test_a_prompt_of_a_command_goes_to_the_model_in_place_of_what_was_typed(tmp_path):
    commands = FakeCommands({"fix": Expand((Text("Fix issue 7."),))})
    async with kit(tmp_path, reply(say("ok")), commands=commands) as k:
        await k.play("/fix 7")
        assert "Fix issue 7." in sent(k)
        assert "/fix" not in sent(k)
        assert user_saw(k) == ["/fix 7", "ok"]


async def test_a_goal_starts_at_once_and_is_checked(tmp_path):
    commands = FakeCommands({"goal": Begin("On it.", "Work towards: green tests.", goal="green tests")})
    async with kit(tmp_path, reply(say("done")), reply(say("checked")), commands=commands) as k:
        events = await k.play("/goal green tests")
        assert [e.reason for e in events if isinstance(e, Continued)] == ["goal"]
        assert user_saw(k) == ["/goal green tests", "On it.", "done", "checked"]
        assert completed(events).text == "checked"


async def test_an_unknown_command_is_a_prompt(tmp_path):
    async with kit(tmp_path, reply(say("ok")), commands=FakeCommands({})) as k:
        await k.play("/nope please")
        assert "/nope please" in sent(k)


# ---------------------------------------------------------------- steering


async def test_a_hook_may_refuse_what_the_user_adds(tmp_path):
    hooks = FakeHooks({HookPoint.USER_PROMPT_SUBMIT: NOTHING})
    gate = asyncio.Event()

    async def slow(_):
        await gate.wait()
        for event in reply(say("ok")):
            yield event

    async with kit(tmp_path, slow, hooks=hooks) as k:
        with pytest.raises(NotRunningError):
            await k.session.steer([Text("early")])
        running = collect(k.session.submit([Text("go")]))
        await until(lambda: k.model.requests)
        hooks.answers[HookPoint.USER_PROMPT_SUBMIT] = HookAnswer(blocked="no")
        with pytest.raises(ValueError, match="no"):
            await k.session.steer([Text("rm everything")])
        gate.set()
        assert completed(await running).text == "ok"


async def test_what_the_user_adds_is_marked_as_such_and_apart_from_what_a_hook_adds_to_it(tmp_path):
    gate = Gate()
    hooks = FakeHooks({HookPoint.USER_PROMPT_SUBMIT: HookAnswer(context=("it is monday",))})

    async def held(run):
        await gate()
        yield ToolOutcome(content=(Text("done"),))

    scripts = reply(call("ask")), reply(say("ok"))
    async with kit(tmp_path, *scripts, tools=(FakeTool(spec("ask"), held),), hooks=hooks) as k:
        running = collect(k.session.submit([Text("go")]))
        await gate.wait()
        await k.session.steer([Text("also this")])
        gate.open()
        await running
        prompts = [(m.text(), m.steered) for m in await k.stored() if m.role is Role.USER and m.visible_to_user]
        assert prompts == [("go", False), ("also this\n\nit is monday", True)]


@pytest.mark.parametrize(
    ("result", "refused"),
    [(Say("It is."), False), (refusal("It is not."), True), (Clear("Gone."), False), (Compact(), False)],
)
async def test_the_end_of_a_turn_says_whether_a_command_was_carried_out(tmp_path, result, refused):
    async with kit(tmp_path, commands=FakeCommands({"it": result})) as k:
        end = completed(await k.play("/it"))
        assert (end.stop_reason, end.error, end.refused) == (StopReason.END_TURN, "", refused)


async def test_a_compaction_by_hand_that_fails_was_not_carried_out(tmp_path):
    hooks = FakeHooks({HookPoint.PRE_COMPACT: HookAnswer(blocked="not now")})
    async with kit(tmp_path, reply(say("one")), commands=FakeCommands({"compact": Compact()}), hooks=hooks) as k:
        await k.play("first")
        end = completed(await k.play("/compact"))
        assert end.refused
        assert "not now" in end.text


async def test_the_tokens_of_a_summary_are_the_turns(tmp_path):
    summary = reply(say("SUMMARY"), usage=Usage(500, 50))
    async with kit(tmp_path, reply(say("one")), summary, commands=FakeCommands({"compact": Compact()})) as k:
        await k.play("first")
        end = completed(await k.play("/compact"))
        assert (end.input_tokens, end.output_tokens) == (500, 50)


async def test_what_hooks_say_after_the_last_turn_waits_for_who_asks(tmp_path):
    points = {
        HookPoint.TURN_COMPLETED: HookAnswer(notes=("well done",)),
        HookPoint.SESSION_END: HookAnswer(notes=("bye",)),
    }
    async with kit(tmp_path, reply(say("one")), hooks=FakeHooks(points)) as k:
        assert [e for e in await k.play("first") if isinstance(e, Noticed)] == []
        await k.sessions.close(k.session.record.id)
        assert [noticed.title for noticed in k.session.take_notes()] == ["well done", "bye"]
        assert k.session.take_notes() == []


async def test_reminders_and_summaries_leave_calls_and_results_together(tmp_path):
    scripts = [reply(call("ping")), full("done"), reply(say("SUMMARY")), reply(call("ping")), reply(say("end"))]
    async with kit(tmp_path, *scripts) as k:
        await k.play("first")
        assert completed(await k.play("second")).text == "end"


async def test_after_a_failure_no_summary_is_asked_for_in_the_next_turn(tmp_path):
    refused = reply(say("I will not."), stop="refusal")
    async with kit(tmp_path, full("one"), refused, refused, full("two"), full("three")) as k:
        await k.play("first")
        await k.play("second")
        await k.play("third")
        assert [r.side for r in k.model.requests] == [False, True, True, False, False]


async def test_clear_tells_how_full_the_window_is_now(tmp_path):
    async with kit(tmp_path, full("one"), commands=FakeCommands({"clear": Clear("Forgotten.")})) as k:
        await k.play("first")
        events = await k.play("/clear")
        (usage,) = [e for e in events if isinstance(e, UsageChanged)]
        assert 0 < usage.used < 1_000


async def test_a_start_hook_is_heard_though_its_first_prompt_was_cancelled(tmp_path):
    hooks = FakeHooks({HookPoint.SESSION_START: HookAnswer(context=("it is monday",))}, hold=asyncio.Event())
    async with kit(tmp_path, reply(say("ok")), hooks=hooks) as k:
        running = collect(k.session.submit([Text("slow")]))
        await until(lambda: hooks.heard)
        k.session.cancel()
        await running
        hooks.hold.set()
        await k.play("again")
        assert "it is monday" in sent(k)


async def test_a_message_that_comes_too_late_for_its_turn_is_told_to_be(tmp_path):
    gate = Gate()

    async def held(run):
        await gate()
        yield ToolOutcome(content=(Text("done"),), stop_turn=True, say="Enough.")

    async with kit(tmp_path, reply(call("ask")), tools=(FakeTool(spec("ask"), held),)) as k:
        running = collect(k.session.submit([Text("go")]))
        await gate.wait()
        await k.session.steer([Text("also this")])
        gate.open()
        events = await running
        assert any("was not run" in e.title for e in events if isinstance(e, Noticed))
        (late,) = [m for m in await k.stored() if m.text() == "also this"]
        assert (late.state, late.visible_to_model) == (MessageState.NOT_RUN, False)


@pytest.mark.parametrize("parts", [(), (Text(""),), (Text(" \n"),)])
async def test_a_message_that_says_nothing_is_refused(tmp_path, parts):
    async with kit(tmp_path) as k:
        with pytest.raises(ValueError, match="says nothing"):
            await k.session.steer(parts)
        assert await k.stored() == []


async def test_a_turn_that_only_compacts_takes_no_message(tmp_path):
    gate = Gate()
    commands = FakeCommands({"compact": Compact()})
    async with kit(tmp_path, reply(say("one")), [gate, *reply(say("SUMMARY"))], commands=commands) as k:
        await k.play("first")
        running = collect(k.session.submit([Text("/compact")]))
        await gate.wait()
        with pytest.raises(NotRunningError):
            await k.session.steer([Text("also this")])
        gate.open()
        assert not completed(await running).error
