"""P01 P03: who may let a call run, what the question says, and how long an answer holds."""

import asyncio

import pytest

from quillback_protocol.jsonrpc import RpcError
from quillback_protocol.outgoing import RemoteError
from support.agent import Agent, agent, calls
from support.fake_model import FakeModel, Reply, Say, Use
from support.play import Desk, by_kind, play, selected
from support.processes import until
from support.requests import last_request, result_text, results

pytestmark = pytest.mark.anyio

NO_CONSENT = {
    "reject_once": by_kind("reject_once"),
    "never offered": selected("proceed"),
    "the option's name": selected("Allow"),
    "the position": selected(0),
    "the kind in capitals": selected("ALLOW_ONCE"),
    "no option": selected(None),
    "selected alone": {"outcome": {"outcome": "selected"}},
    "option without outcome": {"outcome": {"optionId": "allow_once"}},
    "unknown outcome": {"outcome": {"outcome": "approved", "optionId": "allow_once"}},
    "empty": {},
    "list": [],
    "null": lambda _: None,
    "word": "allow_once",
    "yes": True,
    "error": RpcError(-32603, "the dialog could not be opened"),
    "method not found": RpcError(-32601, "no such method"),
}


def touch(name: str) -> Use:
    return Use("shell", {"command": f"touch {name}"})


def made(a: Agent) -> set[str]:
    return {p.name for p in a.workspace.iterdir()}


async def test_only_an_offered_option_that_allows_runs_the_call(tmp_path, fake: FakeModel):
    async with agent(tmp_path, fake.base_url) as a:
        session = await a.session()
        desk = Desk(a)
        for number, (name, answer) in enumerate(NO_CONSENT.items()):
            desk.answers.append(answer)
            (result,) = await play(a, fake, session, touch(f"{number}.txt"))
            assert result["is_error"], name
            assert made(a) == set(), name
            said_no = "The user rejected this call" in result_text(result)
            assert said_no is (name == "reject_once"), name
            assert said_no or "the user could not be asked for permission" in result_text(result), name
        entries = (await a.client.request("_quillback/audit", {"sessionId": session}))["entries"]
        deciders = [(e["decision"], e["decidedBy"]) for e in entries]
        assert deciders == [("deny", "user" if n == "reject_once" else "inspectors") for n in NO_CONSENT]
        assert len(desk.asked) == len(NO_CONSENT)
        desk.answers.append(by_kind("allow_once"))
        (result,) = await play(a, fake, session, touch("allowed.txt"))
        assert not result.get("is_error")
        assert made(a) == {"allowed.txt"}
        (result,) = await play(a, fake, session, touch("allowed.txt"))  # once is once
        assert result["is_error"]
        assert len(desk.asked) == len(NO_CONSENT) + 2


async def test_one_answer_belongs_to_one_call(tmp_path, fake: FakeModel):
    async with agent(tmp_path, fake.base_url) as a:
        session = await a.session()
        desk = Desk(a)

        def choose(question):
            command = question["toolCall"]["rawInput"]["command"]
            return by_kind("allow_once" if "yes" in command else "reject_once")(question)

        desk.answers.extend([choose] * 4)
        names = ["yes1.txt", "no1.txt", "yes2.txt", "no2.txt"]
        outcomes = await play(a, fake, session, *map(touch, names), together=True)
        assert [r.get("is_error", False) for r in outcomes] == [False, True, False, True]
        assert made(a) == {"yes1.txt", "yes2.txt"}
        assert len({q["toolCall"]["toolCallId"] for q in desk.asked}) == 4


async def test_a_question_shows_what_would_happen(tmp_path, fake: FakeModel):
    async with agent(tmp_path, fake.base_url) as a:
        session = await a.session()
        file, new = a.workspace / "a.txt", a.workspace / "new.txt"
        file.write_text("one\ntwo\n")
        desk = Desk(a)
        await play(
            a,
            fake,
            session,
            Use("read_file", {"path": "a.txt"}),
            Use("edit_file", {"path": "a.txt", "old_text": "two", "new_text": "zwei"}),
            Use("write_file", {"path": "new.txt", "content": "fresh\n"}),
            Use("shell", {"command": "ls -l"}),
        )
        edit, write, command = desk.asked
        for question in desk.asked:
            assert question["sessionId"] == session
            assert [o["kind"] for o in question["options"]] == [
                *("allow_once", "allow_always"),
                *("reject_once", "reject_always"),
            ]
            assert len({o["optionId"] for o in question["options"]}) == 4
            assert all(o["name"].strip() for o in question["options"])
        for question, path, old, text in ((edit, file, "one\ntwo\n", "one\nzwei\n"), (write, new, None, "fresh\n")):
            call = question["toolCall"]
            assert path.name in call["title"]
            assert call["kind"] == "edit"
            assert call["rawInput"]["path"] == path.name
            assert [place["path"] for place in call["locations"]] == [str(path)]
            shown = call["content"][0]
            assert (shown["type"], shown["path"], shown["newText"]) == ("diff", str(path), text)
            assert shown.get("oldText") == old
        call = command["toolCall"]
        assert (call["title"], call["kind"], call["rawInput"]) == ("ls -l", "execute", {"command": "ls -l"})
        updates = a.client.updates[session]
        for question in desk.asked:
            seen = calls(updates)[question["toolCall"]["toolCallId"]]["seen"]
            assert seen == ["pending", "failed"]  # it was announced before, and never ran
        assert made(a) == {"a.txt"}


