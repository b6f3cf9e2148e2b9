"""Ctrl-C and other ends: the turn is cancelled in good order, and a stuck reader holds nothing up."""

import json
import os
import signal
import subprocess
import time
from contextlib import ExitStack, closing
from pathlib import Path
from sqlite3 import connect

import pytest

LONG = "text: Beginning.\nwait: 60s\ntext: Never."
BUSY = 'call: shell {"command": "echo $$ > pid.txt; sleep 60"}'
FLOOD = "text*200000: word\\s\\n\nwait: 60s"


def started(process, text: str) -> None:
    """Reads until a line holds `text`."""
    assert any(text in line for line in process.stdout), "it never came"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_cancels_the_turn(shell, number):
    shell.script(LONG)
    with shell.start("run", "--json", "go") as process:
        started(process, "Beginning.")
        process.send_signal(number)
        out, err = process.communicate(timeout=5)
    assert process.returncode == 3
    assert err == ""
    last = json.loads(out.splitlines()[-1])
    assert (last["type"], last["stop_reason"]) == ("turn_completed", "cancelled")
    (stored,) = json.loads(shell("sessions", "list", "--json").stdout)
    told = json.loads(shell("sessions", "export", stored["id"], "--format", "json").stdout)
    assert [m["parts"][0]["text"] for m in told["messages"]] == ["go", "Beginning."]
    assert told["messages"][-1]["state"] == "interrupted"


def test_a_running_command_ends_with_the_turn(shell):
    shell.script(BUSY)
    with shell.start("run", "--json", "--mode", "auto", "go") as process:
        started(process, '"tool_started"')
        pid = _pid(shell)
        process.send_signal(signal.SIGINT)
        assert process.wait(5) == 3
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def _pid(shell) -> int:
    return int(_wait_for(shell.workspace / "pid.txt", "\n"))


def _wait_for(path: Path, text: str = "") -> str:
    """What is in the file, once it is there and holds `text`."""
    deadline = time.monotonic() + 10
    while not (path.exists() and text in path.read_text()):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return path.read_text()


def _wait_until_asleep(pid: int) -> None:
    """A signal between two reads would only count after the next one."""
    deadline = time.monotonic() + 10
    while Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "S":
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_signal_before_the_turn_began_cancels_too(shell):
    shell.script(LONG)
    with shell.start("run", "-", stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        process.stdin.write("x" * 200_000)  # more than a pipe holds: it reads
        process.stdin.flush()
        _wait_until_asleep(process.pid)
        process.send_signal(signal.SIGINT)
        assert process.wait(5) == 3


def test_a_key_command_that_hangs_does_not_hold_a_cancel_up(shell):
    shell.home.mkdir()
    (shell.home / "config.toml").write_text('[anthropic]\napi_key_command = "touch began; sleep 9"\n')
    with shell.start("run", "--json", "go") as process:
        started(process, "message_added")
        _wait_for(shell.workspace / "began")
        process.send_signal(signal.SIGINT)
        began = time.monotonic()
        assert process.wait(8) == 3
        assert time.monotonic() - began < 3


def test_a_reader_who_stopped_reading_does_not_hold_a_cancel_up(shell):
    shell.script(FLOOD)
    reading, writing = os.pipe()
    try:
        with shell.start("run", "go", stdout=writing) as process:
            os.close(writing)
            head = os.read(reading, 10)
            process.send_signal(signal.SIGINT)
            began = time.monotonic()
            assert process.wait(6) == 3
            assert time.monotonic() - began < 4
    finally:
        os.close(reading)
    assert head


def test_a_reader_who_is_gone_ends_the_turn_quietly(shell):
    shell.script(FLOOD)
    with shell.start("run", "go") as process:
        assert process.stdout.readline() == "word \n"
        process.stdout.close()
        assert process.wait(6) == 3
        assert process.stderr.read() == ""


def test_listings_do_not_mind_a_reader_who_is_gone(shell):
    with shell.start("models") as process:
        process.stdout.close()
        assert process.wait(6) == 0
        assert process.stderr.read() == ""


def test_a_second_signal_ends_the_process_at_once(shell):
    shell.script(BUSY)
    with shell.terminal("run", "go") as terminal, ExitStack() as stack:
        before = terminal.modes()
        terminal.wait_for("Run it?")
        other = stack.enter_context(closing(connect(shell.home / "quillback.db")))
        other.execute("BEGIN EXCLUSIVE")  # the first signal alone would wait for the database
        began = time.monotonic()
        terminal.process.send_signal(signal.SIGINT)
        terminal.process.send_signal(signal.SIGTERM)
        assert terminal.end() == 3
        assert time.monotonic() - began < 2
        assert terminal.modes() == before
