"""Titles in the real process: from the small model, beside the turn or after it, and never instead of it."""

import asyncio

import pytest

from support.agent import agent, scripted
from support.fake_model import FakeModel, Hang, Reply, Say, Use
from support.processes import until

pytestmark = pytest.mark.anyio


def titles(updates):
    return [u["title"] for u in updates if u["sessionUpdate"] == "session_info_update" and "title" in u]


async def listed(a, session):
    sessions = (await a.client.request("session/list", {}))["sessions"]
    return next(s.get("title") for s in sessions if s["sessionId"] == session)


async def test_the_small_models_title_comes_and_stays(tmp_path, fake: FakeModel):
    fake.title_reply = Reply(Say('"Mend the parser"'))
    fake.script("a", Reply(Use("list_dir", {"path": "."})), Reply(Say("done")))
    async with agent(tmp_path, fake.base_url) as a:
        session = await a.session()
        turn = await a.client.prompt(session, "[[a]] please mend the parser")
        await a.client.wait_for(lambda: len(titles(a.client.updates[session])) == 2 or None)
        assert titles(a.client.updates[session]) == ["[[a]] please mend the parser", "Mend the parser"]
        assert await listed(a, session) == "Mend the parser"
        assert turn.stop_reason == "end_turn"
    (seen,) = fake.title_requests
    assert seen.body["model"] == "claude-haiku-5-5"
    assert "tools" not in seen.body
    async with agent(tmp_path, fake.base_url) as b:
        assert await listed(b, session) == "Mend the parser"
    assert fake.violations == []


async def test_the_answer_does_not_wait_for_a_slow_one(tmp_path, fake: FakeModel):
    fake.title_reply = Reply(Say("Mend "), Hang())
    fake.script("a", Reply(Say("done")))
    async with agent(tmp_path, fake.base_url) as a:
        session = await a.session()
        turn = await asyncio.wait_for(a.client.prompt(session, "[[a]] mend"), 5)
        assert turn.text == "done"
        assert await until(lambda: fake.title_requests)
        await a.client.request("session/close", {"sessionId": session})
        await asyncio.wait_for(fake.title_requests[0].gone.wait(), 5)
        assert titles(a.client.updates[session]) == ["[[a]] mend"]


async def test_a_failure_leaves_the_plain_one(tmp_path, fake: FakeModel):
    fake.script("a", Reply(Say("done")))
    async with agent(tmp_path, fake.base_url) as a:
        session = await a.session()
        await a.client.prompt(session, "[[a]] mend")
        assert await until(lambda: fake.title_requests and fake.title_requests[0].ended.is_set())
        assert await listed(a, session) == "[[a]] mend"


async def test_they_can_be_turned_off(tmp_path, fake: FakeModel):
    home = tmp_path / "home" / "quillback"
    home.mkdir(parents=True)
    (home / "config.toml").write_text("titles = false\n")
    fake.script("a", Reply(Say("done")))
    async with agent(tmp_path, fake.base_url) as a:
        session = await a.session()
        await a.client.prompt(session, "[[a]] mend")
        assert titles(a.client.updates[session]) == ["[[a]] mend"]
    assert fake.title_requests == []


async def test_a_script_keeps_the_plain_one(tmp_path):
    async with agent(tmp_path, env=scripted(tmp_path, "text: hello\n")) as a:
        session = await a.session()
        await a.client.prompt(session, "say it")
        assert titles(a.client.updates[session]) == ["say it"]
        assert await listed(a, session) == "say it"