async def test_a_lost_editor_is_no_consent(tmp_path, fake: FakeModel):
    async with agent(tmp_path, fake.base_url) as a:
        session = await a.session()
        opened = asyncio.Event()

        async def never(params):
            opened.set()
            await asyncio.Event().wait()

        a.client.on_request("session/request_permission", never)
        fake.script("a", Reply(touch("a.txt"), touch("b.txt")), Reply(Say("went on")))
        turn = await a.client.start_prompt(session, "[[a]]")
        await asyncio.wait_for(opened.wait(), 10)
        assert await a.client.close() == 0
        assert (await turn.finished()).stop_reason == "cancelled"
        assert made(a) == set()
    fake.script("b", Reply(Say("next")))
    async with agent(tmp_path, fake.base_url) as b:
        await b.client.load_session(session, b.workspace)
        assert [c["seen"][-1] for c in calls(b.client.updates[session]).values()] == ["failed", "failed"]
        assert (await b.client.prompt(session, "[[b]]")).stop_reason == "end_turn"
        assert made(b) == set()
    assert len(results(last_request(fake, "b"))) == 2


async def test_always_holds_for_this_call_in_this_directory(tmp_path, fake: FakeModel):
    other = tmp_path / "other"
    other.mkdir()
    async with agent(tmp_path, fake.base_url) as a:
        session = await a.session()
        desk = Desk(a, by_kind("allow_always"), by_kind("reject_always"))
        await play(a, fake, session, touch("good.txt"), touch("bad.txt"))
        assert made(a) == {"good.txt"}
        allowed, rejected = await play(a, fake, session, touch("good.txt"), touch("bad.txt"))
        assert (allowed.get("is_error", False), rejected["is_error"]) == (False, True)
        assert len(desk.asked) == 2
        others = ("touch better.txt", "touch good.txt; touch x", "bash -c 'touch good.txt'", "touch good.txt\ntouch x")
        for command in others:
            await play(a, fake, session, Use("shell", {"command": command}))
        assert len(desk.asked) == 2 + len(others)
        assert made(a) == {"good.txt"}
    async with agent(tmp_path, fake.base_url) as b:
        desk = Desk(b)
        (b.workspace / "good.txt").unlink()
        allowed, rejected = await play(b, fake, await b.session(), touch("good.txt"), touch("bad.txt"))
        assert (allowed.get("is_error", False), rejected["is_error"]) == (False, True)
        assert desk.asked == []
        assert made(b) == {"good.txt"}
        await play(b, fake, await b.session(other), touch("good.txt"), touch("bad.txt"))
        assert len(desk.asked) == 2
        assert list(other.iterdir()) == []


async def test_a_change_of_mode_counts_from_the_next_call_on(tmp_path, fake: FakeModel):
    waiting = Use("shell", {"command": "while [ ! -e go ]; do sleep 0.02; done"})
    fake.script("a", Reply(touch("a.txt")), Reply(waiting), Reply(touch("b.txt")), Reply(Say("done")))
    async with agent(tmp_path, fake.base_url) as a:
        session = await a.session()
        asked = []

        async def to_auto(question):
            asked.append(question["toolCall"]["title"])
            if len(asked) == 1:
                await a.client.request("session/set_mode", {"sessionId": session, "modeId": "auto"})
            return by_kind("allow_once" if len(asked) == 1 else "reject_once")(question)

        a.client.on_request("session/request_permission", to_auto)
        turn = await a.client.start_prompt(session, "[[a]]")
        await turn.until(lambda _: [c["seen"][-1] for c in calls(turn.updates).values()][1:] == ["in_progress"])
        asked_before = list(asked)
        option = {"sessionId": session, "configId": "mode", "value": "approve"}
        answer = await a.client.request("session/set_config_option", option)
        assert {o["id"]: o["currentValue"] for o in answer["configOptions"]}["mode"] == "approve"
        (a.workspace / "go").touch()
        await turn.finished()
        assert (asked_before, asked) == (["touch a.txt"], ["touch a.txt", "touch b.txt"])
        assert made(a) == {"a.txt", "go"}
        told = [u["currentModeId"] for u in a.client.updates[session] if u["sessionUpdate"] == "current_mode_update"]
        assert told == ["auto", "approve"]
        with pytest.raises(RemoteError, match="no mode 'yolo'"):
            await a.client.request("session/set_mode", {"sessionId": session, "modeId": "yolo"})


