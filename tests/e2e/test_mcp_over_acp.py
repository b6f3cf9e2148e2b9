"""MCP servers inside the editor: reached over its own connection, inspected like any other, offered only when asked."""

import pytest

from support.acp_mcp import METHOD, OFFER, InnerServer
from support.agent import agent, calls
from support.fake_model import FakeModel, Reply, Use
from support.play import Desk, by_kind, play
from support.processes import until
from support.requests import result_text

pytestmark = pytest.mark.anyio
AUTO = {"QUILLBACK_MODE": "auto"}


async def test_it_is_offered_to_clients_that_declare_it(tmp_path, fake: FakeModel):
    async with agent(tmp_path, fake.base_url, capabilities=OFFER) as a:
        assert a.initialized["agentCapabilities"]["mcpCapabilities"] == {"http": True, "sse": False, "acp": True}
    async with agent(tmp_path, fake.base_url) as a:
        assert "acp" not in a.initialized["agentCapabilities"]["mcpCapabilities"]


async def test_a_tool_is_asked_about_and_called(tmp_path, fake: FakeModel):
    async with agent(tmp_path, fake.base_url, capabilities=OFFER) as a:
        server = InnerServer(a)
        session = await a.session(mcpServers=[server.setup])
        desk = Desk(a, by_kind("allow_once"), by_kind("reject_once"))
        found = await play(a, fake, session, Use("editor_echo", {"q": "hi"}), Use("editor_echo", {"q": "no"}))
        assert result_text(found[0]) == "echo hi"
        assert found[1]["is_error"]
        assert [q["toolCall"]["title"] for q in desk.asked] == ["editor: echo"] * 2
        sent = [m for m in server.messages if m["method"] == "tools/call"]
        assert [m["params"]["arguments"] for m in sent] == [{"q": "hi"}]
        assert {m["serverId"] for m in server.messages} == {"editor-1"}
        assert len({m["requestId"] for m in server.messages}) == len(server.messages)
        tools = {t["name"]: t for t in fake.requests[0].body["tools"]}
        assert len([n for n in tools if n.startswith("editor_odd_name_")]) == 1
        assert "The editor's own." in tools["editor_ask"]["description"]
        assert "buffer://1 (main.c)" in tools["mcp_read_resource"]["description"]


async def test_what_goes_wrong_is_a_result(tmp_path, fake: FakeModel):
    async with agent(tmp_path, fake.base_url, env=AUTO, capabilities=OFFER) as a:
        server = InnerServer(a)
        session = await a.session(mcpServers=[server.setup])
        uses = [Use("editor_fail"), Use("editor_refuse"), Use("editor_ask")]
        uses.append(Use("mcp_read_resource", {"server": "editor", "uri": "buffer://1"}))
        found = await play(a, fake, session, *uses)
        assert [r.get("is_error", False) for r in found] == [True, True, True, False]
        assert "it does not work" in result_text(found[0])
        assert "the backend failed" in result_text(found[1])
        assert "asks for more input" in result_text(found[2])  # this client shows no forms
        assert "int main;" in result_text(found[3])
        server.gone = True
        lost, *_ = await play(a, fake, session, Use("editor_echo"))
        assert "the server was closed" in result_text(lost)
        server.gone = False
        (back,) = await play(a, fake, session, Use("editor_echo", {"q": "back"}))
        assert result_text(back) == "echo back"


async def test_progress_cancel_and_close(tmp_path, fake: FakeModel):
    fake.script("a", Reply(Use("editor_wait")))
    async with agent(tmp_path, fake.base_url, env=AUTO, capabilities=OFFER) as a:
        server = InnerServer(a)
        session = await a.session(mcpServers=[server.setup])
        turn = await a.client.start_prompt(session, "[[a]]")
        await turn.until(lambda u: "1/2 half way" in str(u))
        for odd in ({}, {"serverId": "editor-1", "requestId": "none", "method": "notifications/progress"}):
            a.client.notify(METHOD, odd)
        a.client.cancel(session)
        await turn.finished()
        assert [c["seen"][-1] for c in calls(turn.updates).values()] == ["failed"]
        assert await until(lambda: server.cancelled == ["tools/call"])
        await a.client.request("session/close", {"sessionId": session})
        assert await until(lambda: "subscriptions/listen" in server.cancelled)


async def test_a_list_that_changes(tmp_path, fake: FakeModel):
    async with agent(tmp_path, fake.base_url, env=AUTO, capabilities=OFFER) as a:
        server = InnerServer(a)
        session = await a.session(mcpServers=[server.setup])
        await play(a, fake, session, Use("editor_echo"))
        server.change("fresh")
        assert await until(lambda: server.methods().count("tools/list") == 2, 5)
        assert await until(lambda: server.methods().count("resources/list") == 2, 5)
        (result,) = await play(a, fake, session, Use("editor_fresh", {"q": "one"}))
        assert result_text(result) == "fresh one"


async def test_a_form_of_a_server_is_shown_by_the_editor(tmp_path, fake: FakeModel):
    forms = []

    async def fill_in(params):
        forms.append(params)
        return {"action": "accept", "content": {"colour": "green"}}

    offers = {**OFFER, "elicitation": {"form": {}}}
    async with agent(tmp_path, fake.base_url, env=AUTO, capabilities=offers) as a:
        server = InnerServer(a)
        server.discovers = True
        a.client.on_request("elicitation/create", fill_in)
        session = await a.session(mcpServers=[server.setup])
        (result,) = await play(a, fake, session, Use("editor_ask"))
        assert "{'action': 'accept', 'content': {'colour': 'green'}}" in result_text(result)
        assert forms[0]["message"] == "editor: Which colour?"
        assert server.messages[-1]["params"]["requestState"] == "s1"


async def test_a_server_that_knows_only_tools(tmp_path, fake: FakeModel):
    async with agent(tmp_path, fake.base_url, env=AUTO, capabilities=OFFER) as a:
        server = InnerServer(a)
        server.discovers = False
        session = await a.session(mcpServers=[server.setup])
        (result,) = await play(a, fake, session, Use("editor_echo", {"q": "hi"}))
        assert result_text(result) == "echo hi"
        assert "mcp_read_resource" not in {t["name"] for t in fake.requests[0].body["tools"]}
        assert "subscriptions/listen" not in server.methods()
