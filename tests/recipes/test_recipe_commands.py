"""Recipes as slash commands: which there are, what they stand for, and what they may change in the session."""

from pathlib import Path

import pytest

from quillback.core.commands import CommandInfo, Expand, LeftOut, Say
from quillback.core.message import Text
from quillback.core.rules import Mode
from quillback.core.turn_types import Check
from quillback.recipes import commands as module
from quillback.recipes.commands import BAD_NAME, BROKEN, ORIGIN, RecipeCommands, stricter
from support.desks import FakeDesk

pytestmark = pytest.mark.anyio

FIX = """\
description: Mends a file
prompt: Mend {{ file }}.
parameters:
  - key: file
  - {key: level, choices: [low, high], default: low}
  - {key: n, type: number, default: 1}
checks: ["lint {{ file }}"]
"""


def desk(mode: Mode = Mode.APPROVE) -> FakeDesk:
    made = FakeDesk()
    made.set_mode(mode)
    return made


def source(tmp_path: Path, **texts: str) -> RecipeCommands:
    for name, text in texts.items():
        (tmp_path / f"{name}.yaml").write_text(text)
    return RecipeCommands(tmp_path)


def test_what_is_advertised(tmp_path):
    commands = source(tmp_path, fix=FIX, bare="prompt: Go.", broken="prompt: {{ x }}")
    (tmp_path / "not a name.yaml").write_text(FIX)
    (tmp_path / "notes.txt").write_text(FIX)
    (tmp_path / "other.yml").write_text("title: The\n\n  other\nprompt: x")
    assert commands.available() == (
        CommandInfo("bare", "bare", "", ORIGIN),
        CommandInfo("broken", BROKEN, "", ORIGIN),
        CommandInfo("fix", "Mends a file", "file=... [level=low|high] [n=number]", ORIGIN),
        CommandInfo("other", "The other", "", ORIGIN),
    )


def test_files_that_are_no_commands_are_named_with_the_reason(tmp_path):
    commands = source(tmp_path, fix=FIX)
    (tmp_path / "not a name.yaml").write_text(FIX)
    (tmp_path / "fix.yml").write_text(FIX)
    (tmp_path / "notes.txt").write_text(FIX)
    assert commands.left_out() == [
        LeftOut(str(tmp_path / "fix.yml"), "fix", "another recipe is `/fix`"),
        LeftOut(str(tmp_path / "not a name.yaml"), "not a name", BAD_NAME),
    ]
    (tmp_path / "not a name.yaml").unlink()
    assert len(commands.left_out()) == 1


def test_no_folder_means_no_commands_and_files_may_come_and_go(tmp_path):
    commands = RecipeCommands(tmp_path / "recipes")
    assert commands.available() == ()
    source(tmp_path, fix=FIX)
    commands = RecipeCommands(tmp_path)
    assert [info.description for info in commands.available()] == ["Mends a file"]
    (tmp_path / "fix.yaml").write_text(FIX.replace("Mends", "Repairs"))
    assert [info.description for info in commands.available()] == ["Repairs a file"]
    (tmp_path / "fix.yaml").unlink()
    assert commands.available() == ()


def test_a_file_that_has_not_changed_is_not_parsed_again(tmp_path, monkeypatch):
    commands = source(tmp_path, fix=FIX)
    first = commands.available()
    monkeypatch.setattr(module, "_info", None)
    assert commands.available() == first


async def test_a_recipe_stands_for_its_parts_and_its_aim(tmp_path):
    commands = source(tmp_path, fix=FIX)
    result = await commands.run("fix", 'file="a b.py" level=high', desk())
    assert isinstance(result, Expand)
    assert result.parts == (Text("Mend a b.py."),)
    assert result.recipe.checks == (Check("lint 'a b.py'"),)
    assert await commands.run("gone", "", desk()) is None


@pytest.mark.parametrize(
    ("name", "argument", "said"),
    [
        ("fix", "", "file: missing; add file=..."),
        ("fix", "the file", "- {folder}/fix.yaml: 'the' is not key=value; there are: file, level, n\n- "),
        ("fix", "file=it's", "put values with spaces or quotes in them in double quotes"),
        ("broken", "", "broken.yaml:1: a text that begins with {{ or [ must be in quotes"),
    ],
)
async def test_what_is_wrong_is_said_to_the_user(tmp_path, name, argument, said):
    result = await source(tmp_path, fix=FIX, broken="prompt: {{ x }}").run(name, argument, desk())
    assert isinstance(result, Say)
    assert result.refused
    assert said.format(folder=tmp_path) in result.text


async def test_a_file_that_cannot_be_read_is_advertised_and_says_why(tmp_path):
    (tmp_path / "odd.yaml").mkdir()
    commands = RecipeCommands(tmp_path)
    assert [info.description for info in commands.available()] == [BROKEN]
    result = await commands.run("odd", "", desk())
    assert isinstance(result, Say)
    assert "is not a regular file" in result.text


# ---------------------------------------------------------------- projects, modes and models


async def test_of_two_with_one_name_the_users_counts(tmp_path):
    source(tmp_path, fix=FIX)
    project = {
        ".quillback/recipes/fix.yaml": b"prompt: Theirs.",
        ".quillback/recipes/theirs.yaml": b"prompt: Theirs.",
    }
    commands = RecipeCommands(tmp_path, lambda: project)
    assert [info.name for info in commands.available()] == ["fix", "theirs"]
    result = await commands.run("fix", "file=a", desk())
    assert isinstance(result, Expand)
    assert result.parts == (Text("Mend a."),)
    result = await commands.run("theirs", "", desk())
    assert isinstance(result, Expand)
    project.clear()
    assert await commands.run("theirs", "", desk()) is None


@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize(
    ("before", "wanted", "after"),
    [
        (Mode.APPROVE, "auto", Mode.APPROVE),
        (Mode.APPROVE, "smart", Mode.APPROVE),
        (Mode.AUTO, "approve", Mode.APPROVE),
        (Mode.SMART, "chat", Mode.CHAT),
        (Mode.CHAT, "auto", Mode.CHAT),
    ],
)
async def test_a_mode_is_only_ever_tightened(tmp_path, own, before, wanted, after):
    text = f"prompt: x\nmode: {wanted}"
    commands = source(tmp_path, it=text) if own else RecipeCommands(tmp_path, lambda: {"it.yaml": text.encode()})
    at = desk(before)
    assert isinstance(await commands.run("it", "", at), Expand)
    assert at.record.mode is after


async def test_a_model_is_the_users_to_name(tmp_path):
    text = "prompt: x\nmodel: m9"
    at = desk()
    model = at.record.model
    await RecipeCommands(tmp_path, lambda: {"it.yaml": text.encode()}).run("it", "", at)
    assert at.record.model == model
    result = await source(tmp_path, it=text).run("it", "", at)
    assert at.record.model == "m9" or isinstance(result, Say)


async def test_a_recipe_with_an_output_is_refused_in_chat_mode(tmp_path):
    commands = source(tmp_path, it="prompt: x\noutput: {type: object}")
    result = await commands.run("it", "", desk(Mode.CHAT))
    assert isinstance(result, Say)
    assert "in chat mode no tool runs" in result.text
    assert isinstance(await commands.run("it", "", desk(Mode.AUTO)), Expand)


def test_strictness():
    assert stricter(Mode.AUTO, None) is Mode.AUTO
    assert stricter(Mode.SMART, Mode.APPROVE) is stricter(Mode.APPROVE, Mode.SMART) is Mode.APPROVE
