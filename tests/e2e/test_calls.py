"""T11 T13: calls the model should not have made, calls side by side, and models that do not stop."""

import pytest

from support.agent import agent, calls
from support.fake_model import FakeModel, Reply, Say, Use
from support.play import play
from support.requests import blocks, last_request, result_text, results

pytestmark = pytest.mark.anyio
AUTO = {"QUILLBACK_MODE": "auto"}


def touch(name: str) -> Use:
    return Use("shell", {"command": f"touch {name}"})


async def test_unknown_tools_are_named_and_their_neighbours_run(tmp_path, fake: FakeModel):
    async with agent(tmp_path, fake.base_url) as a:
        session = await a.session()
        (a.workspace / "v.txt").write_text("VALID\n")
        for name in ("no_such", "", "Read_File", "read file", "x" * 200, "naïve", "shell;ls"):
            unknown, valid = await play(
                a, fake, session, Use(name, {"path": "v.txt"}), Use("read_file", {"path": "v.txt"}), together=True
            )
            assert unknown["is_error"], name
            assert all(known in result_text(unknown) for known in ("read_file", "write_file", "shell")), name
            assert "VALID" in result_text(valid), name
        states = [c["seen"][-1] for c in calls(a.client.updates[session]).values()]
        assert states == ["failed", "completed"] * 7
        assert all(u.get("title") != "" for u in a.client.updates[session])


@pytest.mark.parametrize("name", ["no_such", ""])
async def test_a_model_that_calls_an_unknown_tool_for_ever_is_stopped(tmp_path, fake: FakeModel, name):
    fake.script("a", *[Reply(Use(name, {})) for _ in range(50)])
    fake.script("b", Reply(Say("still here")))
    async with agent(tmp_path, fake.base_url) as a:
        session = await a.session()
        turn = await a.client.prompt(session, "[[a]]")
        assert turn.stop_reason == "max_turn_requests"
        assert len(fake.requests) < 15
        assert "repeat" in turn.text.lower()
        assert (await a.client.prompt(session, "[[b]]")).text.strip() == "still here"


async def test_results_of_one_reply_come_together_and_in_order(tmp_path, fake: FakeModel):
    slow = Use("shell", {"command": "sleep 0.5; echo slow"}, id="toolu_1")
    fast = Use("read_file", {"path": "f.txt"}, id="toolu_2")
    missing = Use("read_file", {"path": "gone.txt"}, id="toolu_3")
    unknown = Use("no_such", {}, id="toolu_4")
    fake.script("a", Reply(Say("four at once"), slow, fast, missing, unknown), Reply(Say("done")))
    async with agent(tmp_path, fake.base_url, env=AUTO) as a:
        (a.workspace / "f.txt").write_text("content\n")
        turn = await a.client.prompt(await a.session(), "[[a]]")
    messages = last_request(fake, "a")["messages"]
    holding = [m for m in messages if any(b["type"] == "tool_result" for b in blocks({"messages": [m]}, m["role"]))]
    assert len(holding) == 1
    parts = holding[0]["content"]
    assert [p["type"] for p in parts[:4]] == ["tool_result"] * 4
    assert [p["tool_use_id"] for p in parts[:4]] == ["toolu_1", "toolu_2", "toolu_3", "toolu_4"]
    assert [p.get("is_error", False) for p in parts[:4]] == [False, False, True, True]
    ended = [u["toolCallId"] for u in turn.updates if u.get("status") in ("completed", "failed")]
    assert ended[-1] == next(iter(calls(turn.updates)))  # each was shown when it was there, the slow one last


