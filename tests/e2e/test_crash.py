"""D03: a process that is killed leaves sessions that go on, with all that was shown, and nothing twice."""

import asyncio
import time

import pytest

from support.agent import Agent, agent, calls, processes, texts
from support.fake_model import FakeModel, Hang, Open, Reply, Say, Think, Use
from support.play import kill
from support.processes import until
from support.requests import last_request, result_text, results, user_text

pytestmark = pytest.mark.anyio
FLUSH = 0.25  # fifty milliseconds are promised; slack for a busy machine
REPLAYED = ("user_message_chunk", "agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update", "plan")


def replay(a: Agent, session: str) -> list[dict]:
    return [u for u in a.client.updates[session] if u["sessionUpdate"] in REPLAYED]


async def begun(a: Agent, fake: FakeModel) -> tuple[dict[str, str], list]:
    """Sessions in every state that a kill can meet, by what they are doing."""
    sleep, write = Use("shell", {"command": "sleep 604.1"}), Use("write_file", {"path": "q.txt", "content": "x"})
    done = Use("shell", {"command": "echo finished"}, id="toolu_done")
    scripts = {
        "idle": [Reply(Say("all said"))],
        "tool": [Reply(Think("plan"), Say("working"), done, sleep)],
        "second step": [Reply(Say("first"), Use("read_file", {"path": "r.txt"})), Reply(Say("then "), Hang())],
        "stream": [Reply(Think("thoughts"), Say("said so far"), Hang())],
        "half a call": [Reply(Say("calling"), Open(Use("shell", {"command": "touch half.txt"})), Hang())],
        "question": [Reply(Say("may I"), write, Use("read_file", {"path": "r.txt"}))],
        "queued": [Reply(Say("busy"), Hang())],
        "silence": [Reply(Hang())],
    }
    sessions, turns = {name: await a.session() for name in scripts}, []
    await a.client.request("session/set_mode", {"sessionId": sessions["tool"], "modeId": "auto"})
    for name, replies in scripts.items():
        fake.script(name.replace(" ", "-"), *replies)
        turns.append(await a.client.start_prompt(sessions[name], f"[[{name.replace(' ', '-')}]] prompt of {name}"))
    turns.append(await a.client.start_prompt(sessions["queued"], "[[never]] prompt in the queue"))
    by_name = dict(zip(scripts, turns, strict=False))
    await by_name["idle"].finished()
    await by_name["tool"].until(lambda u: u.get("status") == "completed")
    assert await until(lambda: processes("604.1"), 10)
    await by_name["second step"].until(lambda u: "then" in str(u.get("content")))
    await by_name["stream"].until(lambda u: "said so far" in str(u.get("content")))
    await by_name["half a call"].until(lambda u: u["sessionUpdate"] == "tool_call")
    await a.client.wait_for(lambda: a.asked or None)
    await by_name["question"].until(lambda u: u.get("status") == "completed")
    await by_name["queued"].until(lambda u: "busy" in str(u.get("content")))
    await fake.received(9)  # one of each, and the second step
    await asyncio.sleep(FLUSH)
    return sessions, turns


async def test_a_kill_at_any_point_leaves_sessions_that_go_on(tmp_path, fake: FakeModel):
    async with agent(tmp_path, fake.base_url, polite=False) as a:
        (a.workspace / "r.txt").write_text("x\n")

        async def never(question):
            a.asked.append(question)
            await asyncio.Event().wait()

        a.client.on_request("session/request_permission", never)
        sessions, turns = await begun(a, fake)
        shown = {name: replay(a, session) for name, session in sessions.items() if name != "silence"}
        await kill(a, *turns)
    assert await until(lambda: not processes("604.1"))
    async with agent(tmp_path, fake.base_url) as b:
        first = await _loaded(b, sessions)
        for name, updates in shown.items():
            assert texts(first[name]) == texts(updates), name
            thoughts = "agent_thought_chunk"
            assert texts(first[name], thoughts) == texts(updates, thoughts), name
            assert list(calls(first[name])) == list(calls(updates)), name
        ends = {name: [c["seen"][-1] for c in calls(first[name]).values()] for name in sessions}
        assert ends == {name: [] for name in sessions} | {
            "tool": ["completed", "failed"],
            "second step": ["completed"],
            "half a call": ["failed"],
            "question": ["failed", "completed"],
        }
        users = {name: [*texts(first[name], "user_message_chunk").values()] for name in sessions}
        assert all(f"prompt of {name}" in users[name][0] for name in sessions)
        assert len(users["queued"]) == 2
        assert "prompt in the queue" in users["queued"][1]
        for name, session in sessions.items():
            fake.script(f"b-{name.replace(' ', '-')}", Reply(Say("went on")))
            turn = await b.client.prompt(session, f"[[b-{name.replace(' ', '-')}]]")
            assert turn.text.strip() == "went on", name
    _check_requests(fake)
    assert not (tmp_path / "workspace/q.txt").exists()
    assert not (tmp_path / "workspace/half.txt").exists()
    async with agent(tmp_path, fake.base_url) as c:
        second = await _loaded(c, sessions)
        for name, session in sessions.items():
            assert second[name][: len(first[name])] == first[name], name
            assert len(second[name]) == len(first[name]) + 2, name  # one prompt and one reply, no second repair
            fake.script(f"c-{name.replace(' ', '-')}", Reply(Say("and on")))
            await c.client.prompt(session, f"[[c-{name.replace(' ', '-')}]]")
    assert len(results(last_request(fake, "c-tool"))) == 2


async def _loaded(a: Agent, sessions: dict[str, str]) -> dict[str, list[dict]]:
    for session in sessions.values():
        await a.client.load_session(session, a.workspace)
    return {name: replay(a, session) for name, session in sessions.items()}


def _check_requests(fake: FakeModel) -> None:
    tool = results(last_request(fake, "b-tool"))
    assert [r.get("is_error", False) for r in tool.values()] == [False, True]
    assert "finished" in result_text(tool["toolu_done"])
    assert "may have had effects" in result_text(list(tool.values())[1])
    question = results(last_request(fake, "b-question"))
    assert [r.get("is_error", False) for r in question.values()] == [True, False]
    assert [r["is_error"] for r in results(last_request(fake, "b-half-a-call")).values()] == [True]
    assert "prompt in the queue" not in user_text(last_request(fake, "b-queued"))
    assert "said so far" in str(last_request(fake, "b-stream"))


async def test_what_was_on_screen_before_a_kill_is_there_afterwards(tmp_path, fake: FakeModel):
    text = "".join(f"{n} " for n in range(1000))
    fake.script("a", Reply(Say(text, deltas=600, delay=0.005)))
    async with agent(tmp_path, fake.base_url, polite=False) as a:
        session = await a.session()
        turn = await a.client.start_prompt(session, "[[a]]")
        seen = []
        while not seen or len(seen[-1][1]) < len(text) // 3:
            await asyncio.sleep(0.01)
            seen.append((time.monotonic(), turn.text))
        await kill(a, turn)
        killed = time.monotonic()
        (message,) = texts(turn.updates)
    before = max((shown for at, shown in seen if at < killed - FLUSH), key=len)
    assert len(before) > 100
    async with agent(tmp_path, fake.base_url) as b:
        await b.client.load_session(session, b.workspace)
        replayed = texts(b.client.updates[session])
    assert list(replayed) == [message]
    assert replayed[message].startswith(before)
    assert text.startswith(replayed[message])
