"""K01 K03 K05: a long conversation is summarised in time; nothing is lost to the user, and every request is valid."""

import asyncio
import json

import pytest

from support.agent import agent, texts
from support.fake_model import FakeModel, Hang, Reply, Say, Use
from support.play import kill
from support.processes import until
from support.requests import last_request

pytestmark = pytest.mark.anyio
WINDOW = {"QUILLBACK_CONTEXT_WINDOW": "200000"}
FULL = {"input_tokens": 3, "cache_read_input_tokens": 190_000, "cache_creation_input_tokens": 99, "output_tokens": 140}
USED = 3 + 190_000 + 99 + 140
SMALL = {"input_tokens": 900, "output_tokens": 10}
TOO_LONG = ("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum")


def sent(fake: FakeModel, token: str) -> str:
    return json.dumps(last_request(fake, token)["messages"])


def answer(turn) -> str:
    """The model's last words; before them the user may be told of the summary."""
    return list(texts(turn.updates).values())[-1].strip()


def used(turn) -> list[int]:
    return [u["used"] for u in turn.updates if u["sessionUpdate"] == "usage_update"]


async def filled(a, fake: FakeModel, session: str, token: str = "fill") -> None:
    """A turn with calls that leaves the window full."""
    fake.script(
        token,
        Reply(Use("shell", {"command": "echo one"}), Use("shell", {"command": "echo two"}), usage=SMALL),
        Reply(Say(f"answer to {token}"), usage=FULL),
    )
    turn = await a.client.prompt(session, f"[[{token}]] port the parser, and keep its API")
    assert turn.stop_reason == "end_turn"
    assert used(turn)[-1] == USED


async def replayed(a, session: str) -> str:
    """The agent's words in the replay of a session."""
    await a.client.load_session(session, a.workspace)
    params = [m["params"] for d, m in a.client.log if d == "<-" and m.get("method") == "session/update"]
    return " ".join(texts([p["update"] for p in params]).values())


async def test_a_full_window_is_compacted_before_the_next_request(tmp_path, fake: FakeModel):
    fake.side_reply = Reply(Say("GOAL-7: half of the parser is ported."))
    fake.script("next", Reply(Say("going on"), usage=SMALL))
    async with agent(tmp_path, fake.base_url, env=WINDOW) as a:
        session = await a.session()
        await filled(a, fake, session)
        turn = await a.client.prompt(session, "[[next]] NEWEST-PROMPT")
        assert (turn.stop_reason, len(fake.side_requests)) == ("end_turn", 1)
        request = sent(fake, "next")
        assert "GOAL-7" in request
        assert request.index("GOAL-7") < request.rindex("NEWEST-PROMPT")
        assert "answer to fill" not in request
        assert "port the parser, and keep its API" in request
        asked = json.dumps(fake.side_requests[0].body)
        assert "answer to fill" in asked
        assert "echo one" in asked
        assert used(turn)[0] < 10_000
        assert used(turn)[-1] == 910


async def test_it_is_not_done_again_at_once_nor_after_a_restart(tmp_path, fake: FakeModel):
    fake.side_reply = Reply(Say("GOAL-7"))
    for token in ("next", "after", "later"):
        fake.script(token, Reply(Say(f"said {token}"), usage=SMALL))
    async with agent(tmp_path, fake.base_url, env=WINDOW) as a:
        session = await a.session()
        await filled(a, fake, session)
        await a.client.prompt(session, "[[next]]")
        await a.client.prompt(session, "[[after]]")
        await kill(a)
    async with agent(tmp_path, fake.base_url, env=WINDOW) as a:
        shown = await replayed(a, session)
        for piece in ("answer to fill", "said next", "said after"):
            assert piece in shown
        await a.client.prompt(session, "[[later]]")
        assert len(fake.side_requests) == 1
        assert "GOAL-7" in sent(fake, "later")
        assert "answer to fill" not in sent(fake, "later")


async def test_between_the_steps_of_one_turn(tmp_path, fake: FakeModel):
    fake.side_reply = Reply(Say("GOAL-7"))
    reply = Reply(Use("shell", {"command": "echo one"}), Use("shell", {"command": "echo two"}), usage=FULL)
    fake.script("long", reply, Reply(Say("done"), usage=SMALL))
    async with agent(tmp_path, fake.base_url, env=WINDOW) as a:
        session = await a.session()
        turn = await a.client.prompt(session, "[[long]] port the parser")
        assert (turn.stop_reason, answer(turn)) == ("end_turn", "done")
        request = last_request(fake, "long")["messages"]
        assert [m["role"] for m in request] == ["user"]
        assert "port the parser" in json.dumps(request)


