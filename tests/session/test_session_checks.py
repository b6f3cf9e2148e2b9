"""The checks of a recipe: real commands, what the model is told of them, and what inspectors keep from running."""

import asyncio
import itertools
import os
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from quillback.core.audit import DecidedBy, Decision
from quillback.core.mask import Mask
from quillback.core.ports import Inspection, Rule, RuleEffect
from quillback.core.process import Ran
from quillback.core.rules import Mode
from quillback.core.turn_types import Check, Recipe
from quillback.inspectors.chain import inspect
from quillback.inspectors.permission import PermissionInspector
from quillback.inspectors.security import SecurityInspector
from quillback.session.checks import OUTPUT_LIMIT, CheckGate, run_checks
from quillback.tools.run_command import CommandRunner
from support import stores
from support.replies import Ids

pytestmark = pytest.mark.anyio


@pytest.fixture
async def run() -> AsyncIterator[CommandRunner]:
    runner = CommandRunner()
    yield runner
    await runner.close()


def recipe(*commands: str, **more) -> Recipe:
    return Recipe(checks=tuple(Check(c, 10) for c in commands), **more)


async def test_nothing_is_said_of_checks_that_pass(run, tmp_path):
    cleanup = Check("touch cleaned", 10)
    assert await run_checks(recipe("true", "echo fine", on_failure=cleanup), run, str(tmp_path)) == ""
    assert await run_checks(Recipe(on_failure=cleanup), run, str(tmp_path)) == ""
    assert list(tmp_path.iterdir()) == []


async def test_all_run_in_order_and_each_failure_is_told_with_its_output(run, tmp_path):
    said = await run_checks(
        recipe("echo 1 >> log; echo out; echo err >&2; exit 3", "echo 2 >> log", "echo 3 >> log; kill -9 $$"),
        run,
        str(tmp_path),
    )
    assert said == (
        "2 of 3 checks of this work failed.\n\n"
        "$ echo 1 >> log; echo out; echo err >&2; exit 3\n[exit code 3]\nout\nerr\n\n"
        "$ echo 3 >> log; kill -9 $$\n[ended by signal 9]"
    )
    assert (tmp_path / "log").read_text() == "1\n2\n3\n"


async def test_a_check_that_takes_too_long_is_ended_and_failed(run, tmp_path):
    late = Recipe(checks=(Check("echo begun; sleep 60 & echo $! > child; wait", 0.5),))
    before = time.monotonic()
    said = await run_checks(late, run, str(tmp_path))
    assert time.monotonic() - before < 8
    assert said.startswith("The check of this work failed.\n\n")
    assert "[it was ended after 0.5 s]\nbegun" in said
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "child").read_text()), 0)


async def test_the_ends_of_long_outputs_share_what_there_is_room_for(run, tmp_path):
    many = recipe("seq 1 20000; echo END1; exit 1", "seq 1 20000 >&2; echo END2 >&2; exit 1", "echo short; exit 1")
    said = await run_checks(many, run, str(tmp_path))
    assert OUTPUT_LIMIT * 0.9 < len(said) <= OUTPUT_LIMIT
    assert "END1" in said
    assert "END2" in said
    assert said.endswith("$ echo short; exit 1\n[exit code 1]\nshort")
    assert "\n1\n" not in said
    assert said.count("the end of them:]") == 2


async def test_however_many_fail_the_model_gets_a_bounded_text(tmp_path):
    async def fail(command: str, **_: object) -> Ran:
        return Ran(1, "x" * 30_000, "y" * 30_000)

    for n in (1, 2, 40, 200):
        said = await run_checks(recipe(*(f"check {i} {'long ' * 100}" for i in range(n))), fail, str(tmp_path))
        assert len(said) <= OUTPUT_LIMIT
        assert "check 0" in said


