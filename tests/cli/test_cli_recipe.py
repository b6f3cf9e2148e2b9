"""`quillback run --recipe`: what goes to the model, what is printed, and the exit code that tells how it went."""

import json

import pytest

RECIPE = """\
instructions: Use few words.
prompt: Write {{ word }} into out.txt.
parameters:
  - key: word
checks:
  - grep -qx {{ word }} out.txt
"""
OUTPUT = "output: {type: object, properties: {n: {type: integer}}, required: [n]}\n"
WRITE = 'call: write_file {"path": "out.txt", "content": "hi\\n"}\n---\n'


def events(done, kind: str) -> list[dict]:
    return [e for line in done.stdout.splitlines() if (e := json.loads(line))["type"] == kind]


def completed(done) -> dict:
    (event,) = events(done, "turn_completed")
    return event


@pytest.fixture
def recipe(shell):
    def write(text: str = RECIPE, name: str = "it.yaml") -> str:
        (shell.workspace / name).write_text(text)
        return name

    return write


def test_checks_that_pass_are_exit_code_0(shell, recipe):
    shell.script(f"expect: Write hi into out.txt.\n{WRITE}text: Done.")
    done = shell("run", "--yes", "--recipe", recipe(), "word=hi")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Done." in done.stdout
    told = shell("run", "--json", "--yes", "--recipe", "it.yaml", "word=hi")
    assert (completed(told)["checks_passed"], completed(told)["final"]) == (True, "")


def test_the_model_gets_the_instructions_the_user_sees_the_prompt(shell, recipe):
    shell.script(f"{WRITE}text: Done.")
    done = shell("run", "--json", "--yes", "--recipe", recipe(), "word=hi")
    messages = [e["message"] for e in events(done, "message_added") if e["message"]["role"] == "user"]
    seen = [[p["text"] for p in m["parts"]] for m in messages if m["visible_to_user"]]
    sent = [[p["text"] for p in m["parts"]] for m in messages if m["visible_to_model"]]
    assert seen == [["Write hi into out.txt."]]
    assert sent == [["Use few words.\n", "Write hi into out.txt."]] or sent == [
        ["Use few words.", "Write hi into out.txt."]
    ]


def test_the_model_hears_of_failed_checks_and_may_mend_it(shell, recipe):
    shell.script(f"text: Done, I think.\n---\nexpect: grep -qx hi out.txt\n{WRITE}text: Now.")
    done = shell("run", "--yes", "--recipe", recipe(), "word=hi")
    assert (done.returncode, done.stderr) == (0, "")
    assert (shell.workspace / "out.txt").read_text() == "hi\n"


def test_checks_that_fail_to_the_end_are_exit_code_1(shell, recipe):
    shell.script("text: No.\n---\ntext: Still no.\n---\ntext: Never.")
    name = recipe(RECIPE + "retries: 2\non_failure: echo cleaned >> cleaned\n")
    done = shell("run", "--json", "--recipe", name, "word=hi")
    assert done.returncode == 1
    assert (completed(done)["checks_passed"], completed(done)["error"]) == (False, "")
    assert len(events(done, "continued")) == 2
    assert "its checks do not pass" in done.stderr
    assert (shell.workspace / "cleaned").read_text() == "cleaned\n" * 3


def test_what_checks_say_counts_more_than_calls_that_nobody_allowed(shell, recipe):
    (shell.workspace / "out.txt").write_text("hi\n")
    asked = 'call: shell {"command": "touch made"}\n---\n'
    shell.script(f"{asked}text: It was there.")
    done = shell("run", "--recipe", recipe(), "word=hi")
    assert done.returncode == 0
    assert "1 call did not run" in done.stderr
    shell.script(f"{asked}text: No.")
    assert shell("run", "--recipe", recipe("prompt: x")).returncode == 1


def test_the_last_line_is_the_final_output(shell, recipe):
    bad, good = 'call: final_output {"n": "x"}', 'expect: n must be integer\ncall: final_output {"n": 7}'
    shell.script(f"text: Thinking.\n---\n{bad}\n---\n{good}")
    done = shell("run", "--recipe", recipe("prompt: Count.\n" + OUTPUT))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1] == '{"n":7}'
    told = shell("run", "--json", "--recipe", "it.yaml")
    assert completed(told)["final"] == '{"n":7}'
    assert completed(told)["checks_passed"] is True
    assert json.loads(told.stdout.splitlines()[-1])["type"] == "turn_completed"


def test_no_final_output_is_exit_code_1(shell, recipe):
    shell.script("\n---\n".join(["text: Seven."] * 8))
    done = shell("run", "--recipe", recipe("prompt: Count.\n" + OUTPUT))
    assert done.returncode == 1
    assert "the final output is missing" in done.stderr
    assert not done.stdout.splitlines()[-1].startswith("{")


def test_the_final_output_is_shown_once_and_last(shell, recipe):
    shell.script('text: I count.\ncall: final_output {"n": 7}')
    name = recipe("prompt: Count.\n" + OUTPUT)
    done = shell("run", "--recipe", name)
    assert done.stdout.count('{"n":7}') == 1
    with shell.terminal("run", "--recipe", name) as terminal:
        assert terminal.end() == 0
    assert terminal.output.count('{"n":7}') == 1
    assert terminal.output.strip().endswith('{"n":7}')
    assert "I count." in terminal.output


