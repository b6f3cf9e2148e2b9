"""L01 L03: how the process ends, and that nothing of it stays."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from support.agent import ARGV, agent, calls, environment, processes
from support.fake_model import FakeModel, Hang, Raw, Reply, Say, Use
from support.fake_model.reply import block_events
from support.measure import memory, processor_time, waits
from support.pipe import pipe, prompt
from support.processes import until

pytestmark = pytest.mark.anyio
AUTO = {"QUILLBACK_MODE": "auto"}
SOON = 5.0  # two seconds are promised; slack for a busy machine


def run(tmp_path: Path, data: bytes) -> tuple[subprocess.CompletedProcess[bytes], float]:
    begun = time.monotonic()
    env = environment(tmp_path, "http://127.0.0.1:9")
    done = subprocess.run(ARGV, input=data, capture_output=True, env=env, cwd=tmp_path, timeout=20)
    return done, time.monotonic() - begun


async def test_an_input_that_ends_early_ends_the_process(tmp_path):
    new = b'{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"/","mcpServers":[]}}\n'
    hello = b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}\n'
    for data, answers in ((b"", 0), (b"\n \n", 0), (b"{bad", 1), (hello, 1), (hello[:-1], 1), (hello + new, 2)):
        done, seconds = await asyncio.to_thread(run, tmp_path, data)
        assert done.returncode == 0, data
        assert seconds < SOON
        assert done.stdout.count(b"\n") == answers, data
        assert b"Traceback" not in done.stderr, data


async def test_an_idle_process_ends_with_its_input(tmp_path, fake: FakeModel):
    fake.script("a", Reply(Say("said")))
    async with agent(tmp_path, fake.base_url) as a:
        session = await a.session()
        await a.client.prompt(session, "[[a]]")
        before = processor_time(a.pid)
        await asyncio.sleep(1.0)  # the test is that nothing happens
        assert processor_time(a.pid) - before < 0.15
        begun = time.monotonic()
        assert await a.client.close() == 0
        assert time.monotonic() - begun < SOON
    assert sorted(p.name for p in (tmp_path / "home/quillback").glob("quillback.db*")) == ["quillback.db"]


BUSY = {
    "a command": Reply(Say("run"), Use("shell", {"command": "sleep 606.1 & sleep 606.1"})),
    "a command that ignores signals": Reply(Use("shell", {"command": "trap '' INT TERM; sleep 606.1; sleep 606.1"})),
    "a stream": Reply(Say("word " * 4000, 4000, 0.01)),
    "silence": Reply(Hang()),
    "a late head": Reply(Say("late"), before=30.0),
    "a retry": Reply(status=429, error=("rate_limit_error", "slow"), headers={"retry-after": "50"}),
}


async def busy(a, fake: FakeModel) -> list:
    """Turns of every kind in one process, with a prompt in the queue behind each."""
    turns = []
    for number, reply in enumerate(BUSY.values()):
        fake.script(f"busy{number}", reply)
        session = await a.session()
        turns += [await a.client.start_prompt(session, f"[[busy{number}]]") for _ in range(2)]
    await fake.received(len(BUSY))
    assert await until(lambda: len(processes("606.1")) >= 4, 10)
    await turns[4].until(lambda u: u["sessionUpdate"] == "agent_message_chunk")
    await turns[10].until(lambda u: u["sessionUpdate"] == "agent_thought_chunk")
    return turns


@pytest.mark.parametrize("end", ["the input ends", "SIGTERM", "SIGINT", "SIGHUP"])
async def test_busy_turns_are_answered_and_nothing_is_left(tmp_path, fake: FakeModel, end):
    async with agent(tmp_path, fake.base_url, env=AUTO) as a:
        turns = await busy(a, fake)
        begun = time.monotonic()
        if end != "the input ends":
            os.kill(a.pid, signal.Signals[end])
            assert await until(lambda: a.client.exit_code is not None, SOON + 2)
        assert await a.client.close() == 0
        assert time.monotonic() - begun < SOON + 2
        assert [(await turn.finished()).stop_reason for turn in turns] == ["cancelled"] * 2 * len(BUSY)
        for turn in turns:
            assert all(c["seen"][-1] == "failed" for c in calls(turn.updates).values())
        assert "Traceback" not in a.client.stderr
    assert processes("606.1") == []
    assert all([await until(seen.ended.is_set) for seen in fake.requests])


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
async def test_a_signal_before_the_first_message_is_no_accident(tmp_path, name):
    async with pipe(tmp_path, "http://127.0.0.1:9") as p:
        assert await waits(p.process.pid)
        p.process.send_signal(signal.Signals[name])
        assert await p.ended() == 0
        assert await p.process.stderr.read() == b""


async def test_an_editor_that_closes_its_ear_is_gone(tmp_path, fake: FakeModel):
    fake.script("a", Reply(Say("word " * 20_000, 20_000, 0.002)))
    async with pipe(tmp_path, fake.base_url) as p:
        session = await p.session()
        await p.send(prompt(session, "[[a]]"))
        while "agent_message_chunk" not in str(await p.line()):
            pass
        p.process._transport.get_pipe_transport(1).close()
        assert await asyncio.wait_for(p.process.wait(), SOON + 3) == 0
    assert await until(fake.requests[0].ended.is_set)


LAUNCHER = """
import subprocess, sys, time
agent = subprocess.Popen(sys.argv[4:], stdin=subprocess.PIPE, stdout=open(sys.argv[1], "wb"))
holder = subprocess.Popen(["sleep", "607.1"], pass_fds=[agent.stdin.fileno()])
agent.stdin.write(open(sys.argv[2], "rb").read())
agent.stdin.flush()
print(agent.pid, holder.pid, agent.stdin.fileno(), ".", end="", file=open(sys.argv[3], "w"), flush=True)
time.sleep(600)
"""


@pytest.mark.parametrize("moment", ["before the first message", "idle", "busy"])
async def test_a_killed_editor_is_noticed_though_its_pipe_stays_open(tmp_path, fake: FakeModel, moment):
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": 1}}
    lines = [] if moment == "before the first message" else [hello]
    fake.script("a", Reply(Use("shell", {"command": "sleep 607.2"})))
    output, given = tmp_path / "out", tmp_path / "in"
    given.write_text("".join(f"{line}\n" for line in map(json.dumps, lines)))
    env = environment(tmp_path, fake.base_url, AUTO)
    argv = [sys.executable, "-c", LAUNCHER, str(output), str(given), str(tmp_path / "pids"), *ARGV]
    launcher = subprocess.Popen(argv, env=env, cwd=workspace)
    pid = holder = 0
    try:
        assert await until(lambda: (tmp_path / "pids").exists() and (tmp_path / "pids").read_text().endswith("."), 10)
        pid, holder, pipe_of_it = map(int, (tmp_path / "pids").read_text().removesuffix(".").split())
        if lines:
            assert await until(lambda: b"agentInfo" in output.read_bytes(), 10)
        if moment == "busy":
            await _start_turn(Path(f"/proc/{holder}/fd/{pipe_of_it}"), workspace, output)
            assert await until(lambda: processes("607.2"), 10)
        assert moment == "busy" or await waits(pid)
        launcher.kill()
        launcher.wait()
        assert await until(lambda: not alive(pid), 5 + SOON), "it never noticed"
        assert Path(f"/proc/{holder}").exists()
        assert await until(lambda: not processes("607.2"))
    finally:
        launcher.kill()
        launcher.wait()
        for left in (holder, pid):
            if left and alive(left):
                os.kill(left, signal.SIGKILL)


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


async def _start_turn(held: Path, workspace: Path, output: Path) -> None:
    """Write into the agent's input as its editor would, through the end of it that another process holds."""
    with held.open("wb", buffering=0) as stdin:
        params = {"cwd": str(workspace), "mcpServers": []}
        stdin.write(json.dumps({"jsonrpc": "2.0", "id": 2, "method": "session/new", "params": params}).encode() + b"\n")
        assert await until(lambda: b"sessionId" in output.read_bytes(), 10)
        answer = next(json.loads(x) for x in output.read_text().splitlines() if '"id":2' in x)
        stdin.write(json.dumps({"jsonrpc": "2.0", **prompt(answer["result"]["sessionId"], "[[a]]")}).encode() + b"\n")


