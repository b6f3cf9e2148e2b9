"""Sessions by their methods: list with its pages, load and resume, close, delete, and ids that nobody knows."""

import pytest

from quillback_protocol.outgoing import RemoteError
from support.agent import Agent, agent, processes, texts
from support.fake_model import FakeModel, Hang, Reply, Say, Use
from support.processes import until
from support.requests import last_request, user_text

pytestmark = pytest.mark.anyio
ECHO = {"QUILLBACK_MODEL": "scripted:echo"}  # repeats each prompt; starts faster where no service is needed


async def pages(a: Agent, **params: object) -> list[list[str]]:
    found, cursor = [], None
    while True:
        answer = await a.client.request("session/list", params | ({"cursor": cursor} if cursor else {}))
        found.append([s["sessionId"] for s in answer["sessions"]])
        assert None not in [v for s in answer["sessions"] for v in s.values()]
        cursor = answer.get("nextCursor")
        if cursor is None:
            assert "nextCursor" not in answer
            return found


async def test_the_list_has_every_session_once_newest_first(tmp_path):
    other, link = tmp_path / "other", tmp_path / "link"
    other.mkdir()
    link.symlink_to(other)
    async with agent(tmp_path, env=ECHO) as a:
        assert await pages(a) == [[]]
        sessions = [await a.session() for _ in range(107)]
        elsewhere = [await a.session(other) for _ in range(3)]
        everything = await pages(a)
        assert [len(p) for p in everything] == [50, 50, 10]
        assert [s for page in everything for s in page] == [*sessions, *elsewhere][::-1]
        assert await pages(a, cwd=str(other)) == [elsewhere[::-1]]
        assert await pages(a, cwd=str(tmp_path / "none")) == [[]]
        await a.client.prompt(sessions[0], "A title\nfrom the first prompt")
        newest = (await a.client.request("session/list"))["sessions"][0]
        assert newest["sessionId"] == sessions[0]
        assert newest["title"] == "A title from the first prompt"
        assert newest["cwd"] == str(a.workspace)
        assert newest["updatedAt"].endswith(("Z", "+00:00"))
        for bad in ("junk", "", "e30=", 5, "💥", "W10="):
            with pytest.raises(RemoteError) as refused:
                await a.client.request("session/list", {"cursor": bad})
            assert refused.value.code == -32602, bad
    async with agent(tmp_path, env=ECHO) as b:
        assert len([s for page in await pages(b) for s in page]) == 110


async def test_a_resumed_session_goes_on_without_a_replay(tmp_path, fake: FakeModel):
    for token in "abc":
        fake.script(token, Reply(Say(f"said {token}")))
    async with agent(tmp_path, fake.base_url) as a:
        session = await a.session()
        await a.client.prompt(session, "[[a]]")
    async with agent(tmp_path, fake.base_url) as b:
        params = {"sessionId": session, "cwd": str(b.workspace), "mcpServers": []}
        answer = await b.client.request("session/resume", params)
        assert answer["modes"]["currentModeId"] == "approve"
        assert {o["id"] for o in answer["configOptions"]} >= {"mode", "model", "thinking"}
        assert texts(b.client.updates.get(session, [])) == {}
        turn = await b.client.prompt(session, "[[b]]")
        assert turn.text == "said b"
        assert "said a" in str(last_request(fake, "b"))
        replays = []
        for _ in range(2):  # one that is open already is replayed, too
            b.client.updates[session].clear()
            await b.client.load_session(session, b.workspace)
            replays.append(b.client.updates[session].copy())
        assert replays[0] == replays[1]
        assert list(texts(replays[0]).values()) == ["said a", "said b"]
        assert list(texts(replays[0]))[-1] == turn.result["_meta"]["quillback.dev"]["messageId"]
        await b.client.prompt(session, "[[c]]")
        assert user_text(last_request(fake, "c")).count("[[") == 3


async def test_closing_and_deleting(tmp_path, fake: FakeModel):
    fake.script("a", Reply(Say("kept")))
    fake.script("b", Reply(Say("hanging "), Hang()))
    fake.script("c", Reply(Use("shell", {"command": "sleep 605.1"})))
    async with agent(tmp_path, fake.base_url) as a:
        ask = a.client.request
        session = await a.session()
        await a.client.prompt(session, "[[a]]")
        assert await ask("session/close", {"sessionId": session}) == {}
        for method, params in (
            ("session/close", {}),
            ("session/prompt", {"prompt": [{"type": "text", "text": "x"}]}),
            ("session/set_mode", {"modeId": "auto"}),
            ("session/set_config_option", {"configId": "mode", "value": "auto"}),
        ):
            with pytest.raises(RemoteError) as unknown:
                await ask(method, {"sessionId": session, **params})
            assert (unknown.value.code, unknown.value.data) == (-32002, {"sessionId": session}), method
        a.client.updates[session].clear()
        await a.client.load_session(session, a.workspace)
        assert list(texts(a.client.updates[session]).values()) == ["kept"]
        turn = await a.client.start_prompt(session, "[[b]]")
        await turn.until(lambda u: "hanging" in str(u.get("content")))
        assert await ask("session/delete", {"sessionId": session}) == {}
        assert (await turn.finished()).stop_reason == "cancelled"
        assert await ask("session/delete", {"sessionId": session}) == {}
        assert await ask("session/delete", {"sessionId": "sess_nobody"}) == {}
        for method in ("session/load", "session/resume"):
            for lost in (session, "sess_nobody", ""):
                with pytest.raises(RemoteError) as unknown:
                    await ask(method, {"sessionId": lost, "cwd": str(a.workspace), "mcpServers": []})
                assert (unknown.value.code, unknown.value.data) == (-32002, {"sessionId": lost})
                assert "no stored session" in str(unknown.value)
        assert await pages(a) == [[]]
        busy = await a.session()
        turn = await a.client.start_prompt(busy, "[[c]]")
        assert await until(lambda: processes("605.1"), 10)
        await ask("session/delete", {"sessionId": busy})
        assert (await turn.finished()).stop_reason == "cancelled"
        assert await until(lambda: not processes("605.1"))
    async with agent(tmp_path, fake.base_url) as b:
        assert await pages(b) == [[]]


async def test_a_session_belongs_to_its_directory(tmp_path):
    other, link = tmp_path / "other", tmp_path / "link"
    other.mkdir()
    async with agent(tmp_path, env=ECHO) as a:
        link.symlink_to(a.workspace)
        session = await a.session()
        await a.client.request("session/close", {"sessionId": session})
        for method in ("session/load", "session/resume"):
            for cwd in (str(other), "relative", str(tmp_path / "none"), ""):
                with pytest.raises(RemoteError, match="cwd") as refused:
                    await a.client.request(method, {"sessionId": session, "cwd": cwd, "mcpServers": []})
                assert refused.value.code == -32602
        await a.client.load_session(session, link)  # the same place by another name
        with pytest.raises(RemoteError) as refused:
            await a.client.new_session(a.workspace, additionalDirectories=["relative"])
        assert refused.value.code == -32602
