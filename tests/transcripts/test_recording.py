"""`quillback record`: an editor's session with an agent passes through it untouched, and becomes a transcript."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from quillback.transcripts import proxy
from quillback.transcripts.document import read_transcript
from quillback.transcripts.running import How, run
from quillback.transcripts.steps import Mark
from quillback_protocol.client import Client, choose
from support.agent import ARGV, environment
from support.puppets import PUPPET, answer, chunk, note

SECONDS = 30.0
ECHO = Path(__file__).parent / "sdk_echo.py"
RECORD = [sys.executable, "-m", "quillback", "record"]


@contextmanager
def recorded(place: Path, *parts: list[Any], file: str = "session.md") -> "Iterator[subprocess.Popen[bytes]]":
    """A puppet behind the recorder; see puppet.py for its parts."""
    (place / "part.json").write_text(json.dumps(parts))
    argv = [*RECORD, str(place / file), "--", sys.executable, str(PUPPET), str(place / "part.json")]
    pipe = subprocess.PIPE
    process = subprocess.Popen(argv, stdin=pipe, stdout=pipe, stderr=pipe, env=environment(place, ""), bufsize=0)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                stream.close()


def until(condition) -> None:
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.02)


def lines_of(place: Path, file: str = "session.md") -> list[str]:
    return (place / file).read_text().split("\n")


def marks(place: Path) -> list[tuple[Mark, str]]:
    text = (place / "session.md").read_text()
    return [(step.mark, step.source.partition(" ")[2]) for step in read_transcript(text, "session.md").steps][2:]


# ---------------------------------------------------------------- passing on


@pytest.mark.parametrize("size", [1, 100_000], ids=["small", "large"])
def test_every_byte_passes_in_both_directions(tmp_path, size: int):
    odd = b'{"jsonrpc" :\t"2.0","x":"\xff\xfe \xc3\xa4"}\r\n' * size
    with recorded(tmp_path, *[[{"echo": True}]] * (size + 1)) as process:
        out, err = process.communicate(odd + b"no newline at the end", timeout=SECONDS)
    assert out == odd + b"no newline at the end"
    assert (process.returncode, err) == (0, b"")


def test_bytes_pass_at_once_and_not_line_by_line(tmp_path):
    with recorded(tmp_path, [{"bytes": b'{"half'.hex()}], [{"bytes": b'":1}\n'.hex()}]) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"1\n")
        assert process.stdout.read(6) == b'{"half'
        process.stdin.write(b"2\n")
        assert process.stdout.read(5) == b'":1}\n'


@pytest.mark.parametrize("code", [0, 7])
def test_the_exit_code_and_standard_error_are_the_agents(tmp_path, code: int):
    with recorded(tmp_path, [{"stderr": "a\nwarning \u00e4"}, {"exit": code}]) as process:
        _, err = process.communicate(b"1\n", timeout=SECONDS)
    assert (process.returncode, err.decode()) == (code, "a\nwarning \u00e4")


def test_an_agent_that_is_killed_is_told_like_that(tmp_path):
    with recorded(tmp_path, [{"kill": int(signal.SIGKILL)}]) as process:
        process.communicate(b"1\n", timeout=SECONDS)
    assert process.returncode == -signal.SIGKILL


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_signals_are_the_agents(tmp_path, number: signal.Signals):
    with recorded(tmp_path, ["ready"]) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"1\n")
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(number)
        assert process.wait(SECONDS) == -number
    assert (Mark.MUST, "raw ready") in marks(tmp_path)


def test_an_agent_that_cannot_be_started_is_told(tmp_path):
    argv = [*RECORD, str(tmp_path / "s.md"), "--", str(tmp_path / "no_such_agent")]
    done = subprocess.run(argv, capture_output=True, text=True, env=environment(tmp_path, ""), check=False)
    assert done.returncode == 2
    assert "no_such_agent: No such file" in done.stderr
    assert not (tmp_path / "s.md").exists()


def test_an_editor_that_goes_away_ends_the_agent(tmp_path):
    with recorded(tmp_path, *[[{"echo": True}]] * 3) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"1\n")
        assert process.stdout.readline() == b"1\n"
        process.stdin.close()
        assert process.wait(SECONDS) == 0


def test_an_editor_that_does_not_read_is_told_to_the_agent(tmp_path):
    with recorded(tmp_path, ["first"], *[[{"echo": True}]] * 2000) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"1\n")
        assert process.stdout.readline() == b"first\n"
        process.stdout.close()

        def ended() -> bool:
            with suppress(BrokenPipeError):
                process.stdin.write(b"2\n")
            return process.poll() is not None

        until(ended)
        assert process.stderr is not None
        assert b"BrokenPipeError" in process.stderr.read()
    assert process.returncode == 1


def test_what_an_agent_leaves_behind_does_not_keep_the_recorder(tmp_path):
    leaves = "import subprocess; print(subprocess.Popen(['sleep', '60']).pid)"
    argv = [*RECORD, str(tmp_path / "left.md"), "--", sys.executable, "-c", leaves]
    with subprocess.Popen(
        argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=environment(tmp_path, "")
    ) as process:
        assert process.stdout is not None
        sleeper = int(process.stdout.readline())
        try:
            assert process.wait(SECONDS) == 0
        finally:
            os.kill(sleeper, signal.SIGKILL)


def test_a_reader_that_is_slow_is_waited_for(monkeypatch):
    monkeypatch.setattr(proxy, "LAST_SECONDS", 0.01)
    (from_agent, agent_out), (from_proxy, proxy_out) = os.pipe(), os.pipe()
    told: list[bytes] = []
    pump = proxy.Pump(from_agent, proxy_out, lambda: os.close(from_agent), lambda: os.close(proxy_out), told.append)
    pump.start()
    said = b"a" * 100_000  # more than a pipe takes, less than two do
    os.write(agent_out, said)
    os.close(agent_out)
    waiting = threading.Thread(target=pump.finish)
    waiting.start()
    waiting.join(0.3)
    assert waiting.is_alive()
    got = b""
    while data := os.read(from_proxy, 65536):
        got += data
    waiting.join(SECONDS)
    assert not waiting.is_alive()
    assert got == b"".join(told) == said


# ---------------------------------------------------------------- the file


def test_it_is_complete_up_to_the_last_message_when_all_is_killed(tmp_path):
    part = [note("a"), chunk("one "), chunk("two")]
    with recorded(tmp_path, part, [answer(1, {"late": True})]) as process:
        assert process.stdin is not None
        process.stdin.write(b'{"jsonrpc": "2.0", "id": 1, "method": "m"}\n')
        until(lambda: (tmp_path / "session.md").exists() and "one two" in (tmp_path / "session.md").read_text())
        process.kill()
        process.wait()
    assert [mark for mark, _ in marks(tmp_path)] == [Mark.SEND, Mark.MUST, Mark.MUST]


def test_where_it_cannot_be_written_the_session_goes_on(tmp_path):
    with recorded(tmp_path, [{"echo": True}], [{"echo": True}], file="none/session.md") as process:
        out, err = process.communicate(b"1\n2\n", timeout=SECONDS)
    assert (process.returncode, out) == (0, b"1\n2\n")
    assert "session.md is not written any more: No such file or directory. The session goes on." in err.decode()


def test_where_the_disk_is_full_the_session_goes_on(tmp_path):
    (tmp_path / "full").symlink_to("/dev/full")
    with recorded(tmp_path, *[[{"echo": True}]] * 2, file="full") as process:
        out, err = process.communicate(b"1\n2\n", timeout=SECONDS)
    assert (process.returncode, out) == (0, b"1\n2\n")
    assert (tmp_path / "full-2").exists()  # one that is there is never written to
    assert err == b""


def test_one_that_is_there_is_kept(tmp_path):
    (tmp_path / "session.md").write_text("mine")
    for _ in range(2):
        with recorded(tmp_path, ["x"]) as process:
            process.communicate(b"1\n", timeout=SECONDS)
    assert (tmp_path / "session.md").read_text() == "mine"
    assert "<- raw x" in lines_of(tmp_path, "session-2.md")
    assert "<- raw x" in lines_of(tmp_path, "session-3.md")


def test_nobody_else_can_read_it(tmp_path):
    with recorded(tmp_path, ["x"]) as process:
        process.communicate(b"1\n", timeout=SECONDS)
    assert (tmp_path / "session.md").stat().st_mode & 0o777 == 0o600


def test_what_is_no_message_is_written_raw(tmp_path):
    sent = b'no json\n{"id": 1, "method": "m"}\n{"jsonrpc": "2.0", "id": 1, "method": "m"}\n'
    with recorded(tmp_path, ["starting"], [], [answer(1, {})]) as process:
        process.communicate(sent, timeout=SECONDS)
    told = [f"{mark} {text}" for mark, text in marks(tmp_path)]
    assert "-> raw no json" in told
    assert '-> raw {"id": 1, "method": "m"}' in told
    assert '-> {"id": 1, "method": "m"}' in told
    assert "<- raw starting" in told


# ---------------------------------------------------------------- it passes


@pytest.mark.anyio
async def test_a_session_with_the_official_sdk_passes_again(tmp_path):
    agent = [sys.executable, str(ECHO)]
    (tmp_path / "work").mkdir()
    argv = [*RECORD, str(tmp_path / "session.md"), "--", *agent]
    async with Client.spawn(argv, cwd=tmp_path, env=environment(tmp_path, "")) as client:
        client.on_request("session/request_permission", choose("allow_once"))
        await client.initialize()
        for _ in range(2):
            session = (await client.new_session(tmp_path / "work"))["sessionId"]
            turn = await client.prompt(session, f"words in {tmp_path / 'work'} for {session}")
            assert turn.text == f"words in {tmp_path / 'work'} for {session} "
    text = (tmp_path / "session.md").read_text()
    assert "words in $CWD for $session2 " in text
    assert "$request2" in text
    assert str(tmp_path / "work") not in text
    assert session not in text
    assert await run(read_transcript(text, "session.md"), How(tuple(agent), seconds=60)) == ""
    wrong = text.replace('"words in $CWD for $session2 "', '"words in $CWD for $session "')
    assert "something else" in await run(read_transcript(wrong, "session.md"), How(tuple(agent), seconds=60))


SCRIPT = """\
think: I will look.
text: Let me look into it.
call: read_file {"path": "a.txt"}
---
call: edit_file {"path": "a.txt", "old_text": "one", "new_text": "two"}
---
call: shell {"command": "cat a.txt; echo $HOME costs $5"}
---
text: It says two.
---
text: This goes on
text*500: \\sand on
wait: 60s
"""


@pytest.mark.anyio
async def test_a_session_with_quillback_passes_again(tmp_path, monkeypatch):
    work = tmp_path / "work"
    work.mkdir()
    (work / "a.txt").write_text("one\n")
    (tmp_path / "model.script").write_text(SCRIPT)
    env = environment(tmp_path, "", {"QUILLBACK_MODEL": f"scripted:{tmp_path / 'model.script'}"})
    argv = [*RECORD, str(tmp_path / "session.md"), "--", *ARGV]
    async with Client.spawn(argv, cwd=work, env=env) as client:
        client.on_request("session/request_permission", choose("allow_once"))
        await client.initialize()
        session = (await client.new_session(work))["sessionId"]
        assert (await client.prompt(session, "What does a.txt say?")).text.endswith("It says two.")
        turn = await client.start_prompt(session, "Go on.")
        await turn.until(lambda u: u["sessionUpdate"] == "agent_message_chunk")
        client.cancel(session)
        assert (await turn.finished()).stop_reason == "cancelled"
    transcript = read_transcript((tmp_path / "session.md").read_text(), "session.md")
    for name in env:
        monkeypatch.setenv(name, env[name])
    monkeypatch.setenv("QUILLBACK_HOME", str(tmp_path / "another"))
    (work / "a.txt").write_text("one\n")
    assert await run(transcript, How(tuple(ARGV), cwd=work, seconds=60)) == ""
    (work / "a.txt").write_text("three\n")
    assert "something else" in await run(transcript, How(tuple(ARGV), cwd=work, seconds=60))
    assert os.environ["QUILLBACK_HOME"].endswith("another")
