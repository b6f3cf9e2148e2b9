"""Hooks around tool calls: they make a call stricter, change it, add to its result, and never loosen anything."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest
from attrs import define, evolve, field

from quillback.core.audit import Decision
from quillback.core.event import Event, MessageAdded, Noticed, StopReason, ToolChanged, ToolStarted
from quillback.core.hooks import NOTHING, HookAnswer, HookCall, HookPoint
from quillback.core.message import MessageState, Text, ToolKind
from quillback.core.ports import Access, Choice, Mode, ToolError, ToolOutcome
from quillback.core.verdict import Allow, Ask, Deny
from quillback.inspectors.permission import PermissionInspector
from quillback.inspectors.security import SecurityInspector
from quillback.session.permits import CHAT, REJECTED
from support.fakes import FakeTool, Gate, outcome
from support.replies import call, reply, say, spec
from support.session_kit import Kit, collect, completed, kit

pytestmark = pytest.mark.anyio

PRE, POST, FAILED = HookPoint.PRE_TOOL_USE, HookPoint.POST_TOOL_USE, HookPoint.POST_TOOL_USE_FAILURE
DONE = reply(say("done"))
Said = HookAnswer | Callable[[HookCall], HookAnswer | Awaitable[HookAnswer]]


@define
class Says:
    """Hooks that answer as the test says, and remember what they were told."""

    answers: Mapping[HookPoint, Said]
    calls: list[HookCall] = field(factory=list)

    def any(self, point: HookPoint) -> bool:
        return point in self.answers

    async def fire(self, call: HookCall) -> HookAnswer:
        self.calls.append(call)
        answer = self.answers[call.point]
        if callable(answer):
            answer = answer(call)
        return answer if isinstance(answer, HookAnswer) else await answer


def hooks(*, pre: Said | None = None, post: Said | None = None, failed: Said | None = None) -> Says:
    given = {PRE: pre, POST: post, FAILED: failed}
    return Says({point: answer for point, answer in given.items() if answer is not None})


def shell(**more: Any) -> FakeTool:
    tool = spec("shell", ["command"], command="string", kind=ToolKind.EXECUTE)
    return FakeTool(tool, access=lambda given: Access(command=given["command"], cwd="/"), **more)


def to(command: str) -> HookAnswer:
    return HookAnswer(input={"command": command})


def texts(k: Kit) -> list[list[str]]:
    return [[part.text for part in result.content] for result in k.tool_results()]


def notices(events: list[Event]) -> list[str]:
    return [event.title for event in events if isinstance(event, Noticed)]


# ---------------------------------------------------------------- before


async def test_a_no_keeps_the_call_from_being_looked_at_and_is_written_down_as_the_hooks(tmp_path):
    said = hooks(pre=HookAnswer(blocked="not on Friday"), post=NOTHING, failed=NOTHING)
    looked: list[Any] = []

    async def before(given: Any) -> None:
        looked.append(given)

    tool = FakeTool(spec("deploy"), before=before)
    async with kit(tmp_path, reply(call("deploy")), DONE, tools=[tool], hooks=said) as k:
        assert completed(await k.play()).text == "done"
        assert texts(k) == [["not run: a hook said no: not on Friday"]]
        assert k.tool_results()[0].is_error
        assert (looked, tool.started, k.editor.asks) == ([], [], [])
        assert [c.point for c in said.calls] == [PRE]
        (record,) = await k.store.audits(k.session.record.id)
        assert record.decision is Decision.DENY
        assert [(f.inspector, f.verdict) for f in record.findings] == [("hook", Deny("a hook said no: not on Friday"))]


async def test_what_hooks_are_told(tmp_path):
    said = hooks(pre=NOTHING, post=NOTHING, failed=NOTHING)

    async def fails(run):
        raise ToolError("no such thing")
        yield

    tool = FakeTool(spec("odd"), body=fails)
    script = reply(call("read", {"path": "a"})), reply(call("odd"))
    async with kit(tmp_path, *script, DONE, tools=[tool], hooks=said) as k:
        await k.play()
        first, second = (m.tool_uses()[0].id for m in k.session.history if m.tool_uses())
        common = {"permission_mode": "auto", "tool_input": {"path": "a"}, "tool_use_id": first}
        response = {"text": "read a", "images": 0, "details": None}
        assert said.calls[0] == HookCall(PRE, "read", common)
        assert said.calls[1] == HookCall(POST, "read", {**common, "tool_response": response})
        assert said.calls[3].point is FAILED
        assert said.calls[3].fields["tool_use_id"] == second
        assert said.calls[3].fields["error"] == "no such thing"


async def test_a_hook_that_wants_a_question_gets_one_in_every_mode_and_nothing_lasting_is_offered(tmp_path):
    said = hooks(pre=HookAnswer(ask="it costs money"))
    async with kit(tmp_path, reply(call("ping")), reply(call("ping")), DONE, hooks=said) as k:
        k.editor.answers = [Choice.ALLOW_ONCE, Choice.REJECT_ONCE]
        await k.play()
        assert [ask.reason for ask in k.editor.asks] == ["a hook wants it: it costs money"] * 2
        assert [ask.rule for ask in k.editor.asks] == ["", ""]
        assert k.results() == ["ping", REJECTED]
        records = await k.store.audits(k.session.record.id)
        assert [r.decision for r in records] == [Decision.ALLOW, Decision.DENY]
        assert all(("hook", Ask("a hook wants it: it costs money")) in _said(r) for r in records)


def _said(record):
    return [(f.inspector, f.verdict) for f in record.findings]


async def test_a_hook_that_says_nothing_leaves_the_question_of_the_mode(tmp_path):
    async with kit(tmp_path, reply(call("ping")), DONE, mode=Mode.APPROVE, hooks=hooks(pre=NOTHING)) as k:
        k.editor.answers = [Choice.REJECT_ONCE]
        await k.play()
        assert k.results() == [REJECTED]


@pytest.mark.parametrize(("answer", "results"), [(Choice.REJECT_ONCE, [REJECTED]), (Choice.ALLOW_ONCE, ["ping"])])
async def test_also_about_a_tool_of_the_editor(tmp_path, answer, results):
    tool = FakeTool(evolve(spec("mine"), frontend=True), body=lambda run: _say("ping"))
    async with kit(tmp_path, reply(call("mine")), DONE, tools=[tool], hooks=hooks(pre=HookAnswer(ask="odd"))) as k:
        k.editor.answers = [answer]
        await k.play()
        assert k.results() == results


async def _say(text):
    yield outcome(text)


async def test_a_tool_of_the_editor_can_be_stopped_and_is_not_asked_about_otherwise(tmp_path):
    tool = FakeTool(evolve(spec("mine"), frontend=True))
    no = hooks(pre=lambda call: HookAnswer(blocked="no") if no.calls[1:] else NOTHING)
    async with kit(
        tmp_path, reply(call("mine")), reply(call("mine")), DONE, mode=Mode.APPROVE, tools=[tool], hooks=no
    ) as k:
        await k.play()
        assert k.results() == ["mine", "not run: a hook said no: no"]


async def test_nothing_is_fired_in_chat_mode(tmp_path):
    said = hooks(pre=NOTHING, post=NOTHING, failed=NOTHING)
    async with kit(tmp_path, reply(call("ping")), DONE, mode=Mode.CHAT, hooks=said) as k:
        await k.play()
        assert k.results() == [CHAT]
        assert said.calls == []


# ---------------------------------------------------------------- other arguments


async def test_what_really_runs_is_shown_told_and_written_down(tmp_path):
    tool = shell(body=lambda run: _say(f"ran {run.arguments['command']}"))
    script = reply(call("shell", {"command": "ls"}))
    async with kit(tmp_path, script, DONE, tools=[tool], hooks=hooks(pre=to("ls -l"))) as k:
        events = await k.play()
        assert texts(k) == [["ran ls -l", '\n\nA hook changed the arguments; what counts is: {"command": "ls -l"}']]
        changed = next(e for e in events if isinstance(e, ToolChanged))
        started = next(e for e in events if isinstance(e, ToolStarted))
        assert events.index(changed) < events.index(started)
        assert changed.call == started.call
        assert changed.call.input == {"command": "ls -l"}
        assert k.session.history[1].tool_uses()[0].input == {"command": "ls"}
        (record,) = await k.store.audits(k.session.record.id)
        assert record.arguments == '{"command": "ls -l"}'
        assert ("hook", Allow(details=("a hook changed the arguments",))) in _said(record)


async def test_dangerous_arguments_of_a_hook_are_denied_like_the_models(tmp_path):
    tool = shell()
    chain = [SecurityInspector(("/nowhere",), outputs="/nowhere/out"), PermissionInspector()]
    script = reply(call("shell", {"command": "echo hello"}))
    async with kit(tmp_path, script, DONE, tools=[tool], inspectors=chain, hooks=hooks(pre=to("rm -rf /"))) as k:
        await k.play()
        ((said, line),) = texts(k)
        assert said.startswith("not run: ")
        assert "rm -rf /" in line
        assert tool.started == []


async def test_arguments_of_a_hook_need_the_permission_that_the_models_would_need(tmp_path):
    tool = shell()
    script = reply(call("read", {"path": "a"}))
    write = hooks(pre=HookAnswer(input={"path": "b"}))
    async with kit(tmp_path, script, DONE, mode=Mode.APPROVE, tools=[tool], hooks=write) as k:
        k.tools["read"].access = lambda given: Access(reads=(f"/elsewhere/{given['path']}",))
        k.editor.answers = [Choice.REJECT_ONCE]
        await k.play()
        (ask,) = k.editor.asks
        assert ask.call.input == {"path": "b"}
        assert ask.call.title == "read b"
        assert texts(k) == [[REJECTED, '\n\nA hook changed the arguments; what counts is: {"path": "b"}']]


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"comand": "ls"}, "missing required parameter: command"),
        ({"command": 3}, "command must be string, not integer"),
        ({"command": "ls", "more": 1}, "unknown parameter more"),
        ({"command": "\ud800"}, "half of a character"),
    ],
)
async def test_arguments_that_do_not_fit_do_not_run(tmp_path, given, why):
    tool = shell()
    script = reply(call("shell", {"command": "ls"}))
    async with kit(tmp_path, script, DONE, tools=[tool], hooks=hooks(pre=HookAnswer(input=given))) as k:
        events = await k.play()
        (result,) = k.results()
        assert result.startswith("not run: a hook changed the arguments to ")
        assert why in result
        assert tool.started == []
        assert not [e for e in events if isinstance(e, ToolChanged)]
        (record,) = await k.store.audits(k.session.record.id)
        assert record.decision is Decision.DENY


async def test_the_same_arguments_are_no_change(tmp_path):
    script = reply(call("shell", {"command": "ls"}))
    async with kit(tmp_path, script, DONE, tools=[shell()], hooks=hooks(pre=to("ls"))) as k:
        events = await k.play()
        assert not [e for e in events if isinstance(e, ToolChanged)]
        assert len(texts(k)[0]) == 1


async def test_calls_that_meet_at_a_file_only_after_a_change_run_in_order(tmp_path):
    """The hook of the first call is slow, and sends it to the file of the second one."""
    gate = Gate()

    async def one_file(given: HookCall) -> HookAnswer:
        if given.fields["tool_input"]["path"] == "a":
            await gate()
            return HookAnswer(input={"path": "b"})
        return NOTHING

    async def slow(run):
        for _ in range(20):
            await asyncio.sleep(0)
        yield outcome(run.arguments["path"])

    said = hooks(pre=one_file)
    script = reply(call("write", {"path": "a"}), call("write", {"path": "b"}), call("write", {"path": "c"}))
    async with kit(tmp_path, script, DONE, hooks=said) as k:
        k.tools["write"].body = slow
        prompt = collect(k.session.submit([Text("go")]))
        await gate.wait()
        gate.open()
        await prompt
        log = [entry for entry in k.tools["write"].log if entry[1] == "b"]
        assert log == [("start", "b"), ("end", "b"), ("start", "b"), ("end", "b")]
        first = next(m for m in k.session.history if m.tool_uses()).tool_uses()[0].id
        started = k.tools["write"].started
        second = next(m for m in k.session.history if m.tool_uses()).tool_uses()[1].id
        assert started.index(first) < started.index(second)


# ---------------------------------------------------------------- after


async def test_what_hooks_add_comes_after_the_result(tmp_path):
    said = hooks(pre=HookAnswer(context=("mind the gap",)), post=HookAnswer(context=("lint: 2",), blocked="not tidy"))
    async with kit(tmp_path, reply(call("ping")), DONE, hooks=said) as k:
        await k.play()
        assert k.results() == ["ping\n\nFrom a hook: mind the gap\n\nFrom a hook: lint: 2\n\nA hook objects: not tidy"]
        assert not k.tool_results()[0].is_error


async def test_a_failure_has_hooks_of_its_own(tmp_path):
    async def fails(run):
        yield outcome("bad", is_error=True)

    said = hooks(post=HookAnswer(context=("good",)), failed=HookAnswer(context=("try make",)))
    async with kit(tmp_path, reply(call("ping")), DONE, hooks=said) as k:
        k.tools["ping"].body = fails
        await k.play()
        assert k.results() == ["bad\n\nFrom a hook: try make"]
        assert k.tool_results()[0].is_error


async def test_what_hooks_add_to_a_result_without_text_begins_with_no_gap(tmp_path):
    async def empty(run):
        yield ToolOutcome(content=())

    async with kit(tmp_path, reply(call("ping")), DONE, hooks=hooks(post=HookAnswer(context=("one", "two")))) as k:
        k.tools["ping"].body = empty
        await k.play()
        assert k.results() == ["From a hook: one\n\nFrom a hook: two"]


async def test_a_call_that_the_user_rejected_has_no_hooks_after_it(tmp_path):
    said = hooks(post=NOTHING, failed=NOTHING)
    async with kit(tmp_path, reply(call("ping")), DONE, mode=Mode.APPROVE, hooks=said) as k:
        k.editor.answers = [Choice.REJECT_ONCE]
        await k.play()
        assert said.calls == []


async def test_hooks_that_break_their_promise_lose_nothing(tmp_path):
    def breaks(call: HookCall) -> HookAnswer:
        raise RuntimeError("inside")

    async with kit(tmp_path, reply(call("ping")), DONE, hooks=hooks(post=breaks)) as k:
        assert completed(await k.play()).text == "done"
        assert k.results() == ["ping"]


async def test_what_hooks_say_to_the_user_is_shown(tmp_path):
    said = hooks(pre=HookAnswer(notes=("one",)), post=HookAnswer(notes=("two",)))
    async with kit(tmp_path, reply(call("ping")), DONE, hooks=said) as k:
        assert notices(await k.play()) == ["one", "two"]


# ---------------------------------------------------------------- the end of the turn


@pytest.mark.parametrize(
    ("said", "result"),
    [
        ({"pre": HookAnswer(halt="budget is gone")}, "not run: a hook ended the turn: budget is gone"),
        ({"post": HookAnswer(halt="budget is gone")}, "ping"),
    ],
)
async def test_a_hook_ends_the_turn(tmp_path, said, result):
    async with kit(tmp_path, reply(call("ping")), hooks=hooks(**said)) as k:
        end = completed(await k.play())
        assert end.stop_reason is StopReason.END_TURN
        assert end.text == "A hook ended the turn: budget is gone"
        assert k.results() == [result]
        assert len(k.model.requests) == 1


@pytest.mark.parametrize("point", [PRE, POST])
async def test_a_cancel_ends_the_hooks_and_loses_no_result(tmp_path, point):
    gate, ended = Gate(), asyncio.Event()

    async def hangs(call: HookCall) -> HookAnswer:
        try:
            await gate()
        finally:
            ended.set()
        return NOTHING

    async with kit(tmp_path, reply(call("ping")), hooks=Says({point: hangs})) as k:
        prompt = collect(k.session.submit([Text("go")]))
        await gate.wait()
        k.session.cancel()
        events = await prompt
        assert completed(events).stop_reason is StopReason.CANCELLED
        await asyncio.wait_for(ended.wait(), 5)
        (result,) = k.tool_results()
        if point is POST:
            assert (k.results(), result.is_error) == (["ping"], False)
        else:
            assert result.is_error
            assert "ancelled" in k.results()[0]
        assert [e for e in events if isinstance(e, MessageAdded) and e.message.tool_results()]
        assert all(m.state is MessageState.COMPLETE for m in await k.stored())
