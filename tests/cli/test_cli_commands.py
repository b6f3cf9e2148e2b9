"""Slash commands and hooks in `quillback run`: what is said, what is sent, and the exit code."""

import json

import pytest

from support.hooks import hook_file, say

ECHO = {"QUILLBACK_MODEL": "scripted:echo"}
STOPS = "cat > /dev/null; [ -e stopped ] || { touch stopped; echo 'test it first' >&2; exit 2; }"


@pytest.fixture
def run(shell):
    shell.script("each-prompt\ntext: MODEL ${prompt}")

    def one(*arguments: str):
        return shell("run", *arguments)

    return one


def events(done) -> list[dict]:
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize(
    ("prompt", "said"),
    [
        ("/comapct the plan", "Did you mean `/compact`?"),
        ("/foo", "There is no command /foo."),
        ("/cost x", "takes nothing behind it"),
        ("/mode nonsense", "There is no mode `nonsense`."),
        ("/model scripted:gone", "The script cannot be played"),
        ("/goal", "`/goal TEXT` starts"),
        ("/help nothing", "There is no command `/nothing`."),
        ("/bake", "n: missing; add n=..."),
    ],
)
def test_a_command_that_was_not_carried_out_is_exit_code_1(shell, run, prompt, said):
    (shell.home / "recipes").mkdir(parents=True)
    (shell.home / "recipes" / "bake.yaml").write_text("prompt: Bake {{ n }}\nparameters: [{key: n}]\n")
    done = run(prompt)
    assert (done.returncode, done.stderr) == (1, "")
    assert said in done.stdout
    assert "MODEL" not in done.stdout
    told = run("--json", prompt)
    last = events(told)[-1]
    assert told.returncode == 1
    assert (last["type"], last["stop_reason"], last["refused"]) == ("turn_completed", "end_turn", True)
    assert said in last["text"]


@pytest.mark.parametrize(
    "prompt", ["/help", "  /help", "/cost", "/mode auto", "/model scripted:demo", "/undo", "/clear"]
)
def test_one_that_was_is_exit_code_0(run, prompt):
    done = run("--json", prompt)
    assert done.returncode == 0
    assert events(done)[-1]["refused"] is False
    assert "MODEL" not in done.stdout


def test_a_prompt_that_a_hook_refuses_is_exit_code_1(shell, run):
    hook_file(shell.home / "hooks.json", UserPromptSubmit=[("", say(decision="block", reason="not on Friday"))])
    done = run("go")
    assert done.returncode == 1
    assert "A hook did not let this prompt through: not on Friday" in done.stdout


def test_undo_that_leaves_a_file_alone_is_exit_code_1(shell):
    shell.script('call: write_file {"path": "a.txt", "content": "one"}\n---\ntext: Done.')
    assert shell("run", "--yes", "go").returncode == 0
    (shell.workspace / "a.txt").write_text("mine")
    done = shell("run", "--continue", "/undo")
    assert done.returncode == 1
    assert "- left alone `a.txt`: changed since the agent wrote it" in done.stdout


def test_fork_gives_a_line_that_works_as_it_stands(shell, run):
    run("go")
    line = run("--continue", "/fork").stdout.rpartition("YOUR PROMPT: `")[2].partition("`")[0]
    program, *arguments = line.replace('"', "").split(" ", 4)
    assert (program, arguments[:2], arguments[3]) == ("quillback", ["run", "--session"], "YOUR PROMPT")
    assert "MODEL YOUR PROMPT" in shell(*arguments).stdout


def test_a_bad_command_file_is_named_where_it_matters_only(shell, run):
    (shell.home / "commands").mkdir(parents=True)
    (shell.home / "commands" / "bad.md").write_bytes(b"\xff")
    (shell.home / "recipes").mkdir()
    (shell.home / "recipes" / "odd name.yaml").write_text("prompt: x")
    for prompt in ("/cost", "/mode", "go"):
        assert "bad.md" not in run(prompt).stdout
    shown = run("/help").stdout
    assert shown.count("bad.md") == 1
    assert "bad.md`: it is not UTF-8 text" in shown
    assert "odd name.yaml`: the name of a recipe" in shown
    assert "bad.md` cannot be used: it is not UTF-8 text" in run("/bad now").stdout


def test_a_command_of_a_project_that_is_not_trusted_is_not_sent(shell, run):
    folder = shell.workspace / ".claude" / "commands"
    folder.mkdir(parents=True)
    (folder / "deploy.md").write_text("Deploy $1.")
    done = run("/deploy x y")
    assert done.returncode == 1
    assert f"`quillback trust {shell.workspace}`" in done.stdout
    assert "MODEL" not in done.stdout
    assert shell("trust", "--yes").returncode == 0
    assert "MODEL Deploy x." in run("/deploy x y").stdout
    (folder / "deploy.md").write_text("Destroy $1.")
    assert run("/deploy x y").returncode == 1


def test_a_command_that_is_only_answered_gives_no_title(shell, run):
    run("/cost")
    assert "(untitled)" in shell("sessions", "list").stdout
    run("--continue", "fix the bug")
    assert "fix the bug" in shell("sessions", "list").stdout


# ---------------------------------------------------------------- hooks and continuations


def test_what_hooks_of_the_end_say_is_shown(shell, run):
    hook_file(
        shell.home / "hooks.json",
        TurnCompleted=[("", say(systemMessage="well done"))],
        SessionEnd=[("", say(systemMessage="good bye"))],
    )
    done = run("go")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.index("MODEL go") < done.stdout.index("well done") < done.stdout.index("good bye")
    told = events(run("--json", "go"))
    at = next(i for i, event in enumerate(told) if event["type"] == "turn_completed")
    assert [(event["type"], event["title"]) for event in told[at + 1 :]] == [
        ("noticed", "well done"),
        ("noticed", "good bye"),
    ]
    assert [event["type"] for event in told[: at + 1]].count("noticed") == 0


def test_it_is_said_why_a_turn_goes_on(shell):
    shell.script("text: one\n---\ntext: two")
    hook_file(shell.home / "hooks.json", Stop=[("", STOPS)])
    out = shell("run", "go").stdout
    why = "a Stop hook says that the work is not done: test it first"
    assert out.index("one") < out.index(f"Going on: {why}") < out.index("two")
    (shell.workspace / "stopped").unlink()
    told = events(shell("run", "--json", "go"))
    at = next(i for i, event in enumerate(told) if event["type"] == "continued")
    assert (told[at]["reason"], told[at]["why"]) == ("stop_hook", why)
    message = told[at - 1]["message"]
    assert (message["id"], message["visible_to_user"]) == (told[at]["message_id"], False)
    assert "test it first" in message["parts"][0]["text"]
