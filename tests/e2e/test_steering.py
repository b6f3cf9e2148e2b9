"""What the user adds to a running turn reaches the model with the next step, and stays."""

import asyncio
import json

import pytest

from quillback_protocol.outgoing import RemoteError
from support.agent import agent, texts
from support.fake_model import FakeModel, Hang, Reply, Say, Use
from support.play import kill
from support.requests import last_request, results

pytestmark = pytest.mark.anyio
STEER = "_quillback/session/steer"


def words(text: str) -> list[dict]:
    return [{"type": "text", "text": text}]


async def steer(a, session: str, text: str) -> str:
    return (await a.client.request(STEER, {"sessionId": session, "prompt": words(text)}))["messageId"]


def is_running(update) -> bool:
    return update.get("status") == "in_progress"


def is_text(update) -> bool:
    return update["sessionUpdate"] == "agent_message_chunk"


async def test_it_enters_with_the_next_step_behind_the_result_and_stays(tmp_path, fake: FakeModel):
    wait = "while [ ! -e go ]; do sleep 0.02; done; echo went"
    last = Use("shell", {"command": "echo again"})
    use = Use("shell", {"command": wait})
    fake.script("a", Reply(use), Reply(last), Reply(Say("done")))
    async with agent(tmp_path, fake.base_url) as a:
        session = await a.session()
        turn = await a.client.start_prompt(session, "[[a]]")
        await turn.until(is_running)
        message_id = await steer(a, session, "ALSO-THIS")
        (a.workspace / "go").touch()
        await turn.finished()
        assert (turn.stop_reason, turn.text) == ("end_turn", "done")
        messages = last_request(fake, "a")["messages"]
        assert set(results(last_request(fake, "a"))) == {use.id, last.id}
        with_it = [m for m in messages if "ALSO-THIS" in json.dumps(m)]
        assert [b["type"] for b in with_it[0]["content"]] == ["tool_result", "text"]
        assert len(with_it) == 1
        shown = texts(turn.updates, "user_message_chunk")
        assert shown == {message_id: "ALSO-THIS"}


async def test_at_the_end_of_the_turn_it_keeps_it_going(tmp_path, fake: FakeModel):
    fake.script("a", Reply(Say("slowly " * 60, 60, 0.03)), Reply(Say("and that too")))
    async with agent(tmp_path, fake.base_url) as a:
        session = await a.session()
        turn = await a.client.start_prompt(session, "[[a]]")
        await turn.until(is_text)
        await steer(a, session, "ALSO-THIS")
        await turn.finished()
        assert list(texts(turn.updates).values())[-1].strip() == "and that too"
        assert "ALSO-THIS" in json.dumps(last_request(fake, "a")["messages"][-1])


async def test_without_a_turn_it_is_refused(tmp_path, fake: FakeModel):
    fake.script("a", Reply(Say("done")))
    async with agent(tmp_path, fake.base_url) as a:
        session = await a.session()
        with pytest.raises(RemoteError, match="send it as a prompt"):
            await steer(a, session, "too early")
        await a.client.prompt(session, "[[a]]")
        with pytest.raises(RemoteError, match="send it as a prompt"):
            await steer(a, session, "too late")
        with pytest.raises(RemoteError, match="no open session"):
            await steer(a, "sess_unknown", "to nobody")


async def test_a_cancel_keeps_its_text_and_does_not_run_it(tmp_path, fake: FakeModel):
    fake.script("a", Reply(Say("start "), Hang()))
    fake.script("b", Reply(Say("next")))
    async with agent(tmp_path, fake.base_url) as a:
        session = await a.session()
        turn = await a.client.start_prompt(session, "[[a]]")
        await turn.until(is_text)
        await steer(a, session, "ALSO-THIS")
        a.client.cancel(session)
        await asyncio.wait_for(turn.finished(), 5)
        assert turn.stop_reason == "cancelled"
        await a.client.prompt(session, "[[b]]")
        assert "ALSO-THIS" not in json.dumps(last_request(fake, "b"))
        assert await user_words(a, session) == ["[[a]]", "ALSO-THIS", "[[b]]"]


async def test_killed_before_the_model_got_it_its_text_is_there(tmp_path, fake: FakeModel):
    fake.script("a", Reply(Say("start "), Hang()))
    async with agent(tmp_path, fake.base_url) as a:
        session = await a.session()
        turn = await a.client.start_prompt(session, "[[a]]")
        await turn.until(is_text)
        await steer(a, session, "ALSO-THIS")
        await kill(a, turn)
    async with agent(tmp_path, fake.base_url) as a:
        assert await user_words(a, session) == ["[[a]]", "ALSO-THIS"]


async def user_words(a, session: str) -> list[str]:
    """What the user said, as a load shows it."""
    before = len(a.client.log)
    await a.client.load_session(session, a.workspace)
    params = [m["params"] for d, m in a.client.log[before:] if d == "<-" and m.get("method") == "session/update"]
    return [t.strip() for t in texts([p["update"] for p in params], "user_message_chunk").values()]
