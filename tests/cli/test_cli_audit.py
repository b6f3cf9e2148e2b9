"""`quillback audit` and `quillback rules`: what was decided, and the answers that hold for ever."""

import json

import pytest

from quillback.config import load_settings
from quillback.problems import rule_problems

TURN = """\
text: I will look and write.
call: list_dir {"path": "."}
call: shell {"command": "touch \\u001b[31m"}
---
text: Done.
"""


@pytest.fixture
def stored(shell) -> str:
    shell.script(TURN)
    assert shell("run", "--yes", "go").returncode == 0
    (session,) = json.loads(shell("sessions", "list", "--json").stdout)
    return session["id"]


def test_every_decision_is_shown(shell, stored):
    done = shell("audit", stored[-8:])
    assert (done.returncode, done.stderr) == (0, "")
    assert "allowed by the inspectors: list_dir" in done.stdout
    assert "allowed by the user: shell" in done.stdout
    assert "permission: ask" in done.stdout
    assert "\x1b" not in done.stdout


def test_the_same_as_json(shell, stored):
    entries = json.loads(shell("audit", "--json", stored).stdout)
    assert {(e["tool"], e["decision"], e["decided_by"]) for e in entries} == {
        ("list_dir", "allow", "inspectors"),
        ("shell", "allow", "user"),
    }
    found = entries[0]["findings"][-1]
    assert set(found) == {"inspector", "verdict", "reason", "rule", "details", "milliseconds"}
    assert entries[0]["mode"] == "approve"


def test_a_session_without_decisions(shell):
    shell.script("text: Hello.")
    assert shell("run", "hi").returncode == 0
    (session,) = json.loads(shell("sessions", "list", "--json").stdout)
    assert "nothing was decided" in shell("audit", session["id"]).stdout
    assert shell("audit", "nowhere").returncode == 2


def test_what_no_answer_can_last_for_has_no_such_keys(shell):
    shell.script('call: shell {"command": "eval $X"}\n---\ntext: Done.')
    with shell.terminal("run", "go") as terminal:
        terminal.wait_for("Run it?")
        assert "a = always" not in terminal.output
        terminal.type("a")  # means nothing here
        terminal.wait_for("Run it?", 2)
        terminal.type("n")
        assert terminal.end() == 0
    assert json.loads(shell("rules", "list", "--json").stdout) == []


def test_the_doctor_names_rules_that_would_never_match(shell):
    shell.home.mkdir(parents=True)
    (shell.home / "config.toml").write_text('deny = ["shell(rm; ls)"]\nask = ["write_file(**/.env)"]\n')
    (problem,) = rule_problems(load_settings({"QUILLBACK_HOME": str(shell.home)}))
    assert "shell(rm; ls)" in problem
    done = shell("doctor", env={"QUILLBACK_MODEL": "scripted:echo"})
    assert done.returncode == 1
    assert "shell(rm; ls)" in done.stdout
    assert "write_file(**/.env)" in done.stdout
