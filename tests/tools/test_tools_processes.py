"""What commands start, and that all of it ends: with a time-out, a cancel, the session, or the agent's death."""

import asyncio
import os
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest

from quillback.core.ports import ToolError
from quillback.tools import command, orphans
from support.processes import running, until
from support.toolroom import Room, text

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")]


@pytest.fixture
def mark() -> str:
    """Seconds that no other process sleeps for."""
    return f"{uuid.uuid4().int % 10**6 + 1000}.{uuid.uuid4().int % 10**9}"


LEFT_BEHIND = [
    "sleep {} & echo started",
    "nohup sleep {} >/dev/null 2>&1 & echo started",
    "setsid sleep {} & echo started",
    "setsid -f sleep {}; echo started",
    "(setsid nohup sh -c '(sleep {} &) &' >/dev/null 2>&1 &); sleep 0.1; echo started",
    "trap '' INT TERM; sleep {} & echo started",
]


@pytest.mark.parametrize("line", LEFT_BEHIND)
async def test_a_command_returns_at_once_and_its_children_end_with_the_session(
    room: Room, mark: str, line: str, new_zombies
):
    started = time.monotonic()
    assert await room.text("shell", command=line.format(mark)) == "started"
    assert time.monotonic() - started < 1.5
    assert await until(lambda: running(f"sleep {mark}"))
    closing = time.monotonic()
    await room.toolbox.close()
    assert time.monotonic() - closing < 1.5
    assert not running(mark)
    assert not new_zombies()


async def test_what_is_left_behind_may_go_on_writing(room: Room, mark: str):
    done = room.workspace / "done"
    line = f"(head -c 1000000 /dev/zero; echo {mark}; touch {done}) & echo started"
    assert "started" in await room.text("shell", command=line)
    assert await until(done.exists), "a full pipe or a broken one would stop it"


async def test_output_written_just_before_the_end_is_whole(room: Room):
    for _ in range(5):
        assert (await room.text("shell", command="sleep 9.31 & seq 1 5000")).endswith("\n5000")


async def test_a_time_out_ends_it_and_keeps_the_output(room: Room, mark: str):
    started = time.monotonic()
    outcome = await room.call("shell", command=f"echo before; sleep {mark}", timeout=0.3)
    assert time.monotonic() - started < 1.5
    assert outcome.is_error
    assert text(outcome) == "before\n[timed out after 0.3 s and was ended]"
    assert outcome.raw_output == {"exit_code": -2, "timed_out": True}
    assert not running(mark)


async def test_the_ladder_is_int_then_term_then_kill(room: Room, mark: str):
    line = f"trap 'echo got INT' INT; trap 'echo got TERM' TERM; echo ready; while :; do sleep 0.02; done; : {mark}"
    started = time.monotonic()
    outcome = await room.call("shell", command=line, timeout=0.3)
    assert 0.85 < time.monotonic() - started < 1.8
    said = [line for line in text(outcome).splitlines() if line.startswith(("ready", "got", "[timed"))]
    assert said == ["ready", "got INT", "got TERM", "[timed out after 0.3 s and was ended]"]
    assert not running(mark)


async def test_a_cancel_is_answered_at_once_and_ends_all(room: Room, mark: str):
    line = f"trap '' INT TERM; setsid sleep {mark} & sleep {mark}"
    task = asyncio.ensure_future(room.call("shell", command=line))
    assert await until(lambda: len(running(f"sleep {mark}")) == 3)
    started = time.monotonic()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert time.monotonic() - started < 0.1
    assert await until(lambda: not running(mark), 1.5)
    assert await room.text("shell", command="echo next") == "next"


async def test_a_cancel_before_it_has_begun(room: Room, mark: str):
    for delay in (0.0, 0.005, 0.02):
        task = asyncio.ensure_future(room.call("shell", command=f"sleep {mark}"))
        await asyncio.sleep(delay)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert await until(lambda: not running(mark), 1.5)


async def test_who_stops_listening_ends_it(room: Room, mark: str):
    prepared = await room.prepare("shell", command=f"echo x; sleep {mark}")
    steps = prepared.run()
    await anext(steps)
    await steps.aclose()
    assert await until(lambda: not running(mark), 1.5)


async def test_a_cancel_ends_one_command_only(room: Room, mark: str):
    await room.call("shell", command=f"sleep {mark}1 & echo kept")
    await room.call("shell", command=f"sleep {mark}2", background=True)
    task = asyncio.ensure_future(room.call("shell", command=f"sleep {mark}3"))
    assert await until(lambda: len(running(f"sleep {mark}")) == 3)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await until(lambda: not running(f"sleep {mark}3"), 1.5)
    assert running(f"sleep {mark}1")
    assert running(f"sleep {mark}2")


