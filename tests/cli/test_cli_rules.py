"""`quillback rules`: stored answers can be seen and taken back."""

import json

import pytest

from quillback.core.ports import Rule, RuleEffect
from support.stores import opened

pytestmark = pytest.mark.anyio


@pytest.fixture
async def answers(shell) -> None:
    """Two here, one elsewhere."""
    here = str(shell.workspace)
    async with opened(shell.home / "quillback.db") as store:
        await store.add_rule(Rule(here, "shell(ls \x1b[2J)", RuleEffect.ALLOW))
        await store.add_rule(Rule(here, "shell(rm x)", RuleEffect.REJECT))
        await store.add_rule(Rule("/elsewhere", "shell(ls)", RuleEffect.ALLOW))


def numbers(shell, *arguments: str) -> dict[str, int]:
    return {r["pattern"]: r["number"] for r in json.loads(shell("rules", "list", "--json", *arguments).stdout)}


async def test_the_list_is_of_this_directory_or_of_all(shell, answers):
    here = numbers(shell)
    assert set(here) == {"shell(ls \x1b[2J)", "shell(rm x)"}
    assert set(numbers(shell, "--all")) == {*here, "shell(ls)"}
    text = shell("rules", "list").stdout
    assert "\x1b" not in text
    assert f"{here['shell(rm x)']}  deny   shell(rm x)\n" in text
    assert "/elsewhere" in shell("rules", "list", "--all").stdout
    assert "no stored answers for" in shell("rules", "list", "--cwd", str(shell.place)).stdout


async def test_one_is_deleted_and_the_others_keep_their_numbers(shell, answers):
    before = numbers(shell, "--all")
    assert shell("rules", "delete", str(before["shell(rm x)"])).returncode == 0
    assert numbers(shell, "--all") == {p: n for p, n in before.items() if p != "shell(rm x)"}
    again = shell("rules", "delete", str(before["shell(rm x)"]))
    assert again.returncode == 2
    assert "quillback rules list" in again.stderr


async def test_all_are_deleted_of_a_directory_or_everywhere(shell, answers):
    assert "2 stored answers are gone" in shell("rules", "delete", "--all", "--cwd", ".", "--yes").stderr
    assert set(numbers(shell, "--all")) == {"shell(ls)"}
    assert "1 stored answer is gone" in shell("rules", "delete", "--all", "--yes").stderr
    assert numbers(shell, "--all") == {}
    assert "there are no stored answers" in shell("rules", "delete", "--all").stderr


@pytest.mark.parametrize(("answer", "left", "code"), [("n", 3, 3), ("y", 0, 0)])
async def test_all_are_deleted_after_a_question_only(shell, answers, answer, left, code):
    assert shell("rules", "delete", "--all").returncode == 2, "nobody can be asked"
    with shell.terminal("rules", "delete", "--all") as terminal:
        terminal.wait_for("Take back all 3 stored answers of all directories?")
        terminal.type(f"{answer}\n")
        assert terminal.end() == code
    assert len(numbers(shell, "--all")) == left


async def test_programs_get_the_words_of_the_configuration(shell, answers):
    listed = json.loads(shell("rules", "list", "--json").stdout)
    assert {rule["effect"] for rule in listed} == {"allow", "deny"}


@pytest.mark.parametrize(
    "arguments", [["delete"], ["delete", "1", "--all"], ["delete", "1", "--cwd", "."], ["list", "--all", "--cwd", "."]]
)
async def test_what_does_not_say_which_is_refused(shell, answers, arguments):
    assert shell("rules", *arguments).returncode == 2
    assert len(numbers(shell, "--all")) == 3


async def test_an_answer_that_is_taken_back_is_asked_for_again(shell):
    shell.script('call: shell {"command": "echo x >> log.txt"}\n---\ntext: Over.')
    with shell.terminal("run", "go") as terminal:
        terminal.wait_for("Run it?")
        terminal.type("a")
        assert terminal.end() == 0
    (number,) = numbers(shell).values()
    assert shell("run", "again").returncode == 0
    assert shell("rules", "delete", str(number)).returncode == 0
    assert shell("run", "again").returncode == 1
    assert (shell.workspace / "log.txt").read_text() == "x\nx\n"


async def test_without_a_home_nothing_is_made(shell):
    assert "no stored answers" in shell("rules", "list").stdout
    assert shell("rules", "delete", "--all").returncode == 0
    assert not shell.home.exists()
