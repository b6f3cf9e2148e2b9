"""The sandbox of shell commands, with the real bubblewrap: what is held back, what works, and that all of it ends."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from quillback.core.ports import ToolError
from quillback.tools.registry import build_toolbox
from quillback.tools.sandbox import Sandbox
from support.boxes import elsewhere, needs_bwrap
from support.processes import running, until, zombies
from support.toolroom import Room, text

pytestmark = [pytest.mark.anyio, needs_bwrap]


EMPTY = ("(no output)", "current-system")


@pytest.fixture
def mark() -> str:
    """Seconds that no other process sleeps for."""
    return f"{uuid.uuid4().int % 10**6 + 1000}.{uuid.uuid4().int % 10**9}"


@pytest.fixture
def outside() -> Iterator[Path]:
    with elsewhere() as path:
        yield path


def confine(room: Room, *hidden: Path, offline: bool = False) -> None:
    room.sandbox = Sandbox(offline=offline, hidden=hidden)
    room.open()


async def code(room: Room, command: str) -> int:
    outcome = await room.call("shell", command=command)
    return int(outcome.raw_output["exit_code"])


# ---------------------------------------------------------------- files


async def test_it_writes_in_the_roots_and_nowhere_else(room: Room, outside: Path):
    other = room.home / "other"
    other.mkdir()
    room.more_roots = (other,)
    confine(room)
    (outside / "there").write_text("readable")
    assert await room.text(
        "shell", command=f"echo 1 > a && mkdir -p b && echo 2 > {other}/c && cat {outside}/there"
    ) == ("readable")
    assert ((room.workspace / "a").read_text(), (other / "c").read_text()) == ("1\n", "2\n")
    for target in (outside / "new", outside / "there", Path.home() / f".{outside.name}", Path("/etc") / outside.name):
        said = await room.text("shell", command=f"echo x > {target}")
        assert "Read-only file system" in said or target.is_relative_to("/tmp")  # the sandbox has a /tmp of its own
        assert not target.exists() or target.read_text() == "readable"
    assert await code(room, f"rm {outside}/there") != 0


async def test_neither_links_nor_mounts_lead_out(room: Room, outside: Path):
    confine(room)
    (outside / "there").write_text("old")
    (room.workspace / "link").symlink_to(outside)
    for command in (
        "echo new > link/there",
        f"ln {outside}/there here && echo new > here",
        f"mount -o remount,rw / ; echo new > {outside}/there",
        f"unshare -Urm sh -c 'mount -o remount,bind,rw / ; echo new > {outside}/there'",
        "cat /proc/sys/kernel/domainname > /proc/sys/kernel/domainname",
    ):
        assert await code(room, command) != 0, command
    assert (outside / "there").read_text() == "old"


async def test_tmp_is_the_sessions_own_and_gone_with_it(room: Room):
    confine(room)
    (room.home / "unseen").write_text("x")
    assert await code(room, f"test -e {room.home}/unseen") == 1
    await room.call("shell", command="echo kept > /tmp/note; echo $TMPDIR > $TMPDIR/dir")
    assert await room.text("shell", command="cat /tmp/note /tmp/dir") == "kept\n/tmp"
    (cell,) = {tool.cell for tool in room.toolbox.tools() if tool.spec.name == "shell"}  # type: ignore[attr-defined]
    there = Path(cell._temporary)
    assert (there / "note").read_text() == "kept\n"
    assert there.stat().st_mode & 0o777 == 0o700
    await room.toolbox.close()
    assert not there.exists()
    before = set(there.parent.glob("quillback-*"))
    with pytest.raises(ToolError, match="closed"):
        await room.call("shell", command="true")
    assert set(there.parent.glob("quillback-*")) <= before


async def test_what_runs_later_because_it_is_there_stays_as_it_is(room: Room):
    confine(room)
    subprocess.run(["git", "init", "-q", str(room.workspace)], check=True)
    hooks = room.workspace / ".git/hooks"
    hooks.mkdir(exist_ok=True)
    room.file(".quillback/config.toml", "x = 1")
    room.file(".vscode/tasks.json", "{}")
    room.file(".mcp.json", "{}")
    before = {path: path.read_bytes() for path in room.workspace.rglob("*") if path.is_file()}
    for command in (
        "echo evil > .git/hooks/pre-commit",
        "git config core.fsmonitor evil",
        "echo x > .quillback/config.toml",
        "rm -rf .vscode",
        "mv .vscode aside",
        "echo x > .mcp.json",
        "mv .git aside && cp -r aside .git",
        "rm -rf .git",
        "cp .git/config c && mv c .git/config",
    ):
        assert await code(room, command) != 0, command
        subprocess.run(["git", "init", "-q", str(room.workspace)], check=True)
    for path, data in before.items():
        if path.parent == hooks or path.name in ("config", "config.toml", "tasks.json", ".mcp.json"):
            assert path.read_bytes() == data
    assert not (hooks / "pre-commit").exists()
    done = "git add . && git -c user.name=x -c user.email=x@x commit -qm one && git log --format=%s"
    assert await room.text("shell", command=done) == "one"


async def test_a_protected_name_that_is_a_link_uncovers_nothing(room: Room):
    confine(room, room.home / "secret")
    secret = room.home / "secret"
    secret.mkdir()
    (secret / "key").write_text("sk-ant")
    (room.workspace / ".vscode").symlink_to(secret)
    (room.workspace / ".quillback").symlink_to("/tmp")
    assert await code(room, f"cat .vscode/key || cat {secret}/key") == 1
    assert await code(room, f"ls .quillback/{room.home.name}/secret/key {room.home}/unseen") != 0


async def test_keys_cannot_be_read_where_they_are_kept(room: Room, monkeypatch: pytest.MonkeyPatch):
    home, config = room.workspace / "home", room.workspace / "dotfiles.toml"
    (home / "outputs/s1").mkdir(parents=True)
    (home / "outputs/s2").mkdir()
    (home / "quillback.db").write_text("sk-ant-1")
    (home / "outputs/s1/own").write_text("own output")
    (home / "outputs/s2/other").write_text("sk-ant-2")
    config.write_text("sk-ant-3")
    (home / "config.toml").symlink_to(config)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-SECRET-4")
    room.sandbox = Sandbox(offline=False, hidden=(home, home / "config.toml"))
    room.open()
    room.context.outputs = home / "outputs/s1"
    room.toolbox = build_toolbox(room.context)
    seen = await room.text(
        "shell", command="cat home/outputs/s1/own; env; cat /proc/*/environ; grep -r sk-ant . ; true"
    )
    assert "own output" in seen
    assert "sk-ant" not in seen.replace("grep -r sk-ant", "")
    assert await code(room, "echo x >> home/outputs/s1/own") != 0
    assert (home / "quillback.db").read_text() == "sk-ant-1"


# ---------------------------------------------------------------- network and processes


@pytest.mark.parametrize("offline", [True, False])
async def test_the_network_is_there_unless_offline(room: Room, offline: bool):
    confine(room, offline=offline)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        reached = await code(room, f"echo hello > /dev/tcp/127.0.0.1/{port}")
        server.settimeout(0.2)
        if offline:
            assert reached != 0
            with pytest.raises(TimeoutError):
                server.accept()
        else:
            assert reached == 0
            server.accept()[0].close()


async def test_sockets_of_the_system_and_processes_of_others_are_out_of_sight(room: Room, mark: str):
    confine(room)
    with subprocess.Popen(["sleep", mark]) as other:
        seen = await room.text(
            "shell", command="cat /proc/[0-9]*/cmdline | tr '\\0' ' '; grep NoNewPrivs /proc/self/status"
        )
        assert await code(room, f"kill {other.pid}") != 0
        other.kill()
    assert f"sleep {mark}" not in seen
    assert seen.endswith("NoNewPrivs:\t1")
    assert await room.text("shell", command="ls /run") in EMPTY


async def test_what_a_command_leaves_behind_ends_with_it(room: Room, mark: str):
    confine(room)
    before = set(zombies(os.getpid()))  # of agents that earlier tests have killed
    started = time.monotonic()
    lines = f"setsid sleep {mark} & nohup sleep {mark} >/dev/null 2>&1 & trap '' INT TERM; sleep {mark} & sleep 0.2"
    assert await room.text("shell", command=f"{lines}; echo done") == "done"
    assert time.monotonic() - started < 1.5
    assert await until(lambda: not running(f"sleep {mark}"), 1.0)
    assert await until(lambda: set(zombies(os.getpid())) <= before)


async def test_a_time_out_lets_it_clean_up_and_then_ends_all(room: Room, mark: str):
    confine(room)
    line = f"trap 'echo got INT; exit 3' INT; setsid sleep {mark} & echo ready; while :; do sleep 0.02; done"
    outcome = await room.call("shell", command=line, timeout=0.4)
    assert text(outcome) == "ready\ngot INT\n[timed out after 0.4 s and was ended]"
    assert not running(mark)
    started = time.monotonic()
    stubborn = await room.call(
        "shell", command=f"trap '' INT TERM; while :; do sleep 0.02; done; : {mark}", timeout=0.2
    )
    assert "[timed out" in text(stubborn)
    assert time.monotonic() - started < 1.8
    assert not running(mark)


async def test_a_cancel_and_the_close_end_all(room: Room, mark: str):
    confine(room)
    task = asyncio.ensure_future(room.call("shell", command=f"trap '' INT TERM; setsid sleep {mark} & sleep {mark}"))
    assert await until(lambda: len(running(f"sleep {mark}")) >= 2)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await until(lambda: not running(mark), 1.5)
    await room.call("shell", command=f"sleep {mark}", background=True)
    assert await until(lambda: running(f"sleep {mark}"))
    await room.toolbox.close()
    assert not running(mark)
    with pytest.raises(ToolError, match="closed"):
        await room.call("shell", command="true")


async def test_jobs_are_confined_too_and_can_be_killed(room: Room, outside: Path, mark: str):
    confine(room)
    line = f"echo x > {outside}/f; echo y > f; setsid sleep {mark} & sleep {mark}"
    await room.call("shell", command=line, background=True)
    assert await until(lambda: len(running(f"sleep {mark}")) >= 2)
    assert "Read-only" in await room.text("shell_output", job="job_1", wait=2)
    assert (room.workspace / "f").read_text() == "y\n"
    started = time.monotonic()
    assert (await room.text("shell_kill", job="job_1")).endswith("job_1 was ended.")
    assert time.monotonic() - started < 1.5
    assert not running(mark)
    assert not (outside / "f").exists()


AGENT = """
import asyncio, sys
from pathlib import Path
from quillback.tools.registry import build_toolbox
from quillback.tools.sandbox import Sandbox
from support.toolroom import Room
async def main():
    room = Room(Path(sys.argv[1]), sandbox=Sandbox(offline=False))
    await room.call("shell", command=f"setsid sleep {sys.argv[2]} & sleep {sys.argv[2]}", background=True)
    await asyncio.sleep(60)
asyncio.run(main())
"""


async def test_the_death_of_the_agent_ends_what_is_confined(tmp_path: Path, mark: str):
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        "TMPDIR": str(tmp_path),
    }
    agent = subprocess.Popen([sys.executable, "-c", AGENT, str(tmp_path.resolve()), mark], env=environment)
    try:
        assert await until(lambda: len(running(f"sleep {mark}")) >= 2, 10)
        agent.send_signal(signal.SIGKILL)
        assert await until(lambda: not running(f"sleep {mark}"), 2.0)
    finally:
        agent.kill()
        agent.wait()


async def test_a_directory_that_is_a_link(room: Room):
    (room.home / "link").symlink_to(room.workspace)
    room.sandbox = Sandbox(offline=False)
    room.open(room.home / "link")
    assert await room.text("shell", command="pwd; echo x > f") == str(room.workspace)
    assert (room.workspace / "f").exists()
