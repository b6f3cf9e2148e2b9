"""C01 C03 C06 C08: a cancel at any moment, and more than one prompt."""

import asyncio
import random
import time

import pytest

from quillback_protocol.outgoing import RemoteError
from support.agent import agent, calls, processes, texts
from support.fake_model import FakeModel, Hang, Reply, Say, Use
from support.requests import last_request, result_text, results

pytestmark = pytest.mark.anyio
CANCEL_SECONDS = 5.0  # one second is promised; slack for a busy machine
CHUNK = "agent_message_chunk"


def is_text(update):
    return update["sessionUpdate"] == CHUNK


def is_running(update):
    return update.get("status") == "in_progress"


MOMENTS = {
    "before the first byte": (Reply(Say("late"), before=30.0), None),
    "in the middle of text": (Reply(Say("word " * 400, 400, 0.05)), is_text),
    "in silence": (Reply(Say("start "), Hang()), is_text),
    "in a command": (Reply(Use("shell", {"command": "python3 -c 'import time; time.sleep(31.5)'"})), is_running),
    "in a command that ignores signals": (
        Reply(Use("shell", {"command": "trap '' INT TERM; echo up; sleep 31.7; sleep 31.7"})),
        is_running,
    ),
    "in a retry's wait": (
        Reply(status=429, error=("rate_limit_error", "slow down"), headers={"retry-after": "50"}),
        lambda u: u["sessionUpdate"] == "agent_thought_chunk",
    ),
}


@pytest.mark.parametrize("moment", MOMENTS)
async def test_a_cancel_is_answered_at_once(tmp_path, fake: FakeModel, moment):
    reply, reached = MOMENTS[moment]
    fake.script("a", reply)
    fake.script("b", Reply(Say("next")))
    async with agent(tmp_path, fake.base_url) as a:
        session = await a.session()
        turn = await a.client.start_prompt(session, "[[a]]")
        await (turn.until(reached) if reached else fake.received(1))
        begun = time.monotonic()
        a.client.cancel(session)
        await turn.finished()
        assert time.monotonic() - begun < CANCEL_SECONDS
        assert turn.stop_reason == "cancelled"
        assert all(c["seen"][-1] == "failed" for c in calls(turn.updates).values())
        assert (await a.client.prompt(session, "[[b]]")).stop_reason == "end_turn"
    assert processes("sleep(31.5)") == processes("sleep 31.7") == []


async def test_a_plain_turn_is_not_cancelled_by_earlier_cancels(tmp_path, fake: FakeModel):
    fake.script("a", Reply(Say("plain")))
    async with agent(tmp_path, fake.base_url) as a:
        session = await a.session()
        for unknown in (session, session, "sess_unknown"):
            a.client.cancel(unknown)
        turn = await a.client.prompt(session, "[[a]]")
        assert (turn.stop_reason, turn.text) == ("end_turn", "plain")


async def test_cancel_request_ends_one_prompt_with_a_result(tmp_path, fake: FakeModel):
    fake.script("a", Reply(Say("start "), Hang()))
    fake.script("b", Reply(Say("second")))
    async with agent(tmp_path, fake.base_url) as a:
        session = await a.session()
        first = await a.client.start_prompt(session, "[[a]]")
        await first.until(is_text)
        second = await a.client.start_prompt(session, "[[b]]")
        asked = next(m["id"] for d, m in a.client.log if d == "->" and m.get("method") == "session/prompt")
        a.client.notify("$/cancel_request", {"requestId": asked})
        assert (await first.finished()).stop_reason == "cancelled"
        assert (await second.finished()).stop_reason == "end_turn"


async def test_a_cancel_in_the_same_write_as_its_prompt_counts(tmp_path, fake: FakeModel):
    fake.script("a", Reply(Say("start "), Hang()))
    async with agent(tmp_path, fake.base_url) as a:
        session = await a.session()
        turn = await a.client.start_prompt(session, "[[a]]")
        a.client.cancel(session)
        async with asyncio.timeout(CANCEL_SECONDS):
            assert (await turn.finished()).stop_reason == "cancelled"


async def test_a_cancelled_question_stops_its_siblings(tmp_path, fake: FakeModel):
    fake.script("a", Reply(*(Use("shell", {"command": f"touch {n}.txt"}) for n in "AB")))
    fake.script("b", Reply(Say("next")))
    async with agent(tmp_path, fake.base_url, permissions="nothing") as a:
        session = await a.session()
        turn = await a.client.prompt(session, "[[a]]")
        assert turn.stop_reason == "cancelled"
        assert [c["seen"][-1] for c in calls(turn.updates).values()] == ["failed", "failed"]
        assert not [p for p in a.workspace.iterdir() if p.suffix == ".txt"]
        await a.client.prompt(session, "[[b]]")
    answered = results(last_request(fake, "b"))
    assert len(answered) == 2
    assert all(r["is_error"] and "cancelled" in result_text(r) for r in answered.values())


