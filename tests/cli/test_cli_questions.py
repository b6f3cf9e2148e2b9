"""Permission questions at a real terminal: what is shown, which key does what, and what happens without an answer."""

import pytest

ONE = 'text: I will write.\ncall: write_file {"path": "new.txt", "content": "one\\n"}\n---\ntext: Over.\n'
TWO = (
    'call: shell {"command": "echo first >> log.txt"}\ncall: shell {"command": "echo first >> log.txt"}\n'
    "---\ntext: Over.\n"
)
QUESTION = "Run it?"


@pytest.mark.parametrize(
    ("key", "said", "written"),
    [
        ("y", "allowed once", True),
        ("n", "rejected", False),
        ("d", "always rejected", False),
        ("N", "rejected", False),
        ("Y", "allowed once", True),
        ("y\n", "allowed once", True),
        ("n\r", "rejected", False),
    ],
)
def test_a_key_answers(shell, key, said, written):
    shell.script(ONE)
    with shell.terminal("run", "go") as terminal:
        terminal.wait_for(QUESTION)
        assert "I will write." in terminal.output, "what came before the question is shown before it"
        assert "+one" in terminal.output
        assert not (shell.workspace / "new.txt").exists()
        terminal.type(key)
        assert terminal.end() == 0
    assert said in terminal.output
    assert "Do not try it again" not in terminal.output, "this is for the model"
    assert "Over." in terminal.output
    assert (shell.workspace / "new.txt").exists() is written


def test_always_holds_for_the_same_call_and_the_next_run(shell):
    shell.script(TWO)
    with shell.terminal("run", "go") as terminal:
        terminal.wait_for(QUESTION)
        assert "shell(echo first >> log.txt)" in terminal.output
        terminal.type("a")
        assert terminal.end() == 0
    assert terminal.output.count(QUESTION) == 1
    assert shell("run", "again").returncode == 0
    assert (shell.workspace / "log.txt").read_text() == "first\n" * 4


def test_other_keys_and_what_was_typed_before_do_not_answer(shell):
    shell.script(f"wait: 400ms\n{ONE}")
    with shell.terminal("run", "go") as terminal:
        terminal.type("yyyy\n")
        terminal.wait_for(QUESTION)
        for times, keys in enumerate(("x", "\x1b[A", "\x1bOa", "say yes", "\n"), start=2):
            terminal.type(keys)
            terminal.wait_for(QUESTION, times=times)
        terminal.type("n")
        assert terminal.end() == 0
    assert terminal.output.count(QUESTION) == 6
    assert terminal.output.count("not understood") == 5
    assert not (shell.workspace / "new.txt").exists()


def test_ctrl_d_is_no_to_all_that_follows_in_this_run_only(shell):
    shell.script(TWO)
    with shell.terminal("run", "go") as terminal:
        terminal.wait_for(QUESTION)
        terminal.type("\x04")
        assert terminal.end() == 0
    assert terminal.output.count(QUESTION) == 1
    assert terminal.output.count("Ctrl-D: no to all that follows") == 2
    assert not (shell.workspace / "log.txt").exists()
    with shell.terminal("run", "again") as terminal:
        terminal.wait_for(QUESTION)
        terminal.type("a")
        assert terminal.end() == 0
    assert (shell.workspace / "log.txt").exists()


def test_a_pipe_that_ends_at_the_same_terminal_shows_question_and_diff_once(shell):
    shell.script(ONE)
    with shell.through("cat", "run", "go") as terminal:
        terminal.wait_for(QUESTION)
        terminal.type("y")
        assert terminal.end() == 0
    assert terminal.output.count("+one") == 1
    assert terminal.output.count("● ") == 1
    assert terminal.output.count("allowed once") == 1
    assert terminal.output.count("✓ Write new.txt") == 1


def test_the_terminal_is_asked_although_the_prompt_is_piped_in(shell):
    shell.script(ONE)
    with shell.terminal("run", stdin="go") as terminal:
        terminal.wait_for(QUESTION)
        terminal.type("y")
        assert terminal.end() == 0
    assert (shell.workspace / "new.txt").exists()


def test_the_question_reaches_the_terminal_although_the_output_goes_to_a_file(shell, tmp_path):
    shell.script(ONE)
    with (tmp_path / "out.txt").open("w") as out, shell.terminal("run", "go", stdout=out) as terminal:
        terminal.wait_for(QUESTION)
        assert "+one" in terminal.output
        terminal.type("y")
        assert terminal.end() == 0
    text = (tmp_path / "out.txt").read_text()
    assert "I will write." in text
    assert "allowed once" in text
    assert "\x1b" not in text
    assert "Over." not in terminal.output


def test_the_question_shows_the_whole_command_and_why(shell):
    hidden = "echo harmless" + " " * 300 + "; echo harm"
    write = 'call: write_file {"path": "/outside.txt", "content": ""}'
    shell.script(f'call: shell {{"command": "{hidden}"}}\n{write}\n---\ntext: Over.')
    with shell.terminal("run", "go", env={"NO_COLOR": "1"}) as terminal:
        terminal.wait_for(QUESTION)
        assert f"    {hidden}" in terminal.output
        terminal.type("n")
        terminal.wait_for(QUESTION, times=2)
        assert "/outside.txt is outside the workspace" in terminal.output
        terminal.type("n")
        assert terminal.end() == 0


def test_the_terminal_is_as_it_was_afterwards(shell):
    shell.script(ONE)
    with shell.terminal("run", "go") as terminal:
        before = terminal.modes()
        terminal.wait_for(QUESTION)
        assert terminal.modes() != before
        terminal.type("\x03")
        terminal.wait_for("Cancelled.")
        assert terminal.modes() == before
        assert terminal.end() == 3
    assert not (shell.workspace / "new.txt").exists()