async def test_input_that_does_not_fit_never_runs(tmp_path, fake: FakeModel):
    wrong = {
        "missing": Use("shell", {}),
        "null": Use("shell", {"command": None}),
        "wrong type": Use("shell", {"command": ["touch a.txt"]}),
        "unknown parameter": Use("shell", {"command": "touch a.txt", "cwd": "/"}),
        "wrong type beside": Use("shell", {"command": "touch a.txt", "timeout": "soon"}),
        "below the minimum": Use("read_file", {"path": "v.txt", "line": 0}),
        "broken JSON": Use("shell", raw='{"command": "touch a.txt"'),
        "text around JSON": Use("shell", raw='here: {"command": "touch a.txt"}'),
        "a list": Use("shell", raw='["touch a.txt"]'),
        "a string": Use("shell", raw='"touch a.txt"'),
        "not a number": Use("shell", raw='{"command": "touch a.txt", "timeout": NaN}'),
        "half a character": Use("shell", raw='{"command": "touch a.txt \\ud83d"}'),
        "not an enum": Use("todo_write", {"items": [{"content": "x", "status": "doing"}]}),
    }
    async with agent(tmp_path, fake.base_url, env=AUTO) as a:
        (a.workspace / "v.txt").write_text("1\n")
        session = await a.session()
        for name, use in wrong.items():
            (outcome,) = await play(a, fake, session, use)
            assert outcome["is_error"], name
            assert len(result_text(outcome)) > 15, name
        assert [p.name for p in a.workspace.iterdir()] == ["v.txt"]
        seen = [c["seen"] for c in calls(a.client.updates[session]).values()]
        assert seen == [["pending", "failed"]] * len(wrong)
    async with agent(tmp_path, fake.base_url) as b:  # what is stored of them makes valid requests, too
        await b.client.load_session(session, b.workspace)
        await play(b, fake, session, Use("read_file", {"path": "v.txt"}))


async def test_the_fourth_identical_call_is_not_run(tmp_path, fake: FakeModel):
    count = Use("shell", {"command": "echo x >> count.txt; echo same"})
    other = Use("shell", {"command": "echo other"})
    async with agent(tmp_path, fake.base_url, env=AUTO) as a:
        session = await a.session()
        again = lambda: Use("shell", dict(count.input))  # noqa: E731
        first = await play(a, fake, session, again(), again(), again(), again(), other, again())
        assert [r.get("is_error", False) for r in first] == [False, False, False, True, False, False]
        assert "same" in result_text(first[3])
        assert (a.workspace / "count.txt").read_text() == "x\n" * 4
        later = await play(a, fake, session, again(), again())  # each prompt counts anew
        assert not any(r.get("is_error") for r in later)
        varied = [Use("shell", {"command": "echo x >> n.txt; wc -l < n.txt"}) for _ in range(6)]
        assert not any(r.get("is_error") for r in await play(a, fake, session, *varied))


async def test_a_model_that_repeats_its_steps_is_stopped(tmp_path, fake: FakeModel):
    async with agent(tmp_path, fake.base_url, env=AUTO) as a:
        for token, steps in {"one": ["echo a"], "mostly": ["echo a", "echo a", "echo b"]}.items():
            replies = [Reply(Use("shell", {"command": steps[n % len(steps)]})) for n in range(60)]
            fake.script(token, *replies)
            turn = await a.client.prompt(await a.session(), f"[[{token}]]")
            assert turn.stop_reason == "max_turn_requests", token
            assert sum(r.token == token for r in fake.requests) < 25
            assert "echo a" in turn.text


async def test_a_turn_has_only_so_many_steps(tmp_path, fake: FakeModel):
    fake.script("a", *[Reply(Use("shell", {"command": f"echo {n}"})) for n in range(9)])
    fake.script("b", Reply(Say("went on")))
    async with agent(tmp_path, fake.base_url, env={**AUTO, "QUILLBACK_MAX_STEPS": "3"}) as a:
        session = await a.session()
        turn = await a.client.prompt(session, "[[a]]")
        assert turn.stop_reason == "max_turn_requests"
        assert "3" in turn.text
        assert len(fake.requests) == 3
        assert [c["seen"][-1] for c in calls(turn.updates).values()] == ["completed"] * 3
        assert (await a.client.prompt(session, "[[b]]")).stop_reason == "end_turn"
        assert len(results(last_request(fake, "b"))) == 3


async def test_the_plan_is_shown_as_it_changes(tmp_path, fake: FakeModel):
    items = [{"content": "read", "status": "completed"}, {"content": "write", "status": "in_progress"}]
    more = [*items, {"content": "test", "status": "pending", "priority": "high"}]
    async with agent(tmp_path, fake.base_url) as a:
        session = await a.session()
        await play(a, fake, session, *(Use("todo_write", {"items": i}) for i in (items, more, [])))
        plans = [u["entries"] for u in a.client.updates[session] if u["sessionUpdate"] == "plan"]
        assert plans[0] == [i | {"priority": "medium"} for i in items]
        assert plans[1][2] == {"content": "test", "status": "pending", "priority": "high"}
        assert plans[2:] == [[]]
        assert a.asked == []
