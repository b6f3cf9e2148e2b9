"""Prompts of real servers: listed, asked for, and what comes of servers that misbehave."""

import asyncio

import pytest

from quillback.core.message import Image, Resource, Text
from quillback.core.prompts import PromptArgument, PromptError
from quillback.mcp import connection, prompt
from quillback.mcp.naming import prompt_name
from support.processes import until

pytestmark = pytest.mark.anyio


def named(room):
    return {p.name: p for p in room.box.prompts()}


async def test_prompts_are_listed_under_the_servers_name(open_room, stdio):
    made = await open_room(stdio("my files", "prompts"))
    prompts = named(made)
    assert list(prompts) == sorted(prompts)
    assert "my_files:review" in prompts
    review = prompts["my_files:review"]
    assert review.description == "Review a file"
    assert review.arguments == (PromptArgument("path", "which file", True), PromptArgument("focus", "", False))
    odd = next(name for name in prompts if name.startswith("my_files:odd_name_"))
    assert prompts[odd].arguments == ()
    assert len(prompts) == 9
    assert made.notices == []


async def test_a_server_without_prompts_is_not_asked_for_them(open_room, stdio):
    made = await open_room(stdio("files"))
    assert made.box.prompts() == ()
    assert not any("prompts" in entry for entry in made.log("files"))


async def test_a_prompt_comes_with_its_arguments(open_room, stdio):
    made = await open_room(stdio("files", "prompts"))
    parts = await named(made)["files:review"].parts({"path": "a b.py"})
    assert parts == (Text("Review a b.py, above all everything."),)
    assert [e["values"] for e in made.log("files") if "prompt" in e] == [{"path": "a b.py"}]


async def test_all_kinds_of_content_become_parts(open_room, stdio):
    made = await open_room(stdio("files", "prompts"))
    parts = await named(made)["files:mixed"].parts({})
    assert parts[0] == Text("look at this")
    assert isinstance(parts[1], Image)
    assert parts[1].mime_type == "image/png"
    assert parts[2] == Resource("memo://1", text="a memo")
    assert parts[3] == Text("The assistant said:\n\n> I see.\n> It is red.")
    assert parts[4] == Text('{"type": "hologram", "depth": 3}')
    assert len(parts) == 5


@pytest.mark.parametrize(
    ("name", "why"),
    [("nothing", "empty prompt"), ("refuse", "not today"), ("huge", "larger than the limit"), ("die", "was lost")],
)
async def test_failures_are_told(open_room, stdio, name, why):
    made = await open_room(stdio("files", "prompts"))
    with pytest.raises(PromptError, match=why):
        await named(made)[f"files:{name}"].parts({})
    assert "files:review" in named(made)
    assert await named(made)["files:review"].parts({"path": "x"})


async def test_a_prompt_that_does_not_come_is_given_up(open_room, stdio, monkeypatch):
    monkeypatch.setattr(prompt, "PROMPT_SECONDS", 0.3)
    made = await open_room(stdio("files", "prompts"))
    with pytest.raises(PromptError, match=r"gave no prompt within 0\.3 s"):
        await named(made)["files:wait"].parts({})
    assert await until(lambda: any("cancelled" in e for e in made.log("files")), 5)


async def test_a_cancelled_prompt_leaves_the_server_usable(open_room, stdio):
    made = await open_room(stdio("files", "prompts"))
    waiting = asyncio.create_task(named(made)["files:wait"].parts({}))
    assert await until(lambda: any(e.get("prompt") == "wait" for e in made.log("files")), 5)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert await named(made)["files:review"].parts({"path": "x"})


async def test_secrets_are_hidden_in_prompts(open_room, stdio):
    made = await open_room(stdio("files", "prompts", API_KEY="sk-very-secret"))
    assert await named(made)["files:secret"].parts({}) == (Text("the key is ***"),)


@pytest.mark.parametrize("mode", ["late", "modern"])
async def test_new_prompts_are_noticed(open_room, stdio, mode):
    made = await open_room(stdio("files", mode))
    changes = []
    made.box.on_prompts(lambda: changes.append(len(made.box.prompts())))
    assert made.box.prompts() == ()
    if mode == "modern":
        assert await until(lambda: any("listen" in e for e in made.log("files")), 5)
    await made.call("files_grow_prompts", q="fresh")
    assert await until(lambda: "files:fresh" in named(made), 5)
    assert changes[-1] == 1


async def test_a_server_that_does_not_list_its_prompts_keeps_its_tools(open_room, stdio, said, monkeypatch):
    monkeypatch.setattr(connection, "_PROMPTS_LIMIT", 0.3)
    made = await open_room(stdio("files", "stuck"))
    assert made.box.prompts() == ()
    assert said(await made.call("files_echo")) == "{}"
    assert made.notices == ['MCP server "files" did not list its prompts within 0.3 s; they are left out']


async def test_the_prompts_of_a_closed_server_are_gone(open_room, stdio):
    made = await open_room(stdio("files", "prompts"))
    await made.box.close()
    assert made.box.prompts() == ()


def test_names_are_fit_for_commands():
    assert prompt_name("files", "review") == "files:review"
    odd = [prompt_name("files", name) for name in ("a.b", "a b", "検索", "x" * 90)]
    assert len(set(odd)) == 4
    assert all(name.startswith("files:") and name.isascii() and len(name) < 64 for name in odd)
    assert prompt_name("-", "x") == "mcp:x"
