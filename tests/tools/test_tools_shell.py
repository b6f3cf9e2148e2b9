import asyncio
import os
import shutil
import stat
import time
from pathlib import Path

import pytest

from quillback.core.message import Text
from support.toolroom import Room, text

pytestmark = pytest.mark.anyio


async def out(room: Room, command: str, **more: object) -> str:
    return text(await room.call("shell", command=command, **more))


async def test_output_of_both_kinds_in_order(room: Room):
    outcome = await room.call("shell", command="echo one; echo two >&2; echo three")
    assert text(outcome) == "one\ntwo\nthree"
    assert not outcome.is_error
    assert outcome.raw_output == {"exit_code": 0, "timed_out": False}
    assert outcome.shown == outcome.content


async def test_no_output(room: Room):
    assert await out(room, "true") == "(no output)"


async def test_an_exit_code_is_an_error_with_its_output(room: Room):
    outcome = await room.call("shell", command="echo before; exit 3")
    assert text(outcome) == "before\n[exit code 3]"
    assert outcome.is_error
    assert outcome.raw_output == {"exit_code": 3, "timed_out": False}
    assert text(await room.call("shell", command="exit 7")) == "(no output)\n[exit code 7]"


@pytest.mark.parametrize(
    ("command", "ending"),
    [("kill -SEGV $$", "[ended by signal SIGSEGV]"), ("(kill -9 $BASHPID); exit $?", "[exit code 137: SIGKILL]")],
)
async def test_signals_are_named(room: Room, command: str, ending: str):
    assert (await out(room, command)).endswith(ending)


async def test_standard_input_is_empty(room: Room):
    command = "cat; read x; echo got:$x; cat <<E\nhi\nE\nread y; test -t 0 || echo no terminal; tty"
    assert (await out(room, command)).splitlines() == ["got:", "hi", "no terminal", "not a tty", "[exit code 1]"]


async def test_each_call_starts_in_the_sessions_directory(room: Room):
    assert await out(room, "mkdir d && cd d && pwd && X=1 && export X") == str(room.workspace / "d")
    assert await out(room, "pwd; echo x$X") == f"{room.workspace}\nx"
    assert await out(room, "cd d; rm -rf ../d; echo ok") == "ok"
    assert await out(room, "echo still ok") == "still ok"


async def test_a_directory_that_is_gone_is_a_clear_error(room: Room):
    shutil.rmtree(room.workspace)
    for arguments in ({}, {"background": True}):
        assert "does not exist any more" in await room.refused("shell", command="echo x", **arguments)
    room.workspace.mkdir()
    assert await out(room, "echo back") == "back"


async def test_programs_are_kept_quiet(room: Room):
    assert await out(room, "echo $TERM $PAGER $GIT_PAGER $GIT_TERMINAL_PROMPT") == "dumb cat cat 0"
    command = "git init -q . && git -c user.name=x -c user.email=x@x commit --allow-empty; git log"
    assert "Aborting commit" in await out(room, command)


async def test_keys_of_providers_are_held_back(room: Room, monkeypatch: pytest.MonkeyPatch):
    secret = "sk-ant-SECRET-0123456789"
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "MISTRAL_API_KEY", "QUILLBACK_HOME", "COPY_OF_IT", "openai_x"):
        monkeypatch.setenv(name, secret)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "passed-to-commands")
    monkeypatch.setenv("MY_SECRET", "named-in-config")
    room.secret_env = frozenset({"MY_SECRET"})
    room.open()
    environment = await out(room, "env")
    assert secret not in environment
    assert "named-in-config" not in environment
    assert "passed-to-commands" in environment
    assert "PATH=" in environment
    job = await room.call("shell", command="env", background=True)
    assert "job_1" in text(job)
    output = await room.text("shell_output", job="job_1", wait=5)
    assert "PATH=" in output
    assert secret not in output


async def test_a_variable_with_a_key_of_a_provider_in_it_is_held_back(room: Room, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", "k+y/9876")
    monkeypatch.setenv("GROQ_API_KEY", "bin")
    monkeypatch.setenv("FOO_URL", "https://u:k+y/9876@host")
    monkeypatch.setenv("BAR_URL", "https://u:k%2By%2F9876@host")
    monkeypatch.setenv("QUILLBACK_KEY", os.environ["PATH"])
    environment = await out(room, "env")
    assert "9876" not in environment
    assert "PATH=" in environment


async def test_the_environment_of_what_watches_over_it_has_no_keys(room: Room, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-SECRET-0123456789")
    assert "SECRET" not in await out(room, "tr '\\0' '\\n' < /proc/$PPID/environ")


async def test_no_descriptors_of_ours_are_passed_on(room: Room):
    read, write = os.pipe()
    try:
        os.set_inheritable(write, True)
        assert await out(room, "ls /proc/self/fd") == "0\n1\n2\n3", "the fourth is ls reading the directory"
    finally:
        os.close(read)
        os.close(write)


async def test_pipes_break_as_usual(room: Room):
    started = time.monotonic()
    assert await out(room, "yes | head -n 1") == "y"
    assert time.monotonic() - started < 2


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (r"printf '\033[1;31mred\033[0m \033]0;title\007end'", "red end"),
        (r"printf '10%%\r50%%\r100%%\ndone\r\n'", "100%\ndone"),
        (r"printf 'a\000b\377c'", "ab�c"),
        (r"printf 'x\033'", "x"),
        (r"printf 'N\bNA\bAME'", "NAME"),
        (r"printf '\360\237\230'; sleep 0.1; printf '\200'", "😀"),
        (r"printf 'a\033['; sleep 0.1; printf '31mb'", "ab"),
        (r"printf 'tab\there'", "tab\there"),
    ],
)
async def test_output_is_clean_text(room: Room, command: str, expected: str):
    assert await out(room, command) == expected


