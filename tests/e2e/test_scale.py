"""Much text at once: it arrives whole, under one id, in little memory, and nobody has to wait for the others."""

import asyncio
import time

import pytest

from support.agent import Agent, agent, texts
from support.fake_model import FakeModel, Reply, Say
from support.measure import memory

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
DELTAS, SESSIONS, SECONDS = 20_000, 20, 6.0


async def test_twenty_thousand_deltas_arrive_whole_in_little_memory(tmp_path, fake: FakeModel):
    text = "".join(f"{n:>7} é\n" for n in range(DELTAS))
    fake.script("a", Reply(Say(text, DELTAS)))
    async with agent(tmp_path, fake.base_url) as a:
        session = await a.session()
        turn = await a.client.start_prompt(session, "[[a]]")
        most = 0.0
        while not turn.task.done():
            most = max(most, memory(a.pid))
            await asyncio.sleep(0.05)
        await turn.finished()
        assert turn.text == text
        told = turn.result["_meta"]["quillback.dev"]
        assert (told["text"], list(texts(turn.updates))) == (text[:65_536], [told["messageId"]])
        assert most < 130
    async with agent(tmp_path, fake.base_url) as b:
        await b.client.load_session(session, b.workspace)
        assert texts(b.client.updates[session]) == {told["messageId"]: text}
        assert memory(b.pid) < 130


async def test_twenty_sessions_stream_side_by_side(tmp_path, fake: FakeModel):
    words = {n: "".join(f"s{n}w{k} " for k in range(600)) for n in range(SESSIONS)}
    for n, text in words.items():
        fake.script(f"s{n}", Reply(Say(text, 600, SECONDS / 600)))
    fake.script("cancelled", Reply(Say("word " * 600, 600, SECONDS / 600)))
    async with agent(tmp_path, fake.base_url) as a:
        sessions = await asyncio.gather(*(a.session() for _ in range(SESSIONS + 1)))
        arrivals: dict[str, list[float]] = {session: [] for session in sessions}
        _watch(a, arrivals)
        turns = [await a.client.start_prompt(s, f"[[s{n}]]") for n, s in enumerate(sessions[:-1])]
        extra = await a.client.start_prompt(sessions[-1], "[[cancelled]]")
        await extra.until(lambda u: u["sessionUpdate"] == "agent_message_chunk")
        begun = time.monotonic()
        a.client.cancel(sessions[-1])
        assert (await extra.finished()).stop_reason == "cancelled"
        assert time.monotonic() - begun < 5  # one second is promised; slack for a busy machine
        assert all(turn.result is None for turn in turns)
        for turn in turns:
            await turn.finished()
        assert [turn.text for turn in turns] == list(words.values())
    for session in sessions[:-1]:
        first, last = arrivals[session][0], arrivals[session][-1]
        thirds = {int(3 * (at - first) / (last - first + 1e-9)) for at in arrivals[session]}
        assert thirds >= {0, 1, 2}, "a session got nothing for a third of its time"
        gaps = [b - a for a, b in zip(arrivals[session], arrivals[session][1:], strict=False)]
        assert max(gaps) < SECONDS / 3


def _watch(a: Agent, arrivals: dict[str, list[float]]) -> None:
    """Note when each session's text arrives, beside what the client does with it."""
    keep = a.client._on_update

    async def update(params: dict) -> None:
        if params["update"]["sessionUpdate"] == "agent_message_chunk":
            arrivals[params["sessionId"]].append(time.monotonic())
        await keep(params)

    a.client.on_notification("session/update", update)
