"""The examples of README.md that can be run do what it says, as they stand there."""

import os
import re
import subprocess
import sys
from pathlib import Path

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")


def example(language: str, holding: str) -> str:
    """The one code block of the language with the text in it."""
    (found,) = [b for b in re.findall(rf"^```{language}\n(.*?)^```$", README, re.M | re.S) if holding in b]
    return found


def commands(shell) -> dict[str, str]:
    """The environment with a `quillback` on the PATH."""
    program = shell.place / "bin" / "quillback"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m quillback "$@"\n')
    program.chmod(0o755)
    return shell.env(PATH=f"{program.parent}{os.pathsep}{os.environ['PATH']}")


def test_the_script_plays(shell):
    (shell.workspace / "hello.script").write_text(example("text", "think:"))
    done = subprocess.run(
        ["sh", "-e", "-c", example("sh", "scripted:hello.script")],
        cwd=shell.workspace,
        env=commands(shell),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "✓ Read hello.py" in done.stdout
    assert "It says hello." in done.stdout


def test_the_client_drives_the_agent(shell):
    (shell.workspace / "drive.py").write_text(example("python", "Client.spawn"))
    done = subprocess.run(
        [sys.executable, "drive.py"], cwd=shell.workspace, env=commands(shell), capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "end_turn\nGo ahead.\n"


def test_what_is_piped_in_goes_below_the_prompt(shell):
    (line,) = [line.strip() for line in README.splitlines() if "git diff |" in line]
    piped = line.replace("git diff", "echo the diff")
    env = commands(shell) | {"QUILLBACK_MODEL": "scripted:echo"}
    done = subprocess.run(["sh", "-c", piped], cwd=shell.workspace, env=env, capture_output=True, text=True)
    assert done.returncode == 0
    assert done.stdout.startswith("Review this\n\nthe diff\n")


def test_every_command_and_built_in_script_is_named():
    from quillback.cli.main import COMMANDS
    from quillback.providers.scripted import BUILT_IN

    for name in COMMANDS.keys() - {"help"}:
        assert f"`quillback {name}" in README
    for name in BUILT_IN:
        assert f"`scripted:{name}`" in README
