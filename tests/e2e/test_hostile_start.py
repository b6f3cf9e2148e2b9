"""What the process is started with: pipes that do not block or are closed, odd first bytes, a broken installation."""

import asyncio
import fcntl
import json
import os
import subprocess
import sys
import termios
import time

import pytest

from support.agent import ARGV, environment
from support.measure import memory
from support.pipe import INITIALIZE, Pipe, pipe
from support.processes import until

pytestmark = pytest.mark.anyio
NOBODY = "http://127.0.0.1:9"
HELLO = json.dumps({"jsonrpc": "2.0", **INITIALIZE}).encode() + b"\n"


PIPE = 65_536  # bytes that fit into a pipe


def unread(fd: int) -> int:
    """Bytes that wait in a pipe."""
    answer = fcntl.ioctl(fd, termios.FIONREAD, b"\0" * 4)
    return int.from_bytes(answer, sys.byteorder)


@pytest.mark.parametrize("which", ["stdin", "stdout", "both"])
async def test_pipes_that_do_not_block_are_waited_for(tmp_path, which):
    (tmp_path / "home").mkdir()
    to_agent, my_output = os.pipe()
    my_input, from_agent = os.pipe()
    for fd, name in ((to_agent, "stdin"), (from_agent, "stdout")):
        os.set_blocking(fd, which not in (name, "both"))
    env = environment(tmp_path / "home", NOBODY)
    process = subprocess.Popen(ARGV, stdin=to_agent, stdout=from_agent, stderr=subprocess.PIPE, env=env, cwd=tmp_path)
    os.close(from_agent)
    try:
        assert not await until(lambda: process.poll() is not None, 0.7)
        os.write(my_output, HELLO)
        assert b'"agentInfo"' in await asyncio.to_thread(os.read, my_input, 65536)
        line = json.dumps({"jsonrpc": "2.0", "id": "y" * 4000, "method": "_x/none"}).encode() + b"\n"
        for _ in range(60):
            os.write(my_output, line)
        assert await until(lambda: unread(my_input) > PIPE - 5000)  # there is no room for another answer
        assert os.get_blocking(to_agent) is (which not in ("stdin", "both"))
        os.close(my_output)
        with os.fdopen(my_input, "rb") as output:
            rest = await asyncio.to_thread(output.read)
        assert rest.count(b"\n") == 60
        assert process.wait(10) == 0
        assert process.stderr.read() == b""
    finally:
        process.kill()
        process.wait()
        process.stderr.close()
        os.close(to_agent)


@pytest.mark.parametrize("arguments", ["acp", ""])
@pytest.mark.parametrize(("how", "name"), [("0<&-", "input"), ("1>&-", "output"), ("0>nothing", "input")])
async def test_a_closed_pipe_is_named(tmp_path, arguments, how, name):
    done = await asyncio.to_thread(
        subprocess.run,
        ["bash", "-c", f"printf '%s' '{HELLO.decode()}' | \"$@\" {how}", "bash", *ARGV[:3], *arguments.split()],
        capture_output=True,
        text=True,
        env=environment(tmp_path, NOBODY),
        cwd=tmp_path,
        timeout=20,
    )
    assert done.returncode == 1
    assert done.stderr.startswith(f"quillback: standard {name} ")
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


TELLS_STDERR = """
import os, pathlib, threading, time

def tell():
    while not os.path.exists("ask"):
        time.sleep(0.01)
    pathlib.Path("new").write_text(os.path.realpath("/dev/fd/2"))
    os.rename("new", "told")

threading.Thread(target=tell, daemon=True).start()
"""


async def test_without_stderr_it_serves_and_no_other_file_takes_its_place(tmp_path):
    (tmp_path / "patched").mkdir()
    (tmp_path / "patched/sitecustomize.py").write_text(TELLS_STDERR)
    env = environment(tmp_path / "home", NOBODY)
    env["PYTHONPATH"] = os.pathsep.join([str(tmp_path / "patched"), env.get("PYTHONPATH", "")])
    async with pipe(tmp_path, NOBODY) as p:
        shell = ["bash", "-c", '"$@" 2>&-', "bash", *ARGV]
        process = await asyncio.create_subprocess_exec(*shell, stdin=-1, stdout=-1, cwd=p.workspace, env=env)
        closed = Pipe(process, p.workspace)
        session = await closed.session()
        assert session
        (p.workspace / "ask").touch()
        told = p.workspace / "told"
        assert await until(told.exists)
        assert told.read_text() == os.devnull
        closed.close_input()
        assert await closed.ended() == 0
        process._transport.close()


async def test_blank_lines_before_the_first_message_cost_nothing(tmp_path):
    async with pipe(tmp_path, NOBODY) as p:
        begun = time.monotonic()
        for _ in range(20):
            await p.send(b" \r\n" * 300_000)
        assert memory(p.process.pid) < 30
        await p.send(INITIALIZE)
        assert (await p.answer("init"))["result"]
        assert time.monotonic() - begun < 10
        p.close_input()
        assert await p.ended() == 0


async def test_a_first_line_in_single_bytes_is_read_once(tmp_path):
    params = {"protocolVersion": 1, "_meta": {"x": "y" * 200_000}}
    async with pipe(tmp_path, NOBODY) as p:
        line = json.dumps({"jsonrpc": "2.0", "id": "long", "method": "initialize", "params": params}).encode()
        for start in range(0, len(line), 50):
            p.process.stdin.write(line[start : start + 50])
            await p.process.stdin.drain()
        await p.send(b"")
        assert (await p.answer("long"))["result"]["protocolVersion"] == 1
        p.close_input()
        assert await p.ended() == 0


BROKEN = {
    "a library is missing": ("orjson.py", "raise ImportError('no such library')\n"),
    "the start fails": (
        "sitecustomize.py",
        "import quillback.app\n\ndef fails(*_, **__):\n    raise RuntimeError('boom')\n\n"
        "quillback.app.SqliteStore = fails\n",
    ),
}


@pytest.mark.parametrize("what", BROKEN)
async def test_a_program_that_cannot_start_says_so_to_whoever_waits(tmp_path, what):
    name, text = BROKEN[what]
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / name).write_text(text)
    paths = os.pathsep.join([str(tmp_path / "broken"), environment(tmp_path, NOBODY).get("PYTHONPATH", "")])
    async with pipe(tmp_path, NOBODY, PYTHONPATH=paths) as p:
        await p.send(
            INITIALIZE,
            {"id": "new", "method": "session/new", "params": {}},
            {"method": "session/cancel", "params": {}},
            b"{bad",
        )
        assert (await p.answer("init"))["result"]
        error = (await p.answer("new"))["error"]
        assert error["code"] == -32603
        assert "start" in error["message"]
        assert await p.ended() == 1
        log = (await p.process.stderr.read()).decode()
        assert "no such library" in log or "boom" in log
        assert "Quillback has to stop" in log or log.count("\n") == 1