async def test_long_output_keeps_head_and_tail_and_the_whole_in_a_file(room: Room):
    result = await out(room, "seq 1 20000")
    assert len(result) <= 30_000
    assert result.startswith("1\n2\n3\n")
    assert result.endswith("\n19999\n20000")
    assert "characters omitted; the whole is in " in result
    path = Path(result.split("the whole is in ", 1)[1].split(" ...]", 1)[0])
    assert path.read_text() == "".join(f"{n}\n" for n in range(1, 20001))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert path.parent == room.home / "outputs"


async def test_short_output_makes_no_file(room: Room):
    await out(room, "seq 1 2000")
    assert not (room.home / "outputs").exists()


async def test_output_without_end_is_bounded_in_memory(room: Room):
    result = await out(room, "head -c 100000000 /dev/zero | tr '\\0' 'x'")
    assert len(result) <= 30_000
    assert "100,000,000" not in result
    assert "the first 67,108,864 are in" in result
    (kept,) = (room.home / "outputs").iterdir()
    assert kept.stat().st_size == 64 * 1024 * 1024


async def test_a_directory_that_cannot_be_written_does_not_fail_the_call(room: Room):
    (room.home / "outputs").write_text("in the way")
    result = await out(room, "seq 1 20000")
    assert "could not be kept" in result
    assert result.endswith("20000")


async def test_output_is_shown_while_it_comes(room: Room):
    await room.call("shell", command="for i in 1 2 3 4 5 6; do echo line $i; sleep 0.08; done; echo end")
    frames = [frame.shown for frame in room.progress]
    assert 2 <= len(frames) <= 7
    assert frames[0] == (Text("line 1\n"),)
    assert len(set(frames)) == len(frames)


async def test_frames_are_few_and_small(room: Room):
    started = time.monotonic()
    await room.call("shell", command="timeout 0.5 yes 0123456789")
    took = time.monotonic() - started
    assert 1 <= len(room.progress) <= 10 * took + 1
    assert all(len(part.text) <= 16 * 1024 for frame in room.progress for part in frame.shown if isinstance(part, Text))


async def test_a_line_that_is_still_open_is_shown(room: Room):
    await room.call("shell", command="printf 'working...'; sleep 0.3; echo done")
    assert room.progress[0].shown == (Text("working..."),)


async def test_the_loop_stays_free_while_output_pours_in(room: Room):
    task = asyncio.ensure_future(room.call("shell", command="timeout 1 yes"))
    worst, last = 0.0, time.monotonic()
    while not task.done():
        await asyncio.sleep(0.005)
        now = time.monotonic()
        worst, last = max(worst, now - last), now
    await task
    assert worst < 0.25


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"command": ""}, "empty"),
        ({"command": "  \n"}, "empty"),
        ({"command": "a\0b"}, "NUL"),
        ({"command": "\ud800"}, "Unicode"),
        ({"command": "x", "timeout": 3601}, "3600"),
        ({"command": "x", "timeout": 0}, "timeout"),
    ],
)
async def test_odd_arguments(room: Room, arguments: dict[str, object], word: str):
    assert word in await room.refused("shell", **arguments)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -1, "5", True])
async def test_odd_numbers(room: Room, value: object):
    with pytest.raises(Exception, match="timeout"):
        await room.tool("shell").prepare("c", {"command": "x", "timeout": value})


async def test_a_command_that_is_too_long(room: Room):
    outcome = await room.call("shell", command="true " + "x" * 3_000_000)
    assert text(outcome) == "(no output)\n[could not run: Argument list too long]"
    assert outcome.is_error
    assert await out(room, "echo ok # " + "x" * 100_000) == "ok"


async def test_a_machine_without_bash(room: Room, monkeypatch: pytest.MonkeyPatch):
    real = shutil.which
    monkeypatch.setattr(shutil, "which", lambda name: None if name == "bash" else real(name))
    assert await out(room, "echo $0") == "/bin/sh"


async def test_access_and_titles(room: Room):
    prepared = await room.prepare("shell", command="git log\nrm x")
    assert (prepared.access.command, prepared.access.cwd) == ("git log\nrm x", str(room.workspace))
    assert room.tool("shell").touches({"command": "x"}) == frozenset()
    describe = room.tool("shell").spec.describe
    assert describe({"command": "git log\n  -3"}).title == "git log -3"
    assert len(describe({"command": "x" * 5000}).title) == 200
    assert describe({"command": 5}).title == "Run a command"
