"""`quillback run --demo`: a whole turn without key or network."""

import json
import re
import shutil
from pathlib import Path

import pytest


@pytest.fixture
def demo(shell):
    """Runs the demo in a temporary directory of the test's own."""
    place = shell.place / "tmp"
    place.mkdir()
    return lambda *arguments, **env: shell("run", "--demo", *arguments, env={"TMPDIR": str(place), **env})


def workspace(out: str) -> Path:
    found = re.search(r"^The workspace is still there: (.*)$", out, re.M)
    assert found
    return Path(found[1])


def test_it_reads_edits_runs_a_test_and_answers(shell, demo):
    done = demo()
    assert (done.returncode, done.stderr) == (0, "")
    assert "✓ Read greeting.py" in done.stdout
    assert '  -    return f"Hello, {name}"\n  +    return f"Hello, {name}!"\n' in done.stdout
    assert "answered by the demo" in done.stdout
    assert "✗ $ python3 -m unittest test_greeting" in done.stdout
    assert "✓ $ python3 -m unittest test_greeting" in done.stdout
    assert "Done." in done.stdout
    assert "Hello, {name}!" in (workspace(done.stdout) / "greeting.py").read_text()
    assert not shell.home.exists(), "the user's own sessions are left alone"


def test_json_is_json_only(demo):
    done = demo("--json")
    assert done.returncode == 0
    assert [json.loads(line)["type"] for line in done.stdout.splitlines()][-1] == "turn_completed"


def test_a_change_that_never_came_is_a_failure(demo):
    done = demo("--mode", "chat")
    assert done.returncode == 1
    assert "the test still fails" in done.stderr


def test_with_a_key_the_configured_model_is_asked(demo):
    done = demo("--json", ANTHROPIC_API_KEY="sk-ant-x", ANTHROPIC_BASE_URL="http://127.0.0.1:9", QUILLBACK_MODEL="mine")
    session = json.loads(done.stdout.splitlines()[0])
    assert session["model"] == "mine"
    shutil.rmtree(Path(session["cwd"]).parent)
