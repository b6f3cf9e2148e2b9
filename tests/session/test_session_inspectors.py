"""The inspectors look at every valid call before it runs; what fails among them never lets a call through."""

import asyncio

import pytest

from quillback.core.event import MessageAdded, ToolStarted
from quillback.core.message import ToolUse
from quillback.core.ports import Access, Choice, Inspection, Mode, Rule, RuleEffect
from quillback.core.verdict import Allow, Ask, Deny
from quillback.inspectors import chain
from quillback.session.permits import REJECTED
from support.fakes import FakeTool, Gate
from support.replies import call, reply, say, spec
from support.session_kit import completed, kit

pytestmark = pytest.mark.anyio

DONE = reply(say("done"))


class Says:
    def __init__(self, verdict, name="says") -> None:
        self.name = name
        self.verdict = verdict
        self.seen = []

    async def inspect(self, inspection):
        self.seen.append(inspection)
        if isinstance(self.verdict, BaseException):
            raise self.verdict
        if isinstance(self.verdict, Gate):
            await self.verdict()
        return self.verdict


@pytest.mark.parametrize("nonsense", [RuntimeError("x"), None, "allow", True, TimeoutError(), Gate])
async def test_an_inspector_that_fails_hangs_or_talks_nonsense_means_a_question(tmp_path, nonsense, monkeypatch):
    monkeypatch.setattr(chain, "INSPECTOR_SECONDS", 0.05)
    bad = Says(nonsense() if isinstance(nonsense, type) else nonsense, "bad")
    async with kit(tmp_path, reply(call("ping")), DONE, inspectors=[Says(Allow()), bad, Says(Allow())]) as k:
        k.editor.answers = [Choice.REJECT_ONCE]
        await k.play()
        assert k.results() == [REJECTED]
        assert "bad inspector" in k.editor.asks[0].reason


async def test_the_reasons_of_a_denial_are_the_models_and_nobody_is_asked(tmp_path):
    said = [Says(Ask("odd")), Says(Deny("it deletes things")), Says(Deny("it is far away"))]
    async with kit(tmp_path, reply(call("ping")), DONE, inspectors=said) as k:
        assert completed(await k.play()).text == "done"
        assert k.results() == ["not run: it deletes things; it is far away; odd"]
        assert k.editor.asks == []


async def test_without_inspectors_the_user_is_asked(tmp_path):
    async with kit(tmp_path, reply(call("ping")), DONE, inspectors=[]) as k:
        k.editor.answers = [Choice.ALLOW_ONCE]
        await k.play()
        assert len(k.editor.asks) == 1


async def test_an_inspector_sees_the_call_and_what_it_will_touch(tmp_path):
    eyes = Says(Allow())
    tool = FakeTool(spec("shell", command="string"), access=lambda given: Access(command=given["command"]))
    script = reply(call("shell", {"command": "ls"}))
    async with kit(tmp_path, script, DONE, mode=Mode.APPROVE, tools=[tool], inspectors=[eyes]) as k:
        await k.store.add_rule(Rule(k.session.root, "shell(x)", RuleEffect.REJECT))
        await k.play()
        (seen,) = eyes.seen
        assert seen.call == k.session.history[1].tool_uses()[0]
        assert (seen.session_id, seen.mode) == (k.session.record.id, Mode.APPROVE)
        assert seen.access == Access(command="ls")
        assert seen.roots == (k.session.root,)
        assert seen.spec == k.tools["shell"].spec
        assert [r.pattern for r in seen.rules] == ["shell(x)"]


async def test_a_call_is_inspected_once_where_nobody_had_to_wait(tmp_path):
    eyes = Says(Ask("odd"))
    async with kit(tmp_path, reply(call("ping")), DONE, inspectors=[eyes]) as k:
        k.editor.answers = [Choice.ALLOW_ONCE]
        await k.play()
        assert len(eyes.seen) == 1


async def test_an_inspector_that_is_cancelled_from_inside_runs_nothing(tmp_path):
    async with kit(tmp_path, reply(call("ping")), DONE, inspectors=[Says(asyncio.CancelledError())]) as k:
        assert completed(await k.play()).text == "done"
        assert k.tools["ping"].started == []


async def test_a_call_that_cannot_be_valid_is_never_inspected(tmp_path):
    eyes = Says(Allow())
    async with kit(tmp_path, reply(call("nope"), call("read", {})), DONE, inspectors=[eyes]) as k:
        await k.play()
        assert eyes.seen == []


async def test_read_only_calls_inside_need_no_question_and_others_do(tmp_path):
    async with kit(tmp_path, reply(call("read", {"path": "a"}), call("ping")), DONE, mode=Mode.APPROVE) as k:
        k.editor.answers = [Choice.REJECT_ONCE]
        events = await k.play()
        assert sorted(k.results()) == sorted(["read a", REJECTED])
        assert [e.call.name for e in events if isinstance(e, ToolStarted)] == ["read"]
        assert len([e for e in events if isinstance(e, MessageAdded)]) == 3


async def test_the_chain_keeps_what_each_inspector_said():
    inspection = Inspection("s", ToolUse("c", "t", "ping"), spec("ping"), Access(), Mode.AUTO, ("/w",), ())
    verdict, findings = await chain.inspect(inspection, [Says(Allow(), "a"), Says(Ask("odd"), "b")])
    assert verdict == Ask("odd")
    assert findings == (chain.Finding("a", Allow()), chain.Finding("b", Ask("odd")))
