"""Which command counts, prompts of servers among them, and what an unknown one is."""

import asyncio

import pytest

from quillback.core.commands import CommandInfo, Say
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
        assert await room.said("srv:review", argument) == (
            "`/srv:review` was not sent. It needs:\n- `path`: which file\n\nType it as `/srv:review <path> [focus]`."
        )


async def test_a_prompt_without_arguments_takes_none(room, prompt):
    room.box.now = [prompt("srv:hello"), prompt("srv:broken", problem="The server is gone.")]
    assert await room.sent("srv:hello") == "{}"
    assert await room.said("srv:hello", "you") == "`/srv:hello` takes no arguments."
    assert await room.said("srv:broken") == "`/srv:broken` failed: The server is gone."


async def test_a_prompt_that_is_on_its_way_is_waited_for(room, prompt):
    room.box.later = [prompt("srv:late")]
    assert await room.sent("srv:late") == "{}"


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
    assert await room.said(name, argument) == said


@pytest.mark.parametrize(
    ("name", "argument"),
    [("etc", "is full"), ("tmp", ""), ("dev", "has no null"), ("frobnicate", "the widgets please"), ("r", "is short")],
)
async def test_what_is_rather_a_prompt_goes_to_the_model(room, name, argument):
    assert await room.run(name, argument) is None
