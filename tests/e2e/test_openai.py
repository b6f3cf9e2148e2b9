"""A real process whose model is reached through chat completions: turns, cancel, retry, a full window, a new model."""

import base64
import json
import time
from collections.abc import AsyncIterator

import pytest

from quillback_protocol.outgoing import RemoteError
from support.agent import agent, calls, texts
from support.fake_model import FakeModel
from support.fake_model import Reply as AnthropicReply
from support.fake_model import Say as AnthropicSay
from support.fake_model import Use as AnthropicUse
from support.fake_openai import FakeOpenAI, Habits, Hang, Reply, Say, Think, Use
from support.pictures import png

pytestmark = pytest.mark.anyio
KEY = "sk-proj-test-SECRET1"
CANCEL_SECONDS = 5.0  # one second is promised; slack for a busy machine
TOO_LONG = {
    "code": 400,
    "message": "request (6031 tokens) exceeds the available context size (4096 tokens), try increasing it",
    "type": "exceed_context_size_error",
}


@pytest.fixture
async def fake() -> AsyncIterator[FakeOpenAI]:
    """At the end no request may have broken the rules of the API."""
    async with FakeOpenAI(api_key=KEY) as server:
        yield server
        assert server.violations == []


def through(fake: FakeOpenAI, **more: str) -> dict[str, str]:
    """The environment of an agent whose model is behind `fake`. Anthropic's address leads nowhere."""
    return {
        "QUILLBACK_MODEL": "openai:qwen",
        "QUILLBACK_MODE": "auto",
        "OPENAI_BASE_URL": f"{fake.base_url}/v1",
        "OPENAI_API_KEY": KEY,
        **more,
    }


def bodies(fake: FakeOpenAI, token: str) -> list[dict]:
    return [seen.body for seen in fake.requests if seen.token == token]


def results(body: dict) -> dict[str, str]:
    return {m["tool_call_id"]: m["content"] for m in body["messages"] if m["role"] == "tool"}


async def test_a_turn_reads_and_edits_a_file(tmp_path, fake):
    change = {"path": "greet.py", "old_text": "Helo", "new_text": "Hello"}
    look = Use("read_file", {"path": "greet.py"}, "c1")
    fake.script(
        "fix",
        Reply(Think("A typo? Let me look.", deltas=3), Say("I will look.", 2), look),
        Reply(Use("edit_file", change, "c1", cuts=6), Use("list_dir", {"path": "."}, "c2", place=1), finish="stop"),
        Reply(Say("Fixed it.", deltas=3)),
    )
    async with agent(tmp_path, env=through(fake)) as a:
        (a.workspace / "greet.py").write_text('print("Helo")\n')
        session = await a.session()
        turn = await a.client.prompt(session, "[[fix]] the greeting")
        assert turn.stop_reason == "end_turn"
        assert (a.workspace / "greet.py").read_text() == 'print("Hello")\n'
        assert [t.strip() for t in texts(turn.updates).values()] == ["I will look.", "Fixed it."]
        assert "A typo? Let me look." in "".join(texts(turn.updates, "agent_thought_chunk").values())
        assert {c["status"] for c in calls(turn.updates).values()} == {"completed"}
        used = [u["used"] for u in turn.updates if u["sessionUpdate"] == "usage_update"]
        assert used[-1] == 120
        ids = list(texts(turn.updates))
    first, second, third = bodies(fake, "fix")
    assert first["model"] == "qwen"
    assert "Helo" in results(second)["c1"]
    assert [m["role"] for m in third["messages"][-2:]] == ["tool", "tool"]
    assert second["messages"][2]["reasoning_content"] == "A typo? Let me look."
    assert all(second["messages"][n] == third["messages"][n] for n in range(len(second["messages"])))
    async with agent(tmp_path, env=through(fake)) as b:
        await b.client.load_session(session, b.workspace)
        assert list(texts(b.client.updates[session])) == ids


async def test_a_cancel_in_mid_stream_closes_it(tmp_path, fake):
    fake.script("a", Reply(Say("start "), Hang()))
    fake.script("b", Reply(Say("next")))
    async with agent(tmp_path, env=through(fake)) as a:
        session = await a.session()
        turn = await a.client.start_prompt(session, "[[a]]")
        await turn.until(lambda u: u["sessionUpdate"] == "agent_message_chunk")
        begun = time.monotonic()
        a.client.cancel(session)
        await turn.finished()
        assert time.monotonic() - begun < CANCEL_SECONDS
        assert turn.stop_reason == "cancelled"
        await fake.requests[0].ended.wait()
        assert fake.requests[0].gone.is_set()
        assert (await a.client.prompt(session, "[[b]]")).text.strip() == "next"


