"""The hooks of a session as real processes: what they are told, which run, and how they end."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from quillback.core.hooks import NOTHING, HookAnswer, HookCall, HookPoint
from quillback.hooks.files import HookSet, UserFile, read_hooks
from quillback.hooks.runner import CommandHooks
from quillback.tools.run_command import CommandRunner
from support.fakes import until
from support.hooks import decide, hook_file, say

pytestmark = pytest.mark.anyio

SHELL = HookCall(HookPoint.PRE_TOOL_USE, "shell", {"tool_input": {"command": "ls"}, "tool_use_id": "call_1"})


class Place:
    """A directory with hook files, and the hooks in them."""

    def __init__(self, path: Path, run: CommandRunner) -> None:
        self.path = path
        self.project = HookSet()
        self.hooks = CommandHooks(
            session_id="ses_1",
            cwd=str(path),
            mode="approve",
            user=UserFile(path / "hooks.json"),
            project=lambda: self.project,
            run=run,
        )

    def write(self, **points: list) -> None:
        hook_file(self.path / "hooks.json", **points)

    def write_project(self, **points: list) -> None:
        data = hook_file(self.path / "settings.json", **points).read_bytes()
        self.project = read_hooks(data, ".claude/settings.json", claude=True)

    def told(self, name: str = "told") -> dict:
        return json.loads((self.path / name).read_text())


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    run = CommandRunner()
    yield Place(tmp_path.resolve(), run)
    await run.close()


async def test_nothing_is_there_and_nothing_runs(place: Place):
    assert not place.hooks.any(HookPoint.STOP)
    assert await place.hooks.fire(SHELL) == NOTHING


async def test_what_a_hook_is_told(place: Place):
    place.write(
        PreToolUse=[("shell", "cat > told; pwd > where; echo $QUILLBACK_PROJECT_DIR $CLAUDE_PROJECT_DIR > env")]
    )
    assert place.hooks.any(HookPoint.PRE_TOOL_USE)
    assert await place.hooks.fire(SHELL) == NOTHING
    assert place.told() == {
        "session_id": "ses_1",
        "transcript_path": "",
        "cwd": str(place.path),
        "permission_mode": "approve",
        "hook_event_name": "PreToolUse",
        "tool_name": "shell",
        "tool_input": {"command": "ls"},
        "tool_use_id": "call_1",
    }
    assert (place.path / "where").read_text() == f"{place.path}\n"
    assert (place.path / "env").read_text() == f"{place.path} {place.path}\n"


async def test_the_moment_brings_the_newer_mode(place: Place):
    place.write(Stop=[("", "cat > told")])
    await place.hooks.fire(HookCall(HookPoint.STOP, fields={"permission_mode": "auto", "stop_hook_active": True}))
    told = place.told()
    assert (told["permission_mode"], told["stop_hook_active"]) == ("auto", True)
    assert "tool_name" not in told


async def test_a_hook_of_the_other_style_gets_its_names_and_may_answer_with_them(place: Place):
    change = decide(updatedInput={"file_path": "/p/b", "old_string": "x", "new_string": "y"})
    place.write(PreToolUse=[("edit_file", "cat > ours")])
    place.write_project(PreToolUse=[("Edit|Write", f"tee theirs | {change}")])
    call = HookCall(
        HookPoint.PRE_TOOL_USE, "edit_file", {"tool_input": {"path": "a", "old_text": "x", "new_text": "z"}}
    )
    answer = await place.hooks.fire(call)
    assert answer == HookAnswer(input={"path": "/p/b", "old_text": "x", "new_text": "y"})
    ours, theirs = place.told("ours"), place.told("theirs")
    assert (ours["tool_name"], ours["tool_input"]["path"]) == ("edit_file", "a")
    assert (theirs["tool_name"], theirs["tool_input"]["file_path"]) == ("Edit", f"{place.path}/a")
    assert theirs["tool_input"]["new_string"] == "z"


async def test_only_hooks_for_the_moment_and_the_tool_run_and_all_of_them_at_once(place: Place):
    meet = "touch {0}; until [ -e one ] && [ -e two ] && [ -e three ]; do sleep 0.01; done"
    place.write(
        PreToolUse=[(m, meet.format(name)) for m, name in (("", "one"), ("Bash", "two"), ("shell|x", "three"))]
        + [("Edit", "touch wrong")],
        PostToolUse=[("", "touch wrong")],
    )
    assert await asyncio.wait_for(place.hooks.fire(SHELL), 10) == NOTHING
    assert not (place.path / "wrong").exists()


async def test_the_same_command_runs_once_and_its_strictest_word_counts(place: Place):
    command = "echo x >> count; exit 1"
    place.write(PreToolUse=[("", command), ("shell", command, {"on_failure": "deny"})])
    assert "on_failure is deny" in (await place.hooks.fire(SHELL)).blocked
    assert (place.path / "count").read_text() == "x\n"


async def test_answers_come_in_the_order_of_the_files(place: Place):
    place.write(PreToolUse=[("", f"sleep 0.2; {say(decision='block', reason='first')}")])
    place.write_project(PreToolUse=[("", say(decision="block", reason="second"))])
    assert (await place.hooks.fire(SHELL)).blocked == "first; second"


@pytest.mark.parametrize(
    ("point", "key", "word", "runs"),
    [
        (HookPoint.SESSION_START, "source", "resume", True),
        (HookPoint.SESSION_START, "source", "startup", False),
        (HookPoint.SESSION_START, "other", "", True),
        (HookPoint.PRE_COMPACT, "trigger", "resume", True),
        (HookPoint.SESSION_END, "reason", "close", False),
        (HookPoint.STOP, "reason", "close", True),
    ],
)
async def test_matchers_of_other_moments(place: Place, point: HookPoint, key: str, word: str, runs: bool):
    place.write(**{point.value: [("resume|x", "touch ran")]})
    await place.hooks.fire(HookCall(point, fields={key: word}))
    assert (place.path / "ran").exists() == runs


@pytest.mark.parametrize("on_failure", ["allow", "deny"])
async def test_a_hook_that_takes_too_long_is_ended_with_its_children(place: Place, on_failure: str):
    command = "(sleep 60 & echo $! > child; wait) & wait"
    place.write(PreToolUse=[("", command, {"timeout": 0.4, "on_failure": on_failure})])
    answer = await place.hooks.fire(SHELL)
    assert "it was ended after 0.4 s" in (answer.blocked if on_failure == "deny" else answer.notes[0])
    child = Path("/proc") / (place.path / "child").read_text().strip()
    await until(lambda: not child.exists())


async def test_a_cancel_ends_the_hooks_that_run(place: Place):
    place.write(PreToolUse=[("", "echo $$ > pid; sleep 60"), ("shell", "sleep 61")])
    task = asyncio.ensure_future(place.hooks.fire(SHELL))
    await until(lambda: (place.path / "pid").exists() and (place.path / "pid").read_text().strip())
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    process = Path("/proc") / (place.path / "pid").read_text().strip()
    await until(lambda: not process.exists())


async def test_a_bad_file_is_told_once_for_each_state_and_the_rest_runs(place: Place):
    (place.path / "hooks.json").write_text('{"hooks": {"Nope": [], "Stop": [{"hooks": [{"command": "touch ran"}]}]}}')
    assert place.hooks.any(HookPoint.SESSION_START)
    (note,) = (await place.hooks.fire(HookCall(HookPoint.SESSION_START))).notes
    assert "hooks.Nope" in note
    assert not place.hooks.any(HookPoint.SESSION_START)
    assert (await place.hooks.fire(HookCall(HookPoint.STOP))).notes == ()
    assert (place.path / "ran").exists()
    (place.path / "hooks.json").write_text("{")
    assert "not valid JSON" in (await place.hooks.fire(SHELL)).notes[0]


async def test_a_change_of_the_file_counts_at_once(place: Place):
    place.write(PreToolUse=[("", say(decision="block", reason="old"))])
    assert (await place.hooks.fire(SHELL)).blocked == "old"
    place.write(PreToolUse=[("", say(decision="block", reason="new"))])
    assert (await place.hooks.fire(SHELL)).blocked == "new"


async def test_a_runner_that_breaks_counts_as_a_failed_hook(tmp_path: Path):
    async def broken(command: str, **given: object):
        raise RuntimeError("inside")

    hooks = CommandHooks(
        session_id="s",
        cwd=str(tmp_path),
        mode="auto",
        user=UserFile(hook_file(tmp_path / "hooks.json", PreToolUse=[("", "x", {"on_failure": "deny"})])),
        project=HookSet,
        run=broken,
    )
    assert "an internal error: RuntimeError" in (await hooks.fire(SHELL)).blocked