async def test_output_has_nothing_in_it_that_steers_a_terminal(tmp_path):
    async def fail(command: str, **_: object) -> Ran:
        return Ran(1, "\x1b[31mred\x1b[0m\r\n\x1b]0;title\x07a\0b\ud800\x9b2J", problem="")

    said = await run_checks(recipe("x"), fail, str(tmp_path))
    assert said.endswith("[exit code 1]\nred\nab2J")


async def test_a_command_that_cannot_be_started_is_a_failure_with_its_reason(run, tmp_path):
    said = await run_checks(recipe("true"), run, str(tmp_path / "gone"))
    assert said.startswith("The check of this work failed.")
    assert "$ true\n[" in said


async def test_on_failure_runs_once_behind_the_checks(run, tmp_path):
    cleanup = Check("echo cleaned >> log", 10)
    said = await run_checks(
        recipe("echo a >> log; false", "echo b >> log; false", on_failure=cleanup), run, str(tmp_path)
    )
    assert (tmp_path / "log").read_text() == "a\nb\ncleaned\n"
    assert "cleans up" not in said
    said = await run_checks(recipe("false", on_failure=Check("exit 4", 10)), run, str(tmp_path))
    assert said.endswith("The command that cleans up after a failure failed too: exit 4\n[exit code 4]")


async def test_cancelling_ends_the_check_that_runs(run, tmp_path):
    task = asyncio.create_task(run_checks(recipe("echo $$ > pid; sleep 60", "touch next"), run, str(tmp_path)))
    async with asyncio.timeout(5):
        while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
            await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    pid = int((tmp_path / "pid").read_text())
    async with asyncio.timeout(5):
        while Path(f"/proc/{pid}").exists():
            await asyncio.sleep(0.01)
    assert not (tmp_path / "next").exists()


# ---------------------------------------------------------------- inspectors


def gate(store, root: Path, *rules: Rule, mode: Mode = Mode.APPROVE) -> CheckGate:
    chain = [SecurityInspector(home=str(root / "home")), PermissionInspector(rules=rules)]

    async def verdict(inspection: Inspection):
        return await inspect(inspection, chain)

    return CheckGate(
        inspect=verdict,
        store=store,
        session_id="s1",
        roots=(str(root),),
        mode=lambda: mode,
        now=itertools.count(1).__next__,
        new_id=Ids(),
        said=lambda: ("the task", ("the task",)),
        mask=Mask(),
    )


async def test_what_an_inspector_denies_does_not_run_and_the_audit_knows(run, tmp_path):
    async with stores.opened(tmp_path / "q.db", "s1") as store:
        never = gate(store, tmp_path, Rule("", "shell(touch:*)", RuleEffect.REJECT), mode=Mode.CHAT)
        said = await run_checks(recipe("rm -rf /", "touch made", "sudo -n true; exit 5"), run, str(tmp_path), never)
        audits = await store.audits("s1")
    assert "3 of 3 checks" in said
    assert "$ rm -rf /\n[not run: " in said
    assert "$ touch made\n[not run: the configuration denies shell(touch:*)]" in said
    assert "$ sudo -n true; exit 5\n[exit code 5]" in said, "asking is no denial"
    assert not (tmp_path / "made").exists()
    assert [(a.tool, a.decision, a.decided_by, a.mode) for a in audits] == [
        ("recipe_check", Decision.DENY, DecidedBy.INSPECTORS, Mode.CHAT),
        ("recipe_check", Decision.DENY, DecidedBy.RULE, Mode.CHAT),
        ("recipe_check", Decision.ALLOW, DecidedBy.USER, Mode.CHAT),
    ]
    assert any("rm -rf /" in audit.arguments for audit in audits)


async def test_the_command_of_on_failure_is_looked_at_too(run, tmp_path):
    async with stores.opened(tmp_path / "q.db", "s1") as store:
        bad = recipe("false", on_failure=Check("rm -rf / --no-preserve-root", 10))
        said = await run_checks(bad, run, str(tmp_path), gate(store, tmp_path))
    assert "failed too: rm -rf / --no-preserve-root\n[not run: " in said