async def test_closing_is_quick_and_final(room: Room, mark: str):
    for _ in range(5):
        await room.call("shell", command=f"sleep {mark}", background=True)
    task = asyncio.ensure_future(room.call("shell", command=f"trap '' INT TERM; sleep {mark}"))
    assert await until(lambda: len(running(f"sleep {mark}")) >= 6)
    started = time.monotonic()
    await room.toolbox.close()
    assert time.monotonic() - started < 1.5
    assert not running(mark)
    assert "SIGKILL" in text(await task) or "SIGTERM" in text(await task)
    with pytest.raises(ToolError, match="closed"):
        await room.call("shell", command="echo x")
    await room.toolbox.close()


async def test_many_commands_leave_nothing_open(room: Room, new_zombies):
    await room.text("shell", command="true")
    before = len(list(Path("/proc/self/fd").iterdir()))
    await asyncio.gather(*(room.call("shell", command=f"echo {n}") for n in range(8)))
    for _ in range(8):
        await room.call("shell", command="true")
    assert await until(lambda: len(list(Path("/proc/self/fd").iterdir())) <= before)
    assert await until(lambda: not new_zombies())


async def test_a_command_that_kills_its_watcher(room: Room, mark: str):
    outcome = await room.call("shell", command=f"echo before; kill -9 $PPID; sleep {mark}")
    assert text(outcome).startswith("before\n[could not run: what watches over it was killed")
    assert outcome.is_error
    assert await until(lambda: not running(f"sleep {mark}"))
    assert await room.text("shell", command="kill $PPID; kill -INT $PPID; echo alive") == "alive"


AGENT = """
import asyncio, sys
from pathlib import Path
from support.toolroom import Room
async def main():
    room = Room(Path(sys.argv[1]))
    for command in sys.argv[2:]:
        await room.call("shell", command=command)
    print("ready", flush=True)
    await asyncio.sleep(60)
asyncio.run(main())
"""


async def test_the_death_of_the_agent_ends_all(tmp_path: Path, mark: str):
    commands = [line.format(mark) for line in LEFT_BEHIND]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    agent = subprocess.Popen(
        [sys.executable, "-c", AGENT, str(tmp_path.resolve()), *commands], stdout=subprocess.PIPE, env=environment
    )
    try:
        assert agent.stdout is not None
        assert await asyncio.to_thread(agent.stdout.readline) == b"ready\n"
        assert await until(lambda: len(running(f"sleep {mark}")) >= len(commands))
        agent.send_signal(signal.SIGKILL)
    finally:
        agent.kill()
        agent.communicate()
    assert await until(lambda: not running(mark), 2.0)


ELSEWHERE = """
import runpy, sys
sys.platform = "darwin"
runpy.run_path(sys.argv[1], run_name="__main__")
"""


async def test_where_orphans_cannot_be_adopted_the_group_ends(mark: str):
    script = str(Path(command.__file__).with_name("warden.py"))
    pipe = subprocess.PIPE
    warden = subprocess.Popen(
        [sys.executable, "-c", ELSEWHERE, script], stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0
    )
    assert warden.stdin is not None
    argv = b"\0".join((b"sh", b"-c", f"sleep {mark} & echo started".encode()))
    warden.stdin.write(b"%d\n%s" % (len(argv), argv))
    assert warden.stderr is not None
    lines = [warden.stderr.readline().split()[0] for _ in range(2)]
    assert lines == [b"started", b"exited"]
    assert running(mark)
    warden.stdin.close()
    # Here the orphan has come to us, and its group is there until its end has been taken notice of.
    assert await until(lambda: orphans.reap_adopted() or warden.poll() is not None)
    assert warden.stdout is not None
    with warden.stdout, warden.stderr:
        output, rest = warden.stdout.read(), warden.stderr.read()
    assert (output, rest) == (b"started\n", b"")
    assert not running(mark)


GOES_ON = {
    "left behind": "({wait}; touch went-on) >/dev/null 2>&1 & echo started",
    "left behind, deeper": "((({wait}); touch went-on); touch went-on) >/dev/null 2>&1 & echo started",
    "in another session": "setsid sh -c '{wait}; touch went-on' >/dev/null 2>&1 & echo started",
    "cancelled": "({wait}; touch went-on) & wait; touch went-on",
    "cancelled in the foreground": "{wait}; touch went-on",
}


@pytest.mark.parametrize("line", GOES_ON.values(), ids=GOES_ON)
async def test_what_is_ended_does_not_go_on_to_its_next_command(room: Room, mark: str, line: str):
    command = line.replace("{wait}", f"sleep {mark}")
    if "started" in line:
        assert await room.text("shell", command=command) == "started"
        await room.toolbox.close()
    else:
        outcome = await room.call("shell", command=command, timeout=0.5)
        assert outcome.is_error
        await room.toolbox.close()
    assert await until(lambda: not running(mark))
    assert not list(room.home.rglob("went-on"))
