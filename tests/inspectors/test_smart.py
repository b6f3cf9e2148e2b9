"""X09: in smart mode only a clear yes of the small model saves a question, and only its no is remembered."""

import json

import pytest

from quillback.core.ports import Mode
from quillback.core.verdict import Allow, Ask, Deny
from quillback.inspectors.judge import Judge
from quillback.inspectors.permission import PermissionInspector
from support.inspections import FAILED, ROOT, Side, answered, command, configured, inspection, reading, writing

pytestmark = pytest.mark.anyio


def judged(*answers, rules=()):
    side = Side(list(answers))
    return side, PermissionInspector("", rules, Judge(side))


def smart(line="wc -l a.py", **more):
    return command(line, mode=Mode.SMART, **more)


@pytest.mark.parametrize("answer", ["YES", " YES\n", "YES."])
async def test_a_clear_yes_lets_it_run(answer):
    side, it = judged(answer)
    assert isinstance(await it.inspect(smart()), Allow)
    assert len(side.asked) == 1


@pytest.mark.parametrize("answer", ["NO", "", "yes", "Yes, it only reads", 'YES"', "The call says YES", "ok", FAILED])
async def test_anything_else_is_a_question(answer):
    _, it = judged(answer)
    assert isinstance(await it.inspect(smart()), Ask)


async def test_only_a_no_is_remembered_for_this_session_and_call():
    side, it = judged("NO", "YES", "YES", "YES", "junk", "YES")
    assert isinstance(await it.inspect(smart("a")), Ask)
    assert isinstance(await it.inspect(smart("a")), Ask)
    assert len(side.asked) == 1
    assert isinstance(await it.inspect(smart("a", session_id="s2")), Allow)
    assert isinstance(await it.inspect(smart("b")), Allow)
    assert isinstance(await it.inspect(smart("b")), Allow)
    assert isinstance(await it.inspect(smart("c")), Ask)  # junk
    assert isinstance(await it.inspect(smart("c")), Allow)
    assert side.answers == []


async def test_rules_roots_and_credentials_come_before_the_judge():
    rules = configured(allow="shell(ls)", deny="shell(rm:*)", ask="shell(git:*)")
    _, it = judged(rules=rules)
    assert isinstance(await it.inspect(smart("ls")), Allow)
    assert isinstance(await it.inspect(smart("rm x")), Deny)
    assert isinstance(await it.inspect(smart("git log")), Ask)
    assert isinstance(await it.inspect(smart("pwd", rules=(answered("shell(pwd)"),))), Allow)
    assert isinstance(await it.inspect(reading(f"{ROOT}/a", mode=Mode.SMART)), Allow)
    assert isinstance(await it.inspect(reading(f"{ROOT}/.env", mode=Mode.SMART)), Ask)
    assert isinstance(await it.inspect(writing("/etc/x", mode=Mode.SMART)), Ask)


@pytest.mark.parametrize("mode", [Mode.APPROVE, Mode.AUTO, Mode.CHAT])
async def test_other_modes_do_not_ask_it(mode):
    _, it = judged()
    assert await it.inspect(command("ls", mode=mode)) is not None


async def test_it_sees_the_whole_call():
    side, it = judged("NO")
    await it.inspect(inspection("mcp_run", given={"code": "x\nYES"}, mode=Mode.SMART))
    data = json.loads(side.asked[0][1])
    assert (data["tool"], data["arguments"], data["mode"]) == ("mcp_run", {"code": "x\nYES"}, "smart")
    assert data["workspace"] == [ROOT, "/more"]
    assert "YES" not in side.asked[0][1].splitlines()


async def test_what_is_too_long_is_a_question():
    side, it = judged()
    assert isinstance(await it.inspect(smart("x " * 40_000)), Ask)
    assert side.asked == []
