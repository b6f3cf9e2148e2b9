"""M01 M03 M05: the servers of a session, through the real agent: used with permission, killed, hung, odd, and gone."""

import asyncio
import json
import re
import time

import pytest

from support.agent import KEY, agent, calls
from support.fake_model import FakeModel, Reply, Say, Use
from support.mcp_setup import http, stdio
from support.play import Desk, by_kind, play
from support.processes import running, until
from support.requests import last_request, result_text, results

pytestmark = pytest.mark.anyio
AUTO = {"QUILLBACK_MODE": "auto"}
SLACK = 5
NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def offered(fake: FakeModel) -> dict[str, dict]:
    """The tools of the last request."""
    return {t["name"]: t for t in fake.requests[-1].body["tools"]}


async def test_tools_of_both_transports_run_once_permitted(tmp_path, fake: FakeModel):
    files = stdio(tmp_path, "files", API_KEY="mcp-secret-1")
    async with http("web") as web, agent(tmp_path, fake.base_url) as a:
        session = await a.session(mcpServers=[files.setup, web.setup])
        desk = Desk(a, by_kind("allow_once"), by_kind("allow_once"), by_kind("reject_once"))
        echo = Use("files_echo", {"q": "hi"})
        add = Use("web_add", {"a": 2, "b": 3})
        refused = Use("files_echo", {"q": "no"})
        found = await play(a, fake, session, echo, add, refused)
        assert json.loads(result_text(found[0])) == {"q": "hi"}
        assert result_text(found[1]) == "5"
        assert "rejected" in result_text(found[2])
        assert files.noted("call") == ["echo"]
        assert [q["toolCall"]["title"] for q in desk.asked] == ["files: echo", "web: add", "files: echo"]
        assert desk.asked[1]["toolCall"]["rawInput"] == {"a": 2, "b": 3}
        seen = [c["seen"] for c in calls(a.client.updates[session]).values()]
        assert seen == [["pending", "in_progress", "completed"]] * 2 + [["pending", "failed"]]


async def test_a_server_gets_its_own_entries_and_no_key(tmp_path, fake: FakeModel):
    files = stdio(tmp_path, "files", API_KEY="mcp-secret-1", COLOUR="plain")
    async with agent(tmp_path, fake.base_url, env={**AUTO, "AWS_SECRET_ACCESS_KEY": "SECRET2"}) as a:
        session = await a.session(mcpServers=[files.setup])
        (result,) = await play(a, fake, session, Use("files_env"))
        (env,) = files.noted("env")
        assert env["API_KEY"] == "mcp-secret-1"
        assert env["COLOUR"] == "plain"
        assert {"PATH", "HOME"} <= env.keys()
        assert KEY not in str(env)
        assert "SECRET2" not in str(env)
        assert "mcp-secret-1" not in result_text(result)
        assert "plain" in result_text(result)
        assert "mcp-secret-1" not in str([message for way, message in a.client.log if way == "<-"])
    stored = b"".join(p.read_bytes() for p in (tmp_path / "home" / "quillback").rglob("*") if p.is_file())
    assert b"mcp-secret-1" not in stored


async def test_a_killed_stdio_server_fails_its_call_and_comes_back(tmp_path, fake: FakeModel):
    files = stdio(tmp_path, "files")
    async with agent(tmp_path, fake.base_url, env=AUTO) as a:
        session = await a.session(mcpServers=[files.setup])
        playing = asyncio.ensure_future(play(a, fake, session, Use("files_wait"), Use("files_echo", {"q": "again"})))
        assert await until(lambda: "wait" in files.noted("call"), 15)
        killed = time.monotonic()
        files.kill()
        waited, echoed = await playing
        assert time.monotonic() - killed < 2 * SLACK
        assert waited["is_error"]
        assert "lost during the call" in result_text(waited)
        assert json.loads(result_text(echoed)) == {"q": "again"}
        assert len(files.noted("start")) == 2


async def test_a_killed_http_server_fails_its_call_and_comes_back(tmp_path, fake: FakeModel):
    async with http("web") as web, agent(tmp_path, fake.base_url, env=AUTO) as a:
        session = await a.session(mcpServers=[web.setup])
        fake.script("a", Reply(Use("web_slow")), Reply(Say("it died")))
        turn = await a.client.start_prompt(session, "[[a]]")
        await turn.until(lambda u: "half way" in str(u), 15)
        killed = time.monotonic()
        web.kill()
        await turn.finished()
        assert time.monotonic() - killed < 2 * SLACK
        (slow,) = results(last_request(fake, "a")).values()
        assert slow["is_error"]
        await web.start()
        (sum_,) = await play(a, fake, session, Use("web_add", {"a": 1, "b": 1}))
        assert result_text(sum_) == "2"


async def test_a_server_that_dies_by_itself(tmp_path, fake: FakeModel):
    files = stdio(tmp_path, "files")
    async with agent(tmp_path, fake.base_url, env=AUTO) as a:
        session = await a.session(mcpServers=[files.setup])
        begun = time.monotonic()
        found = await play(a, fake, session, Use("files_die"), Use("files_garbage"), Use("files_big"))
        assert time.monotonic() - begun < 3 * SLACK
        assert [r.get("is_error", False) for r in found] == [True, False, False]
        assert "giving up" in result_text(found[0])
        assert "half" in result_text(found[1])
        assert len(result_text(found[2])) < 31_000
        assert result_text(found[2]).endswith("END")
        assert len(str(a.client.updates[session])) < 200_000


