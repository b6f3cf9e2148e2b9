"""Which of the editor's tools the model is offered: by whom, for which session, since when, under which name."""

import pytest

from support.agent import Agent, agent
from support.demo_client import BUILD, OPEN_BUFFER, SELECTION, declaring, demo, text, tool
from support.fake_model import FakeModel, Reply, Say, Use
from support.play import play
from support.requests import last_request, result_text, results

pytestmark = pytest.mark.anyio
OWN = {"read_file", "write_file", "edit_file", "list_dir", "grep", "glob", "shell"}


async def offered(a: Agent, fake: FakeModel, session: str) -> set[str]:
    """The names of the tools in the first request of a turn."""
    fake.script("offered", Reply(Say("nothing to do")))
    await a.client.prompt(session, "[[offered]]")
    return {t["name"] for t in last_request(fake, "offered")["tools"]}


async def test_without_a_declaration_there_are_only_our_own(tmp_path, fake: FakeModel):
    async with demo(tmp_path, fake.base_url, tools=[]) as (a, _):
        names = await offered(a, fake, await a.session())
        assert names >= {"read_file", "shell"}
        assert not names & {"build", "selection", "read_buffer"}


async def test_a_sessions_own_list_stands_in_for_the_general_one(tmp_path, fake: FakeModel):
    async with demo(tmp_path, fake.base_url, tools=[BUILD]) as (a, editor):
        general = await a.session()
        special = await a.session(_meta=declaring(SELECTION))
        none = await a.session(_meta=declaring())
        assert "build" in await offered(a, fake, general)
        assert {"build", "selection"} & await offered(a, fake, special) == {"selection"}
        assert not {"build", "selection"} & await offered(a, fake, none)
        editor.declare(OPEN_BUFFER)
        assert {"build", "read_buffer"} & await offered(a, fake, general) == {"read_buffer"}
        assert {"build", "selection", "read_buffer"} & await offered(a, fake, special) == {"selection"}


@pytest.mark.parametrize("how", ["load", "resume"])
async def test_opening_a_session_declares_anew(tmp_path, fake: FakeModel, how):
    async with demo(tmp_path, fake.base_url, tools=[]) as (a, editor):
        session = await a.session(_meta=declaring(BUILD))
        assert "build" in await offered(a, fake, session)
        setup = {"sessionId": session, "cwd": str(a.workspace), "mcpServers": []}
        await a.client.request(f"session/{how}", setup)  # still open, and nothing said: nothing changed
        assert "build" in await offered(a, fake, session)
        await a.client.request("session/close", {"sessionId": session})
        editor.declare(SELECTION, session=session)  # of a session that is not open: dropped
        await a.client.request(f"session/{how}", setup)
        assert not {"build", "selection"} & await offered(a, fake, session)
        await a.client.request(f"session/{how}", setup | {"_meta": declaring(SELECTION)})
        (result,) = await play(a, fake, session, Use("selection"))
        assert result_text(result) == "def chosen(): ..."


async def test_a_change_in_mid_turn_counts_from_the_next_step_on(tmp_path, fake: FakeModel):
    fake.script("a", Reply(Use("build")), Reply(Use("selection")), Reply(Use("build")), Reply(Say("done")))
    async with demo(tmp_path, fake.base_url, tools=[BUILD]) as (a, editor):
        session = await a.session()
        gate = editor.hold("build")
        turn = await a.client.start_prompt(session, "[[a]]")
        await editor.called("build")
        editor.declare(SELECTION, session=session)
        gate.set()
        await turn.finished()
        assert turn.stop_reason == "end_turn"
    lists = [{t["name"] for t in r.body["tools"]} & {"build", "selection"} for r in fake.requests]
    assert lists == [{"build"}, {"selection"}, {"selection"}, {"selection"}]
    told = [result_text(r) for r in results(last_request(fake, "a")).values()]
    assert told[:2] == ["built", "def chosen(): ..."]  # what was under way when the list changed went on
    assert "build" in told[2]
    assert "selection" in told[2]


async def test_name_clashes_get_a_prefix(tmp_path, fake: FakeModel):
    clashing = [
        tool("shell"),
        tool("read_file", replaces="read_file"),
        tool("grep", replaces="no_such_tool"),
        tool("editor_glob"),
        tool("glob"),
    ]
    async with demo(tmp_path, fake.base_url, tools=clashing) as (a, editor):
        session = await a.session()
        names = await offered(a, fake, session)
        assert names >= OWN | {"editor_shell", "editor_grep", "editor_glob"}
        editor.answers["shell"] = text("the editor's shell")
        editor.answers["read_file"] = text("the editor's file")
        found = await play(a, fake, session, Use("editor_shell"), Use("read_file", {"path": "x"}), Use("editor_glob"))
        assert [result_text(r) for r in found] == ["the editor's shell", "the editor's file", "editor_glob done"]
        assert [c["name"] for c in editor.calls] == ["shell", "read_file", "editor_glob"]