async def test_chat_mode_runs_nothing(tmp_path, fake: FakeModel):
    async with agent(tmp_path, fake.base_url, env={"QUILLBACK_MODE": "chat"}) as a:
        session = await a.session()
        desk = Desk(a)
        (a.workspace / "secret.txt").write_text("content-of-it")
        outcomes = await play(
            a,
            fake,
            session,
            touch("a.txt"),
            Use("read_file", {"path": "secret.txt"}),
            Use("write_file", {"path": "b.txt", "content": "x"}),
        )
        assert all(r["is_error"] and "chat mode" in result_text(r) for r in outcomes)
        assert desk.asked == []
        assert made(a) == {"secret.txt"}


async def test_nothing_outside_the_roots_happens_unasked(tmp_path, fake: FakeModel):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "o.txt").write_text("theirs")
    extra = tmp_path / "extra"
    extra.mkdir()
    (extra / "e.txt").write_text("ours too")
    async with agent(tmp_path, fake.base_url) as a:
        (a.workspace / "link").symlink_to(outside)
        desk = Desk(a)
        for mode in ("approve", "auto"):
            session = await a.session(additionalDirectories=[str(extra)])
            await a.client.request("session/set_mode", {"sessionId": session, "modeId": mode})
            for path in (str(outside / "o.txt"), "link/o.txt", "../outside/o.txt"):
                before = len(desk.asked)
                (result,) = await play(a, fake, session, Use("read_file", {"path": path}))
                assert result["is_error"]
                assert str(outside / "o.txt") in str(desk.asked[before:])
            before = len(desk.asked)
            (result,) = await play(a, fake, session, Use("read_file", {"path": str(extra / "e.txt")}))
            assert "ours too" in result_text(result)
            assert len(desk.asked) == before
        (result,) = await play(a, fake, session, Use("write_file", {"path": "link/new.txt", "content": "x"}))
        assert result["is_error"]
        await play(a, fake, session, Use("write_file", {"path": "in.txt", "content": "x"}))
        assert (made(a), list(outside.iterdir())) == ({"link", "in.txt"}, [outside / "o.txt"])


async def test_a_file_that_changed_while_the_question_was_open_is_kept(tmp_path, fake: FakeModel):
    async with agent(tmp_path, fake.base_url) as a:
        session = await a.session()
        for name in ("w.txt", "e.txt", "gone.txt"):
            (a.workspace / name).write_text("before\n")
        changes = {
            "w.txt": lambda p: p.write_text("theirs\n"),
            "e.txt": lambda p: p.write_text("theirs, before\n"),
            "gone.txt": lambda p: p.unlink(),
            "new.txt": lambda p: p.write_text("theirs, new\n"),
        }

        def meddle(question):
            path = a.workspace / question["toolCall"]["rawInput"]["path"]
            changes[path.name](path)
            return by_kind("allow_once")(question)

        desk = Desk(a, *[meddle] * 4)
        edit = Use("edit_file", {"path": "e.txt", "old_text": "before", "new_text": "mine"})
        writes = [Use("write_file", {"path": n, "content": "mine\n"}) for n in ("w.txt", "gone.txt", "new.txt")]
        reads = [Use("read_file", {"path": n}) for n in ("w.txt", "e.txt", "gone.txt")]
        outcomes = await play(a, fake, session, *reads, edit, *writes)
        assert len(desk.asked) == 4
        assert all(r["is_error"] and "read it again" in result_text(r) for r in outcomes[3:])
        found = {p.name: p.read_text() for p in a.workspace.iterdir()}
        assert found == {"w.txt": "theirs\n", "e.txt": "theirs, before\n", "new.txt": "theirs, new\n"}


async def test_a_rejection_ends_the_turn_when_told_to(tmp_path, fake: FakeModel):
    home = tmp_path / "home" / "quillback"
    home.mkdir(parents=True)
    (home / "config.toml").write_text('on_reject = "stop"\n')
    fake.script("a", Reply(touch("a.txt")))
    async with agent(tmp_path, fake.base_url, permissions="reject_once") as a:
        turn = await a.client.prompt(await a.session(), "[[a]]")
        assert turn.stop_reason == "end_turn"
        assert [c["seen"][-1] for c in calls(turn.updates).values()] == ["failed"]
        assert made(a) == set()
    assert len(fake.requests) == 1
    assert await until(lambda: fake.requests[0].ended.is_set())
