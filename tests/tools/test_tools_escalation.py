"""Out of the sandbox, or without the one that is configured: always with a reason that the user is asked about."""

from pathlib import Path

import jsonschema
import pytest

from quillback.core.message import ToolUse
from quillback.core.ports import Inspection, Mode
from quillback.core.verdict import Allow, Ask
from quillback.inspectors.sandbox import SandboxInspector
from quillback.tools.sandbox import Sandbox
from support.boxes import elsewhere, needs_bwrap, path_without
from support.toolroom import Room

pytestmark = pytest.mark.anyio


async def verdict(room: Room, mode: Mode = Mode.AUTO, **arguments: object) -> object:
    prepared = await room.prepare("shell", **arguments)
    spec = room.tool("shell").spec
    call = ToolUse("c1", "shell", arguments)
    return await SandboxInspector().inspect(Inspection("s1", call, spec, prepared.access, mode, ("/",), ()))


async def test_without_a_sandbox_there_is_no_way_out_to_offer(room: Room):
    spec = room.tool("shell").spec
    assert "outside_sandbox" not in spec.input_schema["properties"]
    assert "sandbox" not in spec.description
    assert await verdict(room, command="ls") == Allow()
    with pytest.raises(jsonschema.ValidationError):
        await room.prepare("shell", command="ls", outside_sandbox=True)


@needs_bwrap
async def test_a_call_that_leaves_it_is_asked_about_with_its_reason_and_then_does(room: Room):
    room.sandbox = Sandbox(offline=True)
    room.open()
    await room.toolbox.ready()
    assert "no network" in room.tool("shell").spec.description
    assert await verdict(room, command="ls") == Allow()
    assert await verdict(room, command="ls", outside_sandbox=False, reason="x") == Allow()
    asked = await verdict(room, command="ls", outside_sandbox=True, reason="npm\n needs \x1b its cache")
    assert isinstance(asked, Ask)
    assert asked.reason.startswith("this command is to run outside the sandbox (npm needs")
    assert "\x1b" not in asked.reason
    nothing = await verdict(room, command="ls", outside_sandbox=True)
    assert nothing == Ask("this command is to run outside the sandbox (no reason was given)")
    with elsewhere() as outside:
        await room.text("shell", command=f"echo x > {outside}/f", outside_sandbox=True)
        assert (outside / "f").read_text() == "x\n"
        await room.text("shell", command=f"echo x > {outside}/g", outside_sandbox=True, background=True)
        await room.text("shell_output", job="job_1", wait=5)
        assert (outside / "g").read_text() == "x\n"


@needs_bwrap
async def test_only_what_leaves_it_gets_a_terminal_of_the_editor(room: Room):
    room.sandbox, room.shell_in_editor = Sandbox(offline=False), True
    room.editor.offer(terminal=True)
    room.editor.terminal_done.set()
    room.open()
    assert await room.text("shell", command="echo here") == "here"
    assert room.editor.created == []
    await room.call("shell", command="echo there", outside_sandbox=True)
    assert [command for command, _, _ in room.editor.created] == ["echo there"]


FAKES = {
    "not there": (None, "bubblewrap is not installed: there is no bwrap on the PATH"),
    "refused": ("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n", "No permissions"),
    "silent": ("#!/bin/sh\nexit 7\n", "exit code 7"),
    "no program": ("\x00", "does not work here"),
}


@pytest.mark.parametrize("kind", FAKES)
async def test_where_it_does_not_work_every_command_says_so(
    room: Room, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
):
    content, says = FAKES[kind]
    monkeypatch.setenv("PATH", path_without(tmp_path / "bin", "bash", "sh"))
    if content is not None:
        (tmp_path / "bin/bwrap").write_text(content)
        (tmp_path / "bin/bwrap").chmod(0o755)
    room.sandbox = Sandbox(offline=True)
    room.open()
    await room.toolbox.ready()
    description = room.tool("shell").spec.description
    assert "Commands run in a sandbox" not in description
    for mode in (Mode.AUTO, Mode.APPROVE):
        for more in ({}, {"background": True}, {"outside_sandbox": True, "reason": "x"}):
            asked = await verdict(room, mode, command="echo x", **more)
            assert isinstance(asked, Ask)
            assert asked.reason.startswith("the sandbox is configured but not available (")
            assert says in asked.reason
            assert asked.reason.endswith("): this command runs without it")
    assert await room.text("shell", command="echo x") == "x"


async def test_a_relative_path_entry_does_not_bring_one(room: Room, monkeypatch: pytest.MonkeyPatch):
    fake = room.file("bin/bwrap", "#!/bin/sh\nexit 0\n", 0o755)
    monkeypatch.chdir(fake.parent.parent)
    monkeypatch.setenv("PATH", "bin")
    assert "not installed" in Sandbox(offline=False).probe()


async def test_it_is_tried_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", path_without(tmp_path / "bin", "sh"))
    (tmp_path / "bin/bwrap").write_text(f"#!/bin/sh\necho x >> {tmp_path}/tries\nexit 1\n")
    (tmp_path / "bin/bwrap").chmod(0o755)
    sandbox = Sandbox(offline=False)
    assert sandbox.problem is None
    assert await sandbox.look() == await sandbox.look() == sandbox.problem
    assert (tmp_path / "tries").read_text() == "x\n"