OBJECT = {"type": "object"}
BAD = [
    5,
    "selection",
    None,
    {},
    {"name": "no_schema", "description": "d"},
    {"name": "no_description", "inputSchema": OBJECT},
    {"name": 5, "description": "d", "inputSchema": OBJECT},
    *(tool(name) for name in ("", "two words", "dots.in.it", "naïve", "x" * 65, "new\nline", "end\n")),
    *(
        tool(f"bad_{n}", inputSchema=schema)
        for n, schema in enumerate(
            [
                5,
                [],
                {"type": "string"},
                {"type": ["object", "null"]},
                {"oneOf": [OBJECT]},
                {"anyOf": [OBJECT]},
                {"$ref": "#/$defs/x"},
                {"type": "object", "properties": 5},
                {"type": "object", "properties": {"a": 5}},
                {"type": "object", "properties": {"a": {"type": "strong"}}},
                {"type": "object", "properties": {"a": {"type": []}}},
                {"type": "object", "properties": {"a b": {}}},
                {"type": "object", "properties": {"": {}}},
                {"type": "object", "required": True},
                {"type": "object", "required": ["a", "a"]},
                {"type": "object", "properties": {"a": {"items": [{}]}}},
                {"type": "object", "properties": {"a": {"enum": "x"}}},
                {"type": "object", "properties": {"a": {"anyOf": []}}},
                {"type": "object", "properties": {"a": {"minimum": "0"}}},
                {"type": "object", "properties": {"a": {"maxLength": -1}}},
                {"type": "object", "properties": {"a": {"pattern": "("}}},
                {"type": "object", "properties": {"a": {"description": "x" * 70_000}}},
            ]
        )
    ),
]
GOOD = {
    "type": "object",
    "title": "Everything",
    "properties": {
        "a": {"type": ["string", "null"], "pattern": "^x", "maxLength": 3},
        "b": {"anyOf": [{"type": "integer", "minimum": 0}, {"$ref": "#/$defs/c"}]},
        "c": {"type": "array", "items": {"type": "object", "properties": {"type": {"enum": [1, "x", None]}}}},
        "d": True,
    },
    "$defs": {"c": {"const": 5}},
    "required": ["a"],
    "additionalProperties": False,
}


async def test_what_cannot_be_offered_is_left_out(tmp_path, fake: FakeModel):
    declared = [*BAD, tool("good", inputSchema=GOOD), tool("build", "first"), tool("build", "second"), SELECTION]
    declared += [tool("bare", "half \ud83d", inputSchema={}, kind="juggle", readOnly="maybe", replaces=7)]
    async with demo(tmp_path, fake.base_url, tools=declared) as (a, editor):
        session = await a.session()
        await offered(a, fake, session)
        tools = {t["name"]: t for t in last_request(fake, "offered")["tools"]}
        assert {n for n in tools if n in {"bare", "good", "build", "selection"} or n.startswith("bad")} == {
            "bare",
            "good",
            "build",
            "selection",
        }
        assert len(tools) == len(await offered(a, fake, await a.session(_meta=declaring()))) + 4
        assert tools["build"]["description"] == "first"
        assert tools["good"]["input_schema"] == GOOD
        (result,) = await play(a, fake, session, Use("good", {"b": 1}))
        assert "missing required parameter" in result_text(result)
        assert editor.calls == []
        assert "comes twice" in a.client.stderr
        for n, kind in enumerate(("number", "string", "null")):
            assert f"frontendTools[{n}]: expected an object, got {kind}" in a.client.stderr
        for broken in ({}, {"tools": 5}, {"tools": None, "sessionId": 7}, {"tools": [5, {}], "sessionId": session}):
            a.client.notify("_quillback/frontend_tools/set", broken)
        assert "good" not in await offered(a, fake, session)
        assert a.client.stderr.count("this is no list of tools") == 1


UNREADABLE = {
    "a number": ({"frontendTools": 5}, "frontendTools: this is no list of tools"),
    "words": ({"frontendTools": "build"}, "frontendTools: this is no list of tools"),
    "one tool": ({"frontendTools": BUILD}, "frontendTools: this is no list of tools"),
    "no object": ("frontendTools", "quillback.dev in _meta: expected an object, got string"),
    "a flag of words": ({"messageIds": "yes"}, "messageIds of quillback.dev in _meta is neither true nor false"),
}


@pytest.mark.parametrize("kind", UNREADABLE)
async def test_a_declaration_that_cannot_be_read_is_told_of(tmp_path, fake: FakeModel, kind):
    declared, told = UNREADABLE[kind]
    async with agent(tmp_path, fake.base_url, capabilities={"_meta": {"quillback.dev": declared}}) as a:
        assert "build" not in await offered(a, fake, await a.session())
        assert told in a.client.stderr
        assert a.client.stderr.count("WARNING") == 1
