"""O01 O03 O05 O07: what the client is told, in which order, under which ids; and the same after a restart."""

import asyncio

import pytest

from support.agent import agent, calls, texts
from support.fake_model import FakeModel, Reply, Say, Think, Use
from support.requests import last_request, results

pytestmark = pytest.mark.anyio
SAID = ("user_message_chunk", "agent_message_chunk", "agent_thought_chunk", "tool_call")


def order(updates):
    kinds = [u["sessionUpdate"] for u in updates if u["sessionUpdate"] in SAID]
    return [k for i, k in enumerate(kinds) if i == 0 or kinds[i - 1] != k]


async def test_nothing_of_a_turn_follows_its_answer(tmp_path, fake: FakeModel):
    fake.script(
        "a", Reply(Say("tiny " * 200, 200), Use("shell", {"command": "echo hi"})), Reply(Say("end " * 200, 200))
    )
    async with agent(tmp_path, fake.base_url) as a:
        session = await a.session()
        turn = await a.client.prompt(session, "[[a]]")
        seen = len(a.client.log)
        await asyncio.sleep(0.5)  # there is nothing to wait for: the test is that nothing comes
        assert a.client.log[seen:] == []
        assert turn.text.count("tiny ") == turn.text.count("end ") == 200
        assert [c["seen"][-1] for c in calls(turn.updates).values()] == ["completed"]
        assert turn.updates[-1]["sessionUpdate"] == "usage_update"


async def test_a_load_replays_what_was_shown(tmp_path, fake: FakeModel):
    (tmp_path / "workspace").mkdir()
    (tmp_path / "workspace" / "e.txt").write_text("one\ntwo\n")
    fake.script(
        "a",
        Reply(Think("hm"), Say("first"), Use("shell", {"command": "echo hi"})),
        Reply(Use("read_file", {"path": "e.txt"})),
        Reply(Use("edit_file", {"path": "e.txt", "old_text": "one", "new_text": "uno"})),
        Reply(Use("todo_write", {"items": [{"content": "rest", "status": "pending"}]})),
        Reply(Use("read_file", {"path": "gone.txt"}), Use("no_such", {})),
        Reply(Say("last")),
    )
    async with agent(tmp_path, fake.base_url) as a:
        session = await a.session()
        live = (await a.client.prompt(session, "[[a]] user words")).updates
    async with agent(tmp_path, fake.base_url) as b:
        await b.client.load_session(session, b.workspace)
        replayed = b.client.updates[session]
    assert order(replayed) == ["user_message_chunk", *order(live)]
    assert "[[a]] user words" in replayed[0]["content"]["text"]
    assert texts(replayed) == texts(live)
    assert texts(replayed, "agent_thought_chunk") == texts(live, "agent_thought_chunk")
    for before, after in zip(calls(live).values(), calls(replayed).values(), strict=True):
        for key in ("toolCallId", "name", "title", "kind", "rawInput", "status", "locations", "content", "rawOutput"):
            assert before.get(key) == after.get(key), (before["title"], key)
    assert [u for u in replayed if u["sessionUpdate"] == "plan"] == [u for u in live if u["sessionUpdate"] == "plan"]
    diffs = [c for call in calls(replayed).values() for c in call["content"] if c["type"] == "diff"]
    assert [(d["oldText"], d["newText"]) for d in diffs] == [("one\ntwo\n", "uno\ntwo\n")]


async def test_each_message_has_one_id_that_a_load_repeats(tmp_path, fake: FakeModel):
    (tmp_path / "workspace").mkdir()
    (tmp_path / "workspace" / "r.txt").write_text("x\n")
    fake.script(
        "a",
        Reply(Think("thought one"), Say("one two three ", 3, 0.02), Use("read_file", {"path": "r.txt"})),
        Reply(Say("four five six", 3, 0.02)),
    )
    async with agent(tmp_path, fake.base_url) as a:
        session = await a.session()
        turn = await a.client.prompt(session, "[[a]]")
    by_id = texts(turn.updates)
    assert list(by_id.values()) == ["one two three ", "four five six"]
    assert not set(by_id) & set(texts(turn.updates, "agent_thought_chunk"))
    told = turn.result["_meta"]["quillback.dev"]
    assert (told["messageId"], told["text"]) == (list(by_id)[-1], "four five six")
    async with agent(tmp_path, fake.base_url) as b:
        await b.client.load_session(session, b.workspace)
        assert texts(b.client.updates[session]) == by_id


async def test_two_messages_in_a_row_are_kept_apart_for_clients_that_join_them(tmp_path, fake: FakeModel):
    for token, declared in (("plain", None), ("ids", {"_meta": {"quillback.dev": {"messageIds": True}}})):
        fake.script(token, Reply(Say("one"), stop="pause_turn"), Reply(Say("two")))
        async with agent(tmp_path, fake.base_url, capabilities=declared) as a:
            turn = await a.client.prompt(await a.session(), f"[[{token}]]")
        assert list(texts(turn.updates).values()) == ["one", "two" if declared else "\n\ntwo"]
        assert turn.result["_meta"]["quillback.dev"]["text"] == "two"


async def test_a_tool_id_that_the_model_uses_again_is_another_call(tmp_path, fake: FakeModel):
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    for name in ("a", "b"):
        (workspace / f"{name}.txt").write_text(name.upper() * 3)
        fake.script(name, Reply(Use("read_file", {"path": f"{name}.txt"}, id="toolu_same")), Reply(Say("ok")))
    async with agent(tmp_path, fake.base_url) as a:
        session = await a.session()
        turns = [await a.client.prompt(session, f"[[{name}]]") for name in ("a", "b")]
        ids = [set(calls(t.updates)) for t in turns]
        assert [len(i) for i in ids] == [1, 1]
        assert not ids[0] & ids[1]
    assert len(results(last_request(fake, "b"))) == 2
    async with agent(tmp_path, fake.base_url) as b:
        await b.client.load_session(session, b.workspace)
        replayed = calls(b.client.updates[session])
        assert set(replayed) == ids[0] | ids[1]
        assert ["AAA" in str(c["content"]) for c in replayed.values()] == [True, False]