async def test_finished_results_survive_a_cancel(tmp_path, fake: FakeModel):
    quick = Use("shell", {"command": "echo done-already"})
    slow = Use("shell", {"command": "sleep 31.9"})
    fake.script("a", Reply(quick, slow))
    fake.script("b", Reply(Say("next")))
    async with agent(tmp_path, fake.base_url, env={"QUILLBACK_MODE": "auto"}) as a:
        session = await a.session()
        turn = await a.client.start_prompt(session, "[[a]]")
        await turn.until(lambda u: u.get("status") == "completed")
        a.client.cancel(session)
        await turn.finished()
        await a.client.prompt(session, "[[b]]")
    answered = results(last_request(fake, "b"))
    assert [r.get("is_error", False) for r in answered.values()] == [False, True]
    assert "done-already" in result_text(answered[quick.id])


async def test_a_prompt_right_behind_a_cancel_runs(tmp_path, fake: FakeModel):
    moments = random.Random(7)
    async with agent(tmp_path, fake.base_url, env={"QUILLBACK_MODE": "auto"}) as a:
        session = await a.session()
        for n in range(20):
            commands = [Use("shell", {"command": f"sleep 0.05; echo {k}"}) for k in range(3)]
            fake.script(f"old{n}", Reply(Say("some words " * 5, 20, 0.005), *commands), Reply(Say("old end")))
            fake.script(f"new{n}", Reply(Say(f"new {n}")))
            old = await a.client.start_prompt(session, f"[[old{n}]]")
            await asyncio.sleep(moments.uniform(0.0, 0.4))
            a.client.cancel(session)
            new = await a.client.start_prompt(session, f"[[new{n}]]")
            async with asyncio.timeout(CANCEL_SECONDS):
                assert (await old.finished()).stop_reason in ("cancelled", "end_turn")
                assert (await new.finished()).stop_reason == "end_turn"
            assert list(texts(new.updates).values())[-1].strip() == f"new {n}"
    assert "new 0" in str(fake.requests[-1].body["messages"])


async def test_a_second_prompt_waits_while_other_sessions_run(tmp_path, fake: FakeModel):
    fake.script("a1", Reply(Use("shell", {"command": "sleep 1; echo slow"})), Reply(Say("first")))
    fake.script("a2", Reply(Say("second")))
    fake.script("b", Reply(Say("other")))
    async with agent(tmp_path, fake.base_url) as a:
        session, other = await a.session(), await a.session()
        first = await a.client.start_prompt(session, "[[a1]]")
        await first.until(is_running)
        second = await a.client.start_prompt(session, "[[a2]]")
        assert (await a.client.prompt(other, "[[b]]")).text == "other"
        assert first.result is None
        await first.finished()
        await second.finished()
        assert (first.stop_reason, second.stop_reason) == ("end_turn", "end_turn")
    assert [s.token for s in fake.requests if s.token != "b"] == ["a1", "a1", "a2"]


async def test_a_cancel_empties_the_queue_and_keeps_its_texts(tmp_path, fake: FakeModel):
    fake.script("a", Reply(Say("start "), Hang()))
    fake.script("c", Reply(Say("later")))
    async with agent(tmp_path, fake.base_url) as a:
        session = await a.session()
        turns = [await a.client.start_prompt(session, f"[[{t}]] text-{t}") for t in ("a", "queued1", "queued2")]
        await turns[0].until(is_text)
        a.client.cancel(session)
        assert [(await t.finished()).stop_reason for t in turns] == ["cancelled"] * 3
        await a.client.prompt(session, "[[c]]")
    assert [s.token for s in fake.requests] == ["a", "c"]
    assert "text-queued1" not in str(last_request(fake, "c"))
    async with agent(tmp_path, fake.base_url) as b:
        await b.client.load_session(session, b.workspace)
        users = texts(b.client.updates[session], "user_message_chunk")
        assert [t.split()[-1] for t in users.values()] == ["text-a", "text-queued1", "text-queued2", "[[c]]"]


async def test_busy_sessions_refuse_when_told_to(tmp_path, fake: FakeModel):
    home = tmp_path / "home" / "quillback"
    home.mkdir(parents=True)
    (home / "config.toml").write_text('on_busy = "reject"\n')
    fake.script("a", Reply(Say("start "), Hang()))
    async with agent(tmp_path, fake.base_url) as a:
        session = await a.session()
        turn = await a.client.start_prompt(session, "[[a]]")
        await turn.until(is_text)
        with pytest.raises(RemoteError, match="turn is running") as refused:
            await a.client.prompt(session, "[[a]]")
        assert refused.value.code == -32600
        a.client.cancel(session)
        assert (await turn.finished()).stop_reason == "cancelled"


async def test_close_answers_what_runs(tmp_path, fake: FakeModel):
    fake.script("a", Reply(Use("shell", {"command": "sleep 32.1"})))
    async with agent(tmp_path, fake.base_url) as a:
        session = await a.session()
        turn = await a.client.start_prompt(session, "[[a]]")
        await turn.until(is_running)
        await a.client.request("session/close", {"sessionId": session}, timeout=10)
        assert (await turn.finished()).stop_reason == "cancelled"
        assert processes("sleep 32.1") == []
        with pytest.raises(RemoteError) as gone:
            await a.client.prompt(session, "more")
        assert (gone.value.code, gone.value.data) == (-32002, {"sessionId": session})