async def test_an_editor_that_stops_reading_costs_little_and_can_still_cancel(tmp_path, fake: FakeModel):
    deltas = list(block_events(0, Say("x" * 200 * 1000, 1000)))[1:]
    lump = "".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in deltas).encode()
    fake.script("a", Reply(Raw(_opening()), *[Raw(lump) for _ in range(200)]))
    fake.script("b", Reply(Say("other")))
    async with pipe(tmp_path, fake.base_url) as p:
        session = await p.session()
        await p.send(prompt(session, "[[a]]"))
        pid = p.process.pid
        assert await waits(pid, 60)
        assert memory(pid) < 200
        assert not fake.requests[0].ended.is_set()
        await p.send({"method": "session/cancel", "params": {"sessionId": session}})
        assert await until(lambda: fake.requests[0].gone.is_set(), SOON)  # done while nobody reads
        p.listen()
        answer = await p.answer("prompt")
        assert answer["result"]["stopReason"] == "cancelled"
        await p.send(prompt(session, "[[b]]", "again"))
        assert (await p.answer("again"))["result"]["stopReason"] == "end_turn"
        p.close_input()
        assert await p.ended() == 0


def _opening() -> bytes:
    start = next(iter(block_events(0, Say(""))))
    return f"event: {start['type']}\ndata: {json.dumps(start)}\n\n".encode()
