"""Help, version and usage: quick, on the right stream, with the right exit code."""

import os
import subprocess
import sys

import pytest

from quillback import __version__
from quillback.cli.export import FORMATS as EXPORTS
from quillback.cli.main import FORMATS, MODES, THINKING
from quillback.core.model import Thinking
from quillback.core.ports import Mode

HEAVY = ("rich", "asyncio", "attrs", "anthropic", "aiosqlite", "quillback.app", "quillback.core")


def test_the_version_is_said_without_importing_the_program(shell):
    asked = [sys.executable, "-X", "importtime", "-m", "quillback", "--version"]
    done = subprocess.run(asked, env=shell.env(), capture_output=True, text=True, check=True)
    assert done.stdout == f"quillback {__version__}\n"
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "quillback.cli.main" in imported
    assert not imported & set(HEAVY)


def test_in_a_terminal_it_helps(shell):
    with shell.terminal() as terminal:
        assert terminal.end() == 0
    assert "usage: quillback" in terminal.output
    assert "doctor" in terminal.output


def test_a_server_in_a_terminal_says_what_it_waits_for(shell):
    with shell.terminal("acp") as terminal:
        terminal.wait_for("Waiting for an editor on standard input; Ctrl-D ends.")
        terminal.type("\x04")
        assert terminal.end() == 0


def test_with_a_pipe_it_serves(shell):
    done = shell(stdin='{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}\n')
    assert done.returncode == 0
    assert '"protocolVersion":1' in done.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["help"], "usage: quillback "),
        (["--help"], "usage: quillback "),
        (["help", "run"], "usage: quillback run "),
        (["acp", "--help"], "usage: quillback acp "),
        (["sessions", "--help"], "export"),
    ],
)
def test_help(shell, arguments, said):
    done = shell(*arguments)
    assert (done.returncode, done.stderr) == (0, "")
    assert said in done.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["frobnicate"], "run"),
        (["acp", "extra"], "extra"),
        (["--frobnicate"], "--help"),
        (["sessions"], "quillback sessions --help"),
        (["sessions", "show"], "ID"),
        (["run", "--mode", "wild", "hello"], "approve"),
        (["run", "--frob", "hello"], "--frob"),
        (["run", "hello", "--frob"], "--frob"),
        (["run", "--continue", "--session", "x", "hello"], "exclude"),
        (["run", "--cwd", "nowhere", "hello"], "not a directory"),
        (["run", "--demo", "--continue"], "--demo"),
        (["run", " "], "what is to be done?"),
        (["run"], "what is to be done?"),
        (["sessions", "list", "--limit", "0"], "--limit"),
        (["sessions", "show", "x"], "nothing is stored"),
    ],
)
def test_usage_errors_say_what_to_do(shell, arguments, said):
    done = shell(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("quillback: ")
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_run_without_a_prompt_in_a_terminal_does_not_wait_for_one(shell):
    with shell.terminal("run") as terminal:
        assert terminal.end() == 2
    assert "quillback run" in terminal.output


def test_the_tables_know_what_the_program_knows():
    assert set(MODES) == {mode.value for mode in Mode}
    assert set(THINKING) == {level.value for level in Thinking}
    assert set(FORMATS) == EXPORTS.keys()


def test_closed_standard_streams_do_no_harm(shell):
    shell.script("text: Hello.")
    command = f'"{sys.executable}" -m quillback run hi >&- 2>&- <&-'
    done = subprocess.run(["sh", "-c", command], cwd=shell.workspace, env=shell.env(), check=False)
    assert done.returncode == 0
    assert shell("doctor").stdout.count("1 session") == 1


def test_the_process_ends_at_once_while_a_thread_imports(tmp_path):
    """Taking the interpreter apart under a thread that loads a library aborts it now and then."""
    code = (
        "import atexit, sys, threading\n"
        "from quillback.__main__ import main\n"
        "atexit.register(lambda: print('taken apart'))\n"
        "threading.Thread(target=threading.Event().wait, daemon=True).start()\n"
        "sys.argv = ['quillback', *sys.argv[1:]]\n"
        "sys.exit(main())\n"
    )
    home = {**os.environ, "QUILLBACK_HOME": str(tmp_path)}
    for arguments, returncode in ((["--version"], 0), (["nonsense"], 2)):
        done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, env=home)
        assert done.returncode == returncode
        assert "taken apart" not in done.stdout
        assert (done.stdout + done.stderr).startswith("quillback")
