"""Which command counts, prompts of servers among them, and what an unknown one is."""

import asyncio

import pytest

from quillback.core.commands import CommandInfo, LeftOut, Say
from quillback.core.prompts import PromptArgument

pytestmark = pytest.mark.anyio
PATH = PromptArgument("path", "which file", required=True)
FOCUS = PromptArgument("focus")


class Recipes:
    """A further source."""

    def available(self):
        return (CommandInfo("bake", "Bake it", "key=value", "Recipes"), CommandInfo("fix", "Hidden", "", "Recipes"))

    async def run(self, name, argument, desk):
        return Say(f"{name} {argument}") if name == "bake" else None

    def left_out(self):
        return (LeftOut("/mine/b c.yaml", "b c", "it has a bad name"),)


async def test_the_order_of_precedence(open_commands, prompt):
    room = open_commands(more=(Recipes(),))
    room.write("help.md", "mine")
    room.write("fix.md", "the user's")
    room.project[".quillback/commands/fix.md"] = b"the project's"
    room.project[".quillback/commands/srv/ask.md"] = b"the project's"
    room.box.now = [prompt("srv:ask"), prompt("srv:other")]
    assert room.names()[12:] == ["fix", "srv:ask", "bake", "srv:other"]
    assert await room.sent("fix") == "the user's"
    assert await room.sent("srv:ask") == "the project's"
    assert await room.said("bake", "a=b") == "bake a=b"
    text = await room.said("help")
    assert "- `/help` of “Your commands”, since `/help` of “Commands” comes first" in text
    assert "- `/fix` of “Commands of this project”, since `/fix` of “Your commands” comes first" in text
    assert "- `/fix` of “Recipes”, since `/fix` of “Your commands” comes first" in text
    assert "- `/srv:ask` of “Prompts of MCP servers”" in text
    assert "**Recipes**\n\n- `/bake key=value`: Bake it" in text
    assert "- `/mine/b c.yaml`: it has a bad name" in text


async def test_a_prompt_gets_its_arguments_in_order(room, prompt):
    room.box.now = [prompt("srv:review", (PATH, FOCUS))]
    (info,) = [info for info in room.commands.available() if info.name == "srv:review"]
    assert info.hint == "<path> [focus]"
    assert await room.sent("srv:review", "a.py") == "{'path': 'a.py'}"
    assert await room.sent("srv:review", "'a b.py' all of it") == "{'path': 'a b.py', 'focus': 'all of it'}"
    assert await room.sent("srv:review", "don't") == "{'path': \"don't\"}"


async def test_a_missing_argument_is_named(room, prompt):
    room.box.now = [prompt("srv:review", (PATH, FOCUS))]
    for argument in ("", "'' x"):
        assert await room.refused("srv:review", argument) == (
            "`/srv:review` was not sent. It needs:\n- `path`: which file\n\nType it as `/srv:review <path> [focus]`."
        )


async def test_a_prompt_without_arguments_takes_none(room, prompt):
    room.box.now = [prompt("srv:hello"), prompt("srv:broken", problem="The server is gone.")]
    assert await room.sent("srv:hello") == "{}"
    assert await room.refused("srv:hello", "you") == "`/srv:hello` takes no arguments."
    assert await room.refused("srv:broken") == "`/srv:broken` failed: The server is gone."


async def test_a_prompt_that_is_on_its_way_is_waited_for(room, prompt):
    room.box.later = [prompt("srv:late")]
    assert await room.sent("srv:late") == "{}"


@pytest.mark.parametrize("about", ["", "srv:late"])
async def test_help_waits_for_what_is_on_its_way(room, prompt, about):
    room.box.later = [prompt("srv:late")]
    assert "`/srv:late`" in await room.said("help", about)


@pytest.mark.parametrize("argument", ["", "x y"])
async def test_a_command_of_a_project_that_is_not_trusted_is_not_sent_and_says_how_to_trust(room, argument):
    room.untrusted += [".claude/commands/git/ship.md", ".quillback/commands/etc.md", ".quillback/recipes/bake.yaml"]
    for name, path in (("git:ship", 0), ("etc", 1), ("bake", 2)):
        said = await room.refused(name, argument)
        assert said.startswith(f"`/{name}` was not sent: `{room.untrusted[path]}` is a file of this project")
        assert "`quillback trust /w`" in said
    assert await room.run("frobnicate", "the widgets") is None
    assert "- `.quillback/recipes/bake.yaml`: you do not trust this project" in await room.said("help")


async def test_a_file_that_cannot_be_used_is_told_when_commands_are_listed_and_where_it_is_meant(room):
    room.write("git/bad.md", b"\xff\x00")
    assert await room.said("cost")
    assert await room.run("frobnicate", "the widgets") is None
    assert room.notices == []
    for argument in ("", "now"):
        assert "git/bad.md` cannot be used: it is not UTF-8 text" in await room.refused("git:bad", argument)
    assert room.notices == []
    for _ in range(3):
        room.commands.available()
    (notice,) = room.notices
    assert "git/bad.md cannot be used: it is not UTF-8 text" in notice


async def test_names_that_no_prompt_could_call_are_not_offered(room, prompt):
    room.box.now = [prompt("srv:" + "x" * 300)]
    assert len(room.names()) == 12


async def test_changes_of_prompts_are_told(room, prompt):
    waiting = asyncio.create_task(room.commands.changed())
    await asyncio.sleep(0)
    assert not waiting.done()
    room.box.now = [prompt("srv:new")]
    room.box.changed()
    await asyncio.wait_for(waiting, 5)
    assert "srv:new" in room.names()


@pytest.mark.parametrize(
    ("name", "argument", "said"),
    [
        ("frobnicate", "", "There is no command /frobnicate. `/help` lists them."),
        ("comapct", "", "There is no command /comapct. Did you mean `/compact`? `/help` lists them."),
        ("comapct", "the plan", "There is no command /comapct. Did you mean `/compact`? `/help` lists them."),
        ("Help", "", "There is no command /Help. Did you mean `/help`? `/help` lists them."),
        ("srv:gone", "a.py", "There is no command /srv:gone. `/help` lists them."),
    ],
)
async def test_an_unknown_command_is_told(room, name, argument, said):
    assert await room.refused(name, argument) == said


@pytest.mark.parametrize(
    ("name", "argument"),
    [("etc", "is full"), ("tmp", ""), ("dev", "has no null"), ("frobnicate", "the widgets please"), ("r", "is short")],
)
async def test_what_is_rather_a_prompt_goes_to_the_model(room, name, argument):
    assert await room.run(name, argument) is None
