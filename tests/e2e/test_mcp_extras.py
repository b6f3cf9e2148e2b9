"""What servers have besides tools: instructions, resources, and questions to the user."""

import asyncio
import json

import pytest

from support.agent import agent
from support.fake_model import FakeModel, Reply, Say, Use
from support.mcp_setup import stdio
from support.play import Desk, by_kind, play
from support.requests import last_request, result_text

pytestmark = pytest.mark.anyio
AUTO = {"QUILLBACK_MODE": "auto"}
FORMS = {"elicitation": {"form": {}}}


async def test_instructions_are_told_once_and_not_in_the_system_prompt(tmp_path, fake: FakeModel):
    fake.script("plain", Reply(Say("nothing to do")), Reply(Say("nothing to do")))
    async with agent(tmp_path, fake.base_url) as a:
        plain = await a.session()
        await a.client.prompt(plain, "[[plain]]")
        rich = await a.session(mcpServers=[stdio(tmp_path, "files", "rich").setup])
        await a.client.prompt(rich, "[[plain]]")
    without, having = [r.body for r in fake.requests]
    assert json.dumps(without["system"]) == json.dumps(having["system"])
    told = [t["name"] for t in having["tools"] if "Echo before you die." in t["description"]]
    assert told == [min(t["name"] for t in having["tools"] if t["name"].startswith("files_"))]


async def test_resources_are_listed_and_read_with_permission(tmp_path, fake: FakeModel):
    files = stdio(tmp_path, "files", "rich")
    async with agent(tmp_path, fake.base_url) as a:
        session = await a.session(mcpServers=[files.setup, stdio(tmp_path, "plain").setup])
        desk = Desk(a, by_kind("allow_once"), by_kind("reject_once"))
        listed = Use("mcp_read_resource", {"server": "files", "uri": "memo://1"})
        linked = Use("mcp_read_resource", {"server": "files", "uri": "file:///notes.txt"})
        unknown = Use("mcp_read_resource", {"server": "plain", "uri": "memo://1"})
        found = await play(a, fake, session, listed, linked, unknown)
        assert "what memo://1 says" in result_text(found[0])
        assert found[1]["is_error"]
        assert "files" in result_text(found[2])
        assert files.noted("read") == ["memo://1"]
        assert [q["toolCall"]["title"] for q in desk.asked] == ["files: read memo://1", "files: read file:///notes.txt"]
        about = next(t for t in fake.requests[0].body["tools"] if t["name"] == "mcp_read_resource")
        assert "- files: memo://1 (first memo)\n- files: memo://2 (memo://2)" in about["description"]
        assert about["input_schema"]["properties"]["server"]["enum"] == ["files"]


@pytest.mark.parametrize("mode", ["tools", "modern"])
async def test_a_servers_question_is_shown_as_a_form(tmp_path, fake: FakeModel, mode):
    forms, answers = [], [{"action": "accept", "content": {"colour": "green"}}, {"action": "decline"}]
    answers += [{"action": "cancel"}, {"action": "accept", "content": {"colour": 5}}, None]

    async def fill_in(params):
        forms.append(params)
        return answers[len(forms) - 1]

    async with agent(tmp_path, fake.base_url, env=AUTO, capabilities=FORMS) as a:
        a.client.on_request("elicitation/create", fill_in)
        session = await a.session(mcpServers=[stdio(tmp_path, "files", mode).setup])
        asks = [Use("files_ask", {"q": str(n)}) for n in range(5)]
        found = [json.loads(result_text(r)) for r in await play(a, fake, session, *asks)]
    states = [answer.pop(0) for answer in found] if mode == "modern" else []
    given = [answer[0] if mode == "modern" else answer for answer in found]
    assert states == (["s1"] * 5 if mode == "modern" else [])
    assert [g["action"] for g in given] == ["accept", "decline", "cancel", "cancel", "cancel"]
    assert given[0]["content"] == {"colour": "green"}
    assert forms[0]["message"] == "files: Which colour?"
    assert forms[0]["sessionId"] == session
    assert forms[0]["requestedSchema"]["properties"] == {"colour": {"type": "string"}}


async def test_a_form_goes_with_its_call(tmp_path, fake: FakeModel):
    shown, withdrawn = asyncio.Event(), asyncio.Event()

    async def fill_in(_):
        shown.set()
        try:
            await asyncio.Event().wait()
        finally:
            withdrawn.set()

    fake.script("a", Reply(Use("files_ask")))
    async with agent(tmp_path, fake.base_url, env=AUTO, capabilities=FORMS) as a:
        a.client.on_request("elicitation/create", fill_in)
        session = await a.session(mcpServers=[stdio(tmp_path, "files").setup])
        turn = await a.client.start_prompt(session, "[[a]]")
        await asyncio.wait_for(shown.wait(), 15)
        a.client.cancel(session)
        await turn.finished()
        assert turn.stop_reason == "cancelled"
        await asyncio.wait_for(withdrawn.wait(), 5)
        (result,) = await play(a, fake, session, Use("files_echo", {"q": "on"}))
        assert json.loads(result_text(result)) == {"q": "on"}


async def test_servers_are_told_whether_forms_can_be_shown(tmp_path, fake: FakeModel):
    for capabilities, offered in (({}, {}), (FORMS, {"elicitation": {"form": {}}})):
        files = stdio(tmp_path, f"files{len(capabilities)}")
        async with agent(tmp_path, fake.base_url, env=AUTO, capabilities=capabilities) as a:
            session = await a.session(mcpServers=[files.setup])
            if not offered:
                (result,) = await play(a, fake, session, Use("files0_ask"))
                assert "code" in result_text(result)
            else:
                fake.script("plain", Reply(Say("nothing to do")))
                await a.client.prompt(session, "[[plain]]")
                assert last_request(fake, "plain")["tools"]
        assert files.noted("offered") == [offered]
