"""Every decision about a call is on record before the call runs: who made it, what each inspector said, and why."""

import pytest

from quillback_protocol.extensions import EXTENSION_METHODS
from quillback_protocol.outgoing import RemoteError
from support.agent import Agent, agent
from support.fake_model import FakeModel, Reply, Say, Use
from support.play import Desk, by_kind, kill, play
from support.processes import until
from support.requests import result_text

pytestmark = pytest.mark.anyio


async def audit(a: Agent, session: str) -> list[dict]:
    return (await a.client.request("_quillback/audit", {"sessionId": session}))["entries"]


def run(line: str) -> Use:
    return Use("shell", {"command": line})


def finding(entry: dict, inspector: str) -> dict:
    return next(f for f in entry["findings"] if f["inspector"] == inspector)


def brief(entries: list[dict]) -> list[tuple[str, str]]:
    return [(e["decision"], e["decidedBy"]) for e in entries]


async def test_our_methods_are_announced(tmp_path):
    async with agent(tmp_path) as a:
        ours = a.initialized["agentCapabilities"]["_meta"]["quillback.dev"]
        assert set(ours["methods"]) >= {name for name in EXTENSION_METHODS if name.startswith("_")}


async def test_each_decision_says_who_made_it(tmp_path, fake: FakeModel):
    async with agent(tmp_path, fake.base_url) as a:
        session = await a.session()
        (a.workspace / "a.txt").write_text("x")
        assert await audit(a, session) == []
        kinds = ("allow_once", "allow_always", "reject_once", "reject_always")
        Desk(a, *map(by_kind, kinds))
        lines = ["echo 1", "echo 2", "echo 2", "echo 3", "echo 4", "echo 4"]
        await play(a, fake, session, Use("read_file", {"path": "a.txt"}), *map(run, lines))
        entries = await audit(a, session)
        assert brief(entries) == [
            ("allow", "inspectors"),
            ("allow", "user"),
            ("allow", "user"),
            ("allow", "rule"),
            ("deny", "user"),
            ("deny", "user"),
            ("deny", "rule"),
        ]
        assert [e["tool"] for e in entries] == ["read_file", *["shell"] * 6]
        assert entries[1]["arguments"] == '{"command": "echo 1"}'
        assert {e["mode"] for e in entries} == {"approve"}
        assert len({e["toolCallId"] for e in entries}) == 7
        assert [e["at"] for e in entries] == sorted(e["at"] for e in entries)
        assert finding(entries[0], "permission")["verdict"] == "allow"
        assert finding(entries[1], "permission")["verdict"] == "ask"
        assert finding(entries[3], "permission")["rule"] == "shell(echo 2)"
        assert "always reject" in finding(entries[6], "permission")["reason"]
        assert all(f["milliseconds"] >= 0 for e in entries for f in e["findings"])


async def test_a_question_that_is_cancelled_is_a_no(tmp_path, fake: FakeModel):
    async with agent(tmp_path, fake.base_url) as a:
        session = await a.session()
        Desk(a, {"outcome": {"outcome": "cancelled"}})
        fake.script("c", Reply(run("touch x")))
        assert (await a.client.prompt(session, "[[c]]")).stop_reason == "cancelled"
        assert brief(await audit(a, session)) == [("deny", "user")]
        assert not (a.workspace / "x").exists()


async def test_chat_mode_and_repetitions_are_on_record(tmp_path, fake: FakeModel):
    async with agent(tmp_path, fake.base_url, env={"QUILLBACK_MODE": "auto"}) as a:
        session = await a.session()
        *_, last = await play(a, fake, session, *(run("echo same") for _ in range(4)))
        assert last["is_error"]
        entries = await audit(a, session)
        assert brief(entries) == [*[("allow", "inspectors")] * 3, ("deny", "inspectors")]
        assert finding(entries[3], "repetition")["reason"] in result_text(last)
        await a.client.request("session/set_mode", {"sessionId": session, "modeId": "chat"})
        (result,) = await play(a, fake, session, run("echo 1"))
        entry = (await audit(a, session))[-1]
        assert (entry["decision"], entry["mode"]) == ("deny", "chat")
        assert finding(entry, "permission")["reason"] == result_text(result)


async def test_it_is_on_disk_before_the_call_runs_and_needs_no_open_session(tmp_path, fake: FakeModel):
    async with agent(tmp_path, fake.base_url) as a:
        session = await a.session()
        fake.script("k", Reply(run("touch begun; sleep 60")))
        turn = await a.client.start_prompt(session, "[[k]]")
        assert await until((a.workspace / "begun").exists)
        await kill(a, turn)
    async with agent(tmp_path, fake.base_url) as b:
        assert brief(await audit(b, session)) == [("allow", "user")]
        with pytest.raises(RemoteError) as unknown:
            await audit(b, "sess_nope")
        assert unknown.value.code == -32002
        await b.client.request("session/delete", {"sessionId": session})
        with pytest.raises(RemoteError):
            await audit(b, session)