def test_what_is_said_of_checks_at_the_end_is_for_the_user(shell, recipe):
    shell.script("text: No.\n---\ntext: Never.")
    out = shell("run", "--recipe", recipe(RECIPE + "retries: 1\n"), "word=hi").stdout
    assert "Going on: the checks do not pass yet. " in out
    assert "The checks do not pass, after 2 tries.\n\n" in out
    assert "grep -qx hi out.txt" in out
    assert "mend it" not in out


def test_an_output_that_is_no_object_is_unwrapped(shell, recipe):
    shell.script('call: final_output {"value": ["a", "b"]}')
    done = shell("run", "--recipe", recipe("prompt: List.\noutput: {type: array, items: {type: string}}"))
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, '["a","b"]')


def test_an_output_comes_after_the_checks_and_is_that_of_the_last_try(shell, recipe):
    shell.script(f'call: final_output {{"n": 1}}\n---\nexpect: grep\n{WRITE}call: final_output {{"n": 2}}')
    done = shell("run", "--yes", "--recipe", recipe(RECIPE + OUTPUT), "word=hi")
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, '{"n":2}')


def test_a_check_that_an_inspector_denies_fails(shell, recipe):
    shell.script("text: Done.")
    done = shell("run", "--recipe", recipe("prompt: x\nchecks: ['rm -rf ~ && true']\nretries: 0"))
    assert done.returncode == 1
    assert "[not run: " in done.stdout
    assert shell.home.exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "it.yaml: word: missing; add word=..."),
        (["word=a", "word=b"], "it.yaml: word: given twice"),
        (["wrd=a", "word=a"], "it.yaml: wrd: no such parameter; there are: word"),
        (["just", "words"], "'just' is not key=value"),
    ],
)
def test_wrong_parameters_are_exit_code_2_before_anything_runs(shell, recipe, arguments, said):
    shell.script("text: Done.")
    done = shell("run", "--recipe", recipe(), *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert not shell.home.exists()


def test_wrong_files_are_exit_code_2(shell, recipe):
    for text, said in (
        (
            "prompt: x\nmax_cost: -1",
            "max_cost: -1 is not allowed; use a number of US dollars above 0, at most 1000000\n",
        ),
        ("prompt: x\nretrys: 3", "it.yaml:2: retrys: no such key; did you mean retries?"),
        ("prompt: '{{ x }}'", "it.yaml:1: prompt: {{ x }} is no parameter; the recipe has no parameters"),
        ("prompt: x\nprompt: y", "it.yaml:2: prompt: is there twice, first in line 1"),
    ):
        done = shell("run", "--recipe", recipe(text))
        assert (done.returncode, done.stdout) == (2, "")
        assert said in done.stderr
    assert "gone.yaml: cannot be read" in shell("run", "--recipe", "gone.yaml").stderr
    assert shell("run", "--recipe", "").returncode == 2
    assert "--demo and --recipe exclude each other" in shell("run", "--demo", "--recipe", "it.yaml").stderr


def test_model_and_mode_are_the_recipes_unless_the_command_line_says_otherwise(shell, recipe):
    shell.script("text: x")
    mine = f"scripted:{shell.place / 'model.script'}"
    name = recipe("prompt: x\nmode: auto\nmodel: scripted:echo")
    (session,) = events(shell("run", "--json", "--recipe", name), "session")
    assert (session["mode"], session["model"]) == ("auto", "scripted:echo")
    (session,) = events(shell("run", "--json", "--recipe", name, "--mode", "chat", "--model", mine), "session")
    assert (session["mode"], session["model"]) == ("chat", mine)


def test_limits_are_only_ever_tightened(shell, recipe):
    shell.script("\n---\n".join(['call: todo_write {"items": []}'] * 4 + ["text: x"]))
    done = shell("run", "--json", "--recipe", recipe("prompt: x\nmax_steps: 2"))
    assert (done.returncode, completed(done)["stop_reason"]) == (1, "max_turn_requests")
    shell.home.mkdir(exist_ok=True)
    (shell.home / "config.toml").write_text("max_steps = 1\n")
    done = shell("run", "--json", "--recipe", recipe("prompt: x\nmax_steps: 100"))
    assert completed(done)["stop_reason"] == "max_turn_requests"


def test_no_credentials_is_exit_code_4(shell, recipe):
    done = shell("run", "--recipe", recipe(), "word=hi", env={"QUILLBACK_MODEL": "claude-sonnet-5-5"})
    assert done.returncode == 4
    assert "No Anthropic API key" in done.stderr


def test_input_is_read_only_where_it_is_asked_for(shell, recipe):
    shell.script("each-prompt\nexpect: Sum it up.\ntext: ${prompt}")
    name = recipe("prompt: Sum it up.\nparameters: [{key: a, default: b}]")
    assert "the log" not in shell("run", "--recipe", name, "a=c", stdin="the log").stdout
    assert "Sum it up.\n\nthe log" in shell("run", "--recipe", name, "a=c", "-", stdin="the log").stdout


def test_a_prompt_that_looks_like_a_command_is_none(shell, recipe):
    shell.script("text: I read ${prompt}")
    done = shell("run", "--recipe", recipe("prompt: /help me"))
    assert "I read /help me" in done.stdout


def test_parameters_may_stand_around_options(shell, recipe):
    shell.script(f"expect: Write hi there into\n{WRITE}text: Done.")
    done = shell(
        "run",
        "--recipe",
        recipe("prompt: Write {{ a }} {{ b }} into\nparameters: [{key: a}, {key: b}]"),
        "a=hi",
        "--yes",
        "b=there",
    )
    assert done.returncode == 0
