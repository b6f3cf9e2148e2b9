"""Commands that turn on what watches over them: nothing gets free, and nothing is said that is not so."""

import asyncio
import os
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest

from quillback.tools import orphans, shell, warden
from quillback.tools.spawn import start
from support.processes import running, until, zombies
from support.toolroom import Room, text

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")]


@pytest.fixture
def mark() -> str:
    """Seconds that no other process sleeps for."""
    return f"{uuid.uuid4().int % 10**6 + 1000}.{uuid.uuid4().int % 10**9}"


KILLERS = {
    "daemon": "setsid sleep {} & sleep 0.2; kill -9 $PPID",
    "same session": "sleep {} & sleep 0.2; kill -9 $PPID",
    "deep": "setsid sh -c 'setsid sh -c \"sleep {} & sleep {}\" & sleep {}' >/dev/null 2>&1 & sleep 0.3; kill -9 $PPID",
    "stubborn": "(trap '' INT TERM HUP; setsid sleep {} >/dev/null 2>&1 &); sleep 0.2; kill -9 $PPID; sleep {}",
    "no variable, no session": "setsid env -i sleep {} & sleep 0.2; kill -9 $PPID",
    "no variable, no output": "env -i sleep {} >/dev/null 2>&1 & sleep 0.2; kill -9 $PPID",
    "other signals": "setsid sleep {} >/dev/null 2>&1 & sleep 0.2; kill -SEGV $PPID",
    "frozen, then killed": "setsid sleep {} & sleep 0.2; kill -STOP $PPID; kill -9 $PPID",
}


@pytest.mark.parametrize("line", KILLERS.values(), ids=KILLERS)
async def test_nothing_gets_free_by_killing_the_watcher(room: Room, mark: str, line: str, new_zombies):
    outcome = await room.call("shell", command=line.replace("{}", mark))
    assert outcome.is_error
    assert await until(lambda: not running(mark), 2.0)
    await room.toolbox.close()
    assert not running(mark)
    assert await until(lambda: not new_zombies())


async def test_a_daemon_known_before_ends_though_it_left_every_trace(room: Room, mark: str):
    pids = room.workspace / "pid"
    await room.call("shell", command=f"echo $PPID >{pids}; setsid env -i sleep {mark} >/dev/null 2>&1 & sleep 0.2")
    assert running(mark)
    await asyncio.sleep(0.05)
    await room.call("shell", command=f"kill -9 $(cat {pids})")
    assert await until(lambda: not running(mark), 2.0)


async def test_others_live_on(room: Room, mark: str):
    await room.call("shell", command=f"setsid sleep {mark}1 & echo")
    await room.call("shell", command=f"sleep {mark}2", background=True)
    other = subprocess.Popen(["sleep", f"{mark}3"], start_new_session=True)
    third = await asyncio.create_subprocess_exec("sleep", f"{mark}4")
    try:
        await room.call("shell", command=f"setsid sleep {mark}5 & sleep 0.2; kill -9 $PPID")
        assert await until(lambda: not running(f"{mark}5"))
        assert all(running(f"{mark}{number}") for number in (1, 2, 3, 4))
        other.terminate()
        third.terminate()
        assert await until(lambda: other.pid in zombies(os.getpid()))
        await room.call("shell", command="kill -9 $PPID")
        orphans.reap_adopted()
        assert other.wait() == -signal.SIGTERM, "its end is for who started it"
        assert await third.wait() == -signal.SIGTERM
    finally:
        other.kill()
        other.wait()


async def test_a_stopped_watcher_ends_with_all_of_it(room: Room, mark: str, new_zombies):
    started = time.monotonic()
    line = f"setsid sleep {mark} & echo before; kill -STOP $PPID; sleep {mark}"
    outcome = await room.call("shell", command=line, timeout=0.5)
    assert text(outcome) == "before\n[timed out after 0.5 s and was ended]"
    assert not running(mark), "what is said to have ended has"
    assert time.monotonic() - started < 2.6
    assert outcome.raw_output == {"exit_code": -9, "timed_out": True}
    assert await until(lambda: not new_zombies())


async def test_a_stopped_watcher_of_a_job(room: Room, mark: str):
    await room.call("shell", command=f"kill -STOP $PPID; sleep {mark}", background=True)
    assert await until(lambda: running(f"sleep {mark}"))
    assert (await room.text("shell_kill", job="job_1")).endswith("[ended by signal SIGKILL]\njob_1 was ended.")
    assert not running(mark)


async def test_closing_ends_what_has_a_stopped_watcher(room: Room, mark: str):
    await room.call("shell", command=f"setsid sleep {mark} & kill -STOP $PPID; sleep {mark}", background=True)
    assert await until(lambda: len(running(f"sleep {mark}")) >= 2)
    started = time.monotonic()
    await room.toolbox.close()
    assert time.monotonic() - started < 2.5
    assert not running(mark)


async def test_it_is_not_said_to_have_ended_before_it_has(room: Room, mark: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(shell, "_ENDING", 0.1)
    line = f"trap '' INT TERM; sleep {mark}"
    outcome = await room.call("shell", command=line, timeout=0.3)
    assert text(outcome).endswith("[timed out after 0.3 s and was told to end, but some of it still runs]")
    assert await until(lambda: not running(mark))


async def test_the_adopted_dead_are_not_kept(room: Room, mark: str):
    """Orphans of any child of ours come to us once a command has run."""
    await room.call("shell", command="true")
    child = subprocess.Popen(
        ["sh", "-c", f"sleep {mark} >/dev/null & echo $!"], stdout=subprocess.PIPE, start_new_session=True
    )
    orphan = int(child.communicate()[0])
    assert running(mark) == [orphan]
    os.kill(orphan, signal.SIGKILL)
    assert await until(lambda: orphan in zombies(os.getpid()))
    await room.call("shell", command="true")
    assert await until(lambda: orphan not in zombies(os.getpid()))


AGENT = """
import asyncio, sys
from pathlib import Path
from support.toolroom import Room
async def main():
    room = Room(Path(sys.argv[1]))
    for command in sys.argv[2:]:
        await room.call("shell", command=command)
    await room.toolbox.close()
asyncio.run(main())
"""


async def test_the_end_of_the_agent_is_the_end_of_all(tmp_path: Path, mark: str):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    lines = [line.replace("{}", mark) for line in KILLERS.values()]
    argv = [sys.executable, "-c", AGENT, str(tmp_path.resolve()), *lines]
    agent = await asyncio.create_subprocess_exec(*argv, env=environment)
    assert await agent.wait() == 0
    assert not running(mark)


def test_a_process_is_told_from_a_later_one_of_its_number(mark: str):
    child = subprocess.Popen(["sleep", mark])
    try:
        found = next(process for process in warden.table() if process.pid == child.pid)
        trail = orphans.Trail(0, "none", 0)
        trail.know(found.pid, found.start - 1)
        assert trail.kill()
        assert child.poll() is None
    finally:
        child.kill()
        child.wait()


def test_a_warden_that_cannot_start_is_named(tmp_path: Path):
    with pytest.raises(Exception, match="could not be started"):
        start(str(tmp_path / "gone"), {})