# ---------------------------------------------------------------- the small model


def guard(tmp_path, text: str = "tools: shell\nNever touch anything.\n") -> None:
    home = tmp_path / "home" / "quillback"
    home.mkdir(parents=True)
    (home / "adversary.md").write_text(text)


async def test_the_adversary_stops_a_call_and_leaves_no_trace(tmp_path, fake: FakeModel):
    guard(tmp_path)
    async with agent(tmp_path, fake.base_url, env={"QUILLBACK_MODE": "auto"}) as a:
        session = await a.session()
        fake.side_reply = Reply(Say("BLOCK: it touches something"))
        (result,) = await play(a, fake, session, run("touch x"))
        assert result["is_error"]
        assert result_text(result) == "not run: the adversary review blocked it: it touches something"
        assert "declined" not in result_text(result)
        assert not (a.workspace / "x").exists()
        (seen,) = fake.side_requests
        assert "tools" not in seen.body
        assert seen.body["model"] == "claude-haiku-5-5"
        assert len(seen.body["messages"]) == 1
        assert "Never touch anything." in str(seen.body["system"])
        assert "Never touch anything." not in str([r.body for r in fake.requests])
        entry = (await audit(a, session))[0]
        assert brief([entry]) == [("deny", "inspectors")]
        assert finding(entry, "adversary")["verdict"] == "deny"
        assert finding(entry, "permission")["verdict"] == "allow"
        assert not any("Never touch" in str(u) for u in a.client.updates[session])


@pytest.mark.parametrize(
    "reply",
    [
        Reply(Say("ok")),
        Reply(Say("> ALLOW")),
        Reply(Say("ALLOW"), Use("shell", {"command": "touch y"})),
        Reply(status=500),
    ],
    ids=["junk", "quoted", "tool_use", "error"],
)
async def test_no_clear_answer_is_a_question_even_in_auto_mode(tmp_path, fake: FakeModel, reply: Reply):
    """X09"""
    guard(tmp_path)
    async with agent(tmp_path, fake.base_url, env={"QUILLBACK_MODE": "auto"}) as a:
        session = await a.session()
        desk = Desk(a)
        fake.side_reply = reply
        (result,) = await play(a, fake, session, run("touch x; echo ALLOW"))
        assert result["is_error"]
        assert "review" in str(desk.asked[0]["toolCall"]["content"])
        assert {p.name for p in a.workspace.iterdir()} == set()


async def test_in_smart_mode_a_clear_yes_saves_the_question(tmp_path, fake: FakeModel):
    async with agent(tmp_path, fake.base_url) as a:
        session = await a.session()
        modes = await a.client.request("session/set_mode", {"sessionId": session, "modeId": "smart"})
        assert modes is not None
        desk = Desk(a)
        fake.side_reply = Reply(Say("YES"))
        (result,) = await play(a, fake, session, run("echo hello"))
        assert "hello" in result_text(result)
        fake.side_reply = Reply(Say("NO"))
        for _ in range(2):
            (result,) = await play(a, fake, session, run("touch x"))
            assert result["is_error"]
        assert len(desk.asked) == 2
        assert len(fake.side_requests) == 2  # a no is remembered
        assert brief(await audit(a, session)) == [("allow", "inspectors"), ("deny", "user"), ("deny", "user")]


async def test_configured_rules_hold(tmp_path, fake: FakeModel):
    home = tmp_path / "home" / "quillback"
    home.mkdir(parents=True)
    (home / "config.toml").write_text(
        'allow = ["shell(echo:*)", "write_file(notes/**)"]\nask = ["shell(echo ask)"]\ndeny = ["shell(rm:*)"]\n'
    )
    async with agent(tmp_path, fake.base_url) as a:
        session = await a.session()
        desk = Desk(a)
        uses = [
            *map(run, ("echo a", "echo a; rm x", "echo ask")),
            Use("write_file", {"path": "notes/n", "content": ""}),
        ]
        allowed, denied, asked, written = await play(a, fake, session, *uses)
        assert [r.get("is_error", False) for r in (allowed, denied, asked, written)] == [False, True, True, False]
        assert result_text(denied) == "not run: the configuration denies shell(rm:*)"
        assert [q["toolCall"]["title"] for q in desk.asked] == ["echo ask"]
        assert [o["kind"] for o in desk.asked[0]["options"]] == ["allow_once", "reject_once"]
        by = ("allow", "rule"), ("deny", "rule"), ("deny", "user"), ("allow", "rule")
        assert brief(await audit(a, session)) == list(by)
