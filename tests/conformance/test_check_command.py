"""`quillback check` as a person or a program calls it."""

import json
import sys

import pytest

from support.cli import Shell

MOCK = (sys.executable, "-m", "quillback", "mock-agent")


@pytest.fixture
def shell(tmp_path) -> Shell:
    (tmp_path / "home").mkdir()
    (tmp_path / "workspace").mkdir()
    return Shell(tmp_path)


def test_a_good_agent(shell):
    done = shell("check", "--only", "ACP-INIT", "--only", "ACP-NEW-001", "--", *MOCK)
    assert (done.returncode, done.stderr) == (0, "")
    assert "✓ ACP-INIT-001" in done.stdout
    assert "✓ ACP-NEW-001" in done.stdout
    assert "ACP-PROMPT" not in done.stdout
    assert done.stdout.endswith("The agent conforms: no mandatory rule and none of a declared capability is broken.\n")


def test_an_agent_that_breaks_a_rule(shell):
    done = shell("check", "--only", "acp-init-002", "--", *MOCK, "wrong-version")
    assert done.returncode == 1
    assert "✗ ACP-INIT-002" in done.stdout
    assert "mandatory, see the page Initialization\n    came: protocolVersion 99\n" in done.stdout
    assert done.stdout.endswith("The agent does not conform.\n")


def test_advice_alone_breaks_nothing(shell):
    done = shell("check", "--only", "ACP-NEW-008", "--", *MOCK)
    assert done.returncode == 0
    assert "✗ ACP-NEW-008" in done.stdout


def test_an_agent_that_has_to_be_logged_in_to(shell):
    done = shell(
        "check", "--only", "ACP-NEW-00", "--only", "ACP-PROMPT-001", "--only", "ACP-AUTH", "--", *MOCK, "no-login"
    )
    assert done.returncode == 4
    assert "not run: session/new was answered with the error" in done.stdout
    assert "it needs authentication. Log in to it the way it says" in done.stdout


def test_the_report(shell):
    path = shell.workspace / "report.json"
    done = shell("check", "--json", "--report", str(path), "--only", "ACP-AUTH", "--", *MOCK, "wrong-version")
    assert done.stderr == f"quillback: the report is in {path}\n"
    report = json.loads(done.stdout)
    assert json.loads(path.read_text()) == report
    assert report["result"] == "conforms"
    assert report["agent"]["name"] == "quillback-mock-agent"
    assert report["command"] == [*MOCK, "wrong-version"]
    assert report["protocolVersion"] == 99
    assert report["summary"] == {
        "mandatory": {"passed": 2},
        "capability": {},
        "advisory": {"not run": 2},
    }
    assert [rule["verdict"] for rule in report["rules"]] == ["passed", "passed", "not run", "not run"]
    (first, *_, last) = report["rules"]
    assert first["id"] == "ACP-AUTH-001"
    assert first["class"] == "mandatory"
    assert first["page"] == "Authentication"
    assert first["expected"] == "methods of type terminal are for clients that declare auth.terminal only"
    assert last["why"] == "nothing of the kind came"


def test_the_list_of_rules(shell):
    done = shell("check", "--list")
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert len(lines) > 150
    assert lines[0].split()[:2] == ["ACP-INIT-001", "mandatory"]


def test_an_agent_that_dies_at_once(shell):
    done = shell("check", "--only", "ACP-INIT-00", "--", *MOCK, "dies-at-start")
    assert done.returncode == 1
    assert (
        "the agent ended with exit code 3, its last words on standard error: the settings cannot be read" in done.stdout
    )
    assert done.stdout.count("not run: initialize: the agent ended with exit code 3") == 8


def test_an_agent_that_does_not_answer(shell):
    done = shell("check", "--timeout", "2", "--only", "ACP-INIT-00", "--", *MOCK, "no-initialize")
    assert done.returncode == 1
    assert "came: initialize: no answer within 2 s" in done.stdout
    assert "not run: initialize: no answer within 2 s" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "name the command of an agent"),
        (("--", "no-such-program"), "no-such-program cannot be started: there is no such program"),
        (("--only", "ACP-NONSENSE", "--", "true"), "no rule begins with ACP-NONSENSE"),
        (("--timeout", "0", "--", "true"), "--timeout needs more than 0 seconds"),
        (("--cwd", "nowhere", "--", "true"), "nowhere is no directory"),
    ],
)
def test_wrong_usage(shell, arguments, said):
    done = shell("check", *arguments)
    assert done.returncode == 2
    assert said in done.stderr


def test_prompts_and_answers_can_be_chosen(shell):
    common = ("check", "--prompt", "permission", "--only", "ACP-TOOL-006", "--only", "ACP-PERM-003", "--json")
    for allow, status in (("allow", "completed"), ("reject", "failed"), ("cancel", "failed")):
        done = shell(*common, "--allow", allow, "--", *MOCK)
        assert done.returncode == 0, status
        assert [rule["verdict"] for rule in json.loads(done.stdout)["rules"]] == ["passed", "passed"]


def test_the_workspace_of_the_check_goes_away_again(shell, tmp_path):
    script = shell.workspace / "where.mock"
    script.write_text("on session/new\nerror: -32603 cwd is ${cwd}\n")
    done = shell("check", "--only", "ACP-NEW-001", "--", *MOCK, str(script), env={"TMPDIR": str(tmp_path)})
    assert done.returncode == 1
    assert f"cwd is {tmp_path}/quillback-check-" in done.stdout
    assert list(tmp_path.glob("quillback-check-*")) == []