async def test_open_items_are_in_the_next_request_and_the_plan_is_unchanged(tmp_path, fake: FakeModel):
    items = [{"content": f"item {n}", "status": "completed" if n < 2 else "pending"} for n in range(5)]
    fake.side_reply = Reply(Say("a summary that forgot the list"))
    fake.script("plan", Reply(Use("todo_write", {"items": items})), Reply(Say("planned"), usage=FULL))
    fake.script("next", Reply(Say("on it"), usage=SMALL))
    async with agent(tmp_path, fake.base_url, env=WINDOW) as a:
        session = await a.session()
        first = await a.client.prompt(session, "[[plan]]")
        second = await a.client.prompt(session, "[[next]]")
        plans = [u for turn in (first, second) for u in turn.updates if u["sessionUpdate"] == "plan"]
        assert len(plans) == 1
        for n in (2, 3, 4):
            assert f"- [ ] item {n}" in sent(fake, "next")
        assert "item 1" not in sent(fake, "next")


async def test_a_refused_length_is_cured(tmp_path, fake: FakeModel):
    fake.side_reply = Reply(Say("GOAL-7"))
    fake.script("first", Reply(Say("so far"), usage=SMALL))
    fake.script("next", Reply(status=400, error=TOO_LONG), Reply(Say("it fits now"), usage=SMALL))
    async with agent(tmp_path, fake.base_url, env=WINDOW) as a:
        session = await a.session()
        await a.client.prompt(session, "[[first]]")
        turn = await a.client.prompt(session, "[[next]]")
        assert (turn.stop_reason, answer(turn)) == ("end_turn", "it fits now")
        assert "GOAL-7" in sent(fake, "next")


async def test_a_summariser_that_fails_is_told_and_the_turn_goes_on(tmp_path, fake: FakeModel):
    fake.side_reply = Reply(status=404, error=("not_found_error", "model: no such model"))
    fake.script("next", Reply(Say("going on"), usage=SMALL))
    capabilities = {"session": {"notices": {}}}
    async with agent(tmp_path, fake.base_url, env=WINDOW, capabilities=capabilities) as a:
        session = await a.session()
        await filled(a, fake, session)
        turn = await a.client.prompt(session, "[[next]]")
        assert turn.text == "going on"
        assert "answer to fill" in sent(fake, "next")
        notices = [u["title"] for u in turn.updates if u["sessionUpdate"] == "notice"]
        assert any("could not be compacted" in n for n in notices)


async def test_a_client_that_offers_it_hears_of_each_stage(tmp_path, fake: FakeModel):
    fake.side_reply = Reply(Say("GOAL-7"))
    fake.script("next", Reply(Say("going on"), usage=SMALL))
    declared = {"session": {"compaction": {}}, "_meta": {"quillback.dev": {"historyReplaced": True}}}
    async with agent(tmp_path, fake.base_url, env=WINDOW, capabilities=declared) as a:
        session = await a.session()
        await filled(a, fake, session)
        turn = await a.client.prompt(session, "[[next]]")
        stages = [u for u in turn.updates if u["sessionUpdate"] == "compaction_update"]
        assert [s["status"] for s in stages] == ["in_progress", "completed"]
        assert len({s["compactionId"] for s in stages}) == 1
        told = [m["params"] for d, m in a.client.log if m.get("method") == "_quillback/session/history_replaced"]
        assert [t["sessionId"] for t in told] == [session]
        assert told[0]["hiddenThroughMessageId"] != told[0]["summaryMessageId"]


async def test_a_cancel_while_it_is_made_leaves_everything_as_it_was(tmp_path, fake: FakeModel):
    fake.side_reply = Reply(Say("half a "), Hang())
    fake.script("next", Reply(Say("going on"), usage=SMALL))
    async with agent(tmp_path, fake.base_url, env=WINDOW) as a:
        session = await a.session()
        await filled(a, fake, session)
        turn = await a.client.start_prompt(session, "[[next]]")
        assert await until(lambda: fake.side_requests)
        a.client.cancel(session)
        await asyncio.wait_for(turn.finished(), 5)
        assert turn.stop_reason == "cancelled"
        fake.side_reply = Reply(Say("GOAL-7"))
        again = await a.client.prompt(session, "[[next]] again")
        assert answer(again) == "going on"
        assert "GOAL-7" in sent(fake, "next")


async def test_killed_while_it_is_made_nothing_is_lost(tmp_path, fake: FakeModel):
    fake.side_reply = Reply(Say("half a "), Hang())
    fake.script("next", Reply(Say("going on"), usage=SMALL))
    async with agent(tmp_path, fake.base_url, env=WINDOW) as a:
        session = await a.session()
        await filled(a, fake, session)
        turn = await a.client.start_prompt(session, "[[next]] NEWEST-PROMPT")
        assert await until(lambda: fake.side_requests)
        await kill(a, turn)
    fake.side_reply = Reply(Say("GOAL-7"))
    async with agent(tmp_path, fake.base_url, env=WINDOW) as a:
        assert "answer to fill" in await replayed(a, session)
        again = await a.client.prompt(session, "[[next]] once more")
        assert answer(again) == "going on"
        assert "once more" in sent(fake, "next")