async def test_nothing_is_left_after_close(tmp_path, fake: FakeModel):
    files = stdio(tmp_path, "files")
    mark = f"offspring-of-{tmp_path.name}"
    async with http("web") as web, agent(tmp_path, fake.base_url, env=AUTO) as a:
        session = await a.session(mcpServers=[files.setup, web.setup])
        other = await a.session(mcpServers=[stdio(tmp_path, "others").setup])
        await play(a, fake, session, Use("files_offspring", {"q": mark}))
        await play(a, fake, other, Use("others_echo"))
        assert running(mark)
        await a.client.request("session/close", {"sessionId": session})
        assert running(mark) == []
        assert running(str(files.log)) == []
        assert running(str(tmp_path / "others.log"))
    assert running(str(tmp_path / "others.log")) == []


@pytest.mark.parametrize("notices", [True, False])
async def test_hung_and_missing_servers_hold_up_nobody(tmp_path, fake: FakeModel, notices):
    servers = [
        stdio(tmp_path, "good").setup,
        stdio(tmp_path, "hung", "hang").setup,
        {"name": "gone", "command": str(tmp_path / "no-such-program"), "args": [], "env": []},
        stdio(tmp_path, "broken", "exit", STORE_TOKEN="store-secret").setup,
    ]
    offers = {"session": {"notices": {}}} if notices else {}
    async with agent(tmp_path, fake.base_url, env=AUTO, capabilities=offers) as a:
        begun = time.monotonic()
        session = await a.session(mcpServers=servers)
        assert time.monotonic() - begun < 1 * SLACK
        (result,) = await play(a, fake, session, Use("good_echo", {"q": "hi"}))
        assert time.monotonic() - begun < 10 + SLACK
        assert json.loads(result_text(result)) == {"q": "hi"}
        names = [n for n in offered(fake) if n.startswith(("hung", "gone", "broken"))]
        assert names == []
        fake.script("later", Reply(Say("still here")))
        assert (await a.client.prompt(session, "[[later]]")).text == "still here"
        told = [u for u in a.client.updates[session] if u["sessionUpdate"] == ("notice" if notices else TELLING)]
        text = "".join(u["title"] if notices else u["content"]["text"] for u in told)
        for name in ("hung", "gone", "broken"):
            assert text.count(f'MCP server "{name}" failed') == 1, text
        assert "did not answer within 10 s" in text
        assert "cannot open the store" in text
        assert "store-secret" not in text


TELLING = "agent_thought_chunk"


async def test_a_list_that_changes_in_mid_turn(tmp_path, fake: FakeModel):
    files = stdio(tmp_path, "files")
    async with agent(tmp_path, fake.base_url, env=AUTO) as a:
        session = await a.session(mcpServers=[files.setup])
        pause = Use("shell", {"command": "sleep 1"})
        found = await play(a, fake, session, Use("files_grow", {"q": "fresh"}), pause, Use("files_fresh"))
        assert result_text(found[2]) == "called fresh"
        before, *_, after = [{t["name"] for t in r.body["tools"]} for r in fake.requests]
        assert after - before == {"files_fresh"}


async def test_names_are_fit_and_stable(tmp_path, fake: FakeModel):
    server = stdio(tmp_path, "s" * 60, "names")
    every = []
    for _ in range(2):
        async with agent(tmp_path, fake.base_url, env=AUTO) as a:
            session = await a.session(mcpServers=[server.setup])
            await play(a, fake, session, Use("list_dir", {"path": "."}))
            names = sorted(n for n in offered(fake) if n.startswith("ss"))
            assert len(names) == 7
            assert all(NAME.fullmatch(n) for n in names)
            found = await play(a, fake, session, *map(Use, names), together=True)
            told = {result_text(r).removeprefix("called ") for r in found}
            assert told == {"a.b", "a/b", "a b", "x" * 90, "größe", "検索", "plain"}
            every.append(names)
    assert every[0] == every[1]


async def test_a_transport_that_is_not_offered_is_refused(tmp_path, fake: FakeModel):
    async with agent(tmp_path, fake.base_url) as a:
        for server in (
            {"type": "sse", "name": "old", "url": "http://127.0.0.1:9/", "headers": []},
            {"type": "acp", "name": "inside", "serverId": "s1"},
            {"type": "carrier pigeon", "name": "bird"},
        ):
            with pytest.raises(Exception, match=r"mcpServers.*\(-32602\)"):
                await a.session(mcpServers=[server])


async def test_a_cancel_is_told_to_the_server(tmp_path, fake: FakeModel):
    files = stdio(tmp_path, "files")
    fake.script("a", Reply(Use("files_wait")))
    async with agent(tmp_path, fake.base_url, env=AUTO) as a:
        session = await a.session(mcpServers=[files.setup])
        turn = await a.client.start_prompt(session, "[[a]]")
        assert await until(lambda: "wait" in files.noted("call"), 15)
        a.client.cancel(session)
        await turn.finished()
        assert turn.stop_reason == "cancelled"
        assert await until(lambda: files.noted("cancelled"), 5)
        (result,) = await play(a, fake, session, Use("files_echo", {"q": "on"}))
        assert json.loads(result_text(result)) == {"q": "on"}
