"""The chain: merging only escalates, each sees what was said before it, and its time is taken."""

import asyncio

import pytest

from quillback.core.audit import DecidedBy, Decision, Finding, denial, without_asking
from quillback.core.verdict import Allow, Ask, Deny
from quillback.inspectors import chain
from support.inspections import inspection

pytestmark = pytest.mark.anyio


class Says:
    def __init__(self, verdict, name="says", seconds=0.0) -> None:
        self.name = name
        self.verdict = verdict
        self.seconds = seconds
        self.before = []

    async def inspect(self, it):
        self.before.append(it.so_far)
        await asyncio.sleep(self.seconds)
        if isinstance(self.verdict, BaseException):
            raise self.verdict
        return self.verdict


async def test_each_sees_the_verdict_so_far():
    said = [Says(Allow()), Says(Ask("odd")), Says(Deny("bad")), Says(Allow()), Says(Ask("late"))]
    verdict, findings = await chain.inspect(inspection(), said)
    assert verdict == Deny("bad")
    assert [s.before for s in said] == [[Allow()], [Allow()], [Ask("odd")], [Deny("bad")], [Deny("bad")]]
    assert [f.verdict for f in findings] == [s.verdict for s in said]


async def test_the_time_of_each_is_taken():
    _, (slow, quick) = await chain.inspect(inspection(), [Says(Allow(), "slow", 0.05), Says(Allow(), "quick")])
    assert slow.milliseconds >= 45
    assert 0 < quick.milliseconds < 45


@pytest.mark.parametrize("nonsense", [None, "allow", True, RuntimeError("x"), TimeoutError()])
async def test_whatever_is_no_verdict_asks(nonsense):
    verdict, _ = await chain.inspect(inspection(), [Says(Allow()), Says(nonsense, "bad"), Says(Allow())])
    assert isinstance(verdict, Ask)
    assert "the bad inspector" in verdict.reason


async def test_one_that_hangs_asks(monkeypatch):
    monkeypatch.setattr(chain, "INSPECTOR_SECONDS", 0.02)
    verdict, _ = await chain.inspect(inspection(), [Says(Allow(), "slow", 60)])
    assert verdict == Ask("the slow inspector did not answer in time")


async def test_no_inspectors_ask():
    assert await chain.inspect(inspection(), []) == (Ask(""), ())


def test_a_denial_tells_every_reason_and_blames_nobody():
    findings = [Finding("a", Ask("it is odd")), Finding("b", Deny("it deletes")), Finding("c", Deny("not run: no"))]
    assert denial(findings) == "not run: it deletes; not run: no; it is odd"
    assert denial([Finding("c", Deny("not run: no")), Finding("p", Ask(""))]) == "not run: no"


@pytest.mark.parametrize(
    ("verdicts", "decision", "by"),
    [
        ([Allow(), Allow()], Decision.ALLOW, DecidedBy.INSPECTORS),
        ([Allow(), Allow(rule="shell")], Decision.ALLOW, DecidedBy.RULE),
        ([Deny("x", rule="shell")], Decision.DENY, DecidedBy.RULE),
        ([Deny("x", rule="shell"), Deny("y")], Decision.DENY, DecidedBy.INSPECTORS),
        ([Deny("y"), Allow(rule="shell")], Decision.DENY, DecidedBy.INSPECTORS),
    ],
)
def test_who_decided_without_a_question(verdicts, decision, by):
    assert without_asking([Finding("i", v) for v in verdicts], decision) is by