async def test_a_busy_server_is_asked_again_and_a_wrong_key_is_not(tmp_path, fake):
    busy = Reply(
        status=429, error={"message": "slow down", "code": "rate_limit_exceeded"}, headers={"retry-after": "2"}
    )
    refused = Reply(status=401, error={"message": f"Incorrect API key provided: {KEY}", "code": "invalid_api_key"})
    fake.script("busy", busy, Reply(Say("half"), Hang()), Reply(Say("all of it")))
    fake.script("key", refused)
    async with agent(tmp_path, env=through(fake, QUILLBACK_STREAM_IDLE_TIMEOUT="1")) as a:
        session = await a.session()
        begun = time.monotonic()
        turn = await a.client.prompt(session, "[[busy]]")
        assert time.monotonic() - begun >= 2.0
        assert list(texts(turn.updates).values())[-1].strip() == "all of it"
        first, second, third = bodies(fake, "busy")
        assert first["messages"] == second["messages"] == third["messages"]
        with pytest.raises(RemoteError) as caught:
            await a.client.prompt(session, "[[key]]")
        assert "OPENAI_API_KEY" in str(caught.value)
        assert KEY not in str(caught.value)
    assert len(bodies(fake, "key")) == 1


async def test_a_window_that_is_full_leads_to_a_summary(tmp_path, fake):
    fake.side_reply = Reply(Say("GOAL-7: half of the parser is ported."))
    fake.script("long", Reply(Use("read_file", {"path": "big.txt"})), Reply(Say("It is long.")))
    fake.script("more", Reply(status=400, error=TOO_LONG), Reply(Say("going on")))
    async with agent(tmp_path, env=through(fake)) as a:
        (a.workspace / "big.txt").write_text("line\n" * 1000)
        session = await a.session()
        await a.client.prompt(session, "[[long]] port the parser")
        turn = await a.client.prompt(session, "[[more]] go on")
        assert turn.stop_reason == "end_turn"
        assert list(texts(turn.updates).values())[-1].strip() == "going on"
    before, after = bodies(fake, "more")
    assert "GOAL-7" in json.dumps(after)
    assert len(json.dumps(after["messages"])) < len(json.dumps(before["messages"]))
    assert fake.side_requests[0].body["model"] == "qwen"


async def test_images_of_results_reach_the_model(tmp_path, fake):
    fake.script("see", Reply(Use("read_file", {"path": "a.png"}, "c1")), Reply(Say("A picture.")))
    async with agent(tmp_path, env=through(fake)) as a:
        (a.workspace / "a.png").write_bytes(base64.b64decode(png()))
        turn = await a.client.prompt(await a.session(), "[[see]]")
        assert turn.stop_reason == "end_turn"
    result, shown = bodies(fake, "see")[1]["messages"][-2:]
    assert (result["role"], shown["role"]) == ("tool", "user")
    assert shown["content"][1]["image_url"]["url"].startswith("data:image/png;base64,")


async def test_a_session_goes_from_one_service_to_the_other_and_back(tmp_path, fake):
    fake.habits = Habits(thoughts="want")
    fake.script("two", Reply(Think("hm"), Use("read_file", {"path": "r.txt"}, "c1")), Reply(Say("said by qwen")))
    (tmp_path / "home" / "quillback").mkdir(parents=True)
    (tmp_path / "home" / "quillback" / "config.toml").write_text('[models."openai:qwen"]\nname = "Qwen"\n')
    async with FakeModel() as other:
        read = AnthropicUse("read_file", {"path": "r.txt"})
        other.script("one", AnthropicReply(read), AnthropicReply(AnthropicSay("1")))
        other.script("three", AnthropicReply(AnthropicSay("said by claude")))
        env = through(fake, QUILLBACK_MODEL="claude-sonnet-5-5")
        async with agent(tmp_path, other.base_url, env=env) as a:
            (a.workspace / "r.txt").write_text("x\n")
            session = await a.session()
            await a.client.prompt(session, "[[one]]")
            for token, model in (("two", "openai:qwen"), ("three", "claude-sonnet-5-5")):
                option = {"sessionId": session, "configId": "model", "value": model}
                await a.client.request("session/set_config_option", option)
                turn = await a.client.prompt(session, f"[[{token}]]")
                assert turn.stop_reason == "end_turn"
        assert other.violations == []
        assert "said by qwen" in json.dumps(other.requests[-1].body)
    assert len(fake.refusals) == 1
