"""Subagents in the real process: the parent's editor, its deadlines, its kill; and a run with nobody to ask."""

import asyncio
import json
import time

import pytest

from quillback_protocol.outgoing import RemoteError
from support.agent import agent, calls, processes, result_of, texts
from support.cli import Shell
from support.demo_client import demo
from support.fake_model import FakeModel, Hang, Reply, Say, Use
from support.mcp_setup import stdio
from support.play import Desk, by_kind, kill, selected
from support.processes import until
from support.requests import last_request, result_text, results

pytestmark = pytest.mark.anyio


def hand_over(*tokens: str, **more: object) -> list[Use]:
    return [Use("subagent", {"task": f"[[{token}]] look into it", **more}) for token in tokens]


def subagent_calls(turn):
    return [c for c in calls(turn.updates).values() if c.get("name") == "subagent"]


async def test_a_task_is_worked_on_beside_the_conversation(tmp_path, fake: FakeModel):
    (use,) = hand_over("kid")
    fake.script("boss", Reply(Say("I ask."), use), Reply(Say("All known.")))
    fake.script("kid", Reply(Say("Looking."), Use("read_file", {"path": "a.txt"})), Reply(Say("It says hello.")))
    async with agent(tmp_path, fake.base_url) as a:
        (a.workspace / "a.txt").write_text("hello\n")
        session = await a.session()
        turn = await a.client.prompt(session, "[[boss]] go")
        assert (turn.stop_reason, turn.text) == ("end_turn", "I ask.All known.")
        assert a.asked == []
        (call,) = calls(turn.updates).values()
        assert call["seen"] == ["pending", "in_progress", "completed"]
        assert call["title"] == "Subagent: [[kid]] look into it"
        assert "[x] Read a.txt" in result_of(call)
        assert "It says hello." in result_of(call)
        child = call["rawOutput"]["sessionId"]
        assert [s["sessionId"] for s in (await a.client.request("session/list", {}))["sessions"]] == [session]
        body = last_request(fake, "kid")
        offered = {t["name"] for t in body["tools"]}
        assert {"read_file", "edit_file", "shell", "todo_write"} <= offered
        assert not offered & {"subagent", "ask_user"}
        assert "hello" in result_text(next(iter(results(body).values())))
        answer = result_text(results(last_request(fake, "boss"))[use.id])
        assert answer.startswith("It says hello.")
        assert child in answer
        exported = Shell(tmp_path)("sessions", "export", child, "--format", "json")
        assert exported.returncode == 0, exported.stderr
        assert "It says hello." in exported.stdout
        listed = Shell(tmp_path)("sessions", "list", "--json", "--all")
        assert [s["id"] for s in json.loads(listed.stdout)] == [session]
        listed = Shell(tmp_path)("sessions", "list", "--json", "--all", "--subagents")
        assert {s["id"] for s in json.loads(listed.stdout)} == {session, child}
        await a.client.request("session/delete", {"sessionId": session})
        gone = Shell(tmp_path)("sessions", "show", child)
        assert gone.returncode != 0
    assert fake.violations == []


async def test_its_questions_reach_the_parents_editor_and_say_whose_they_are(tmp_path, fake: FakeModel):
    (use,) = hand_over("kid")
    fake.script("boss", Reply(use), Reply(Say("done")))
    one, two = Use("shell", {"command": "touch one.txt"}), Use("shell", {"command": "touch two.txt"})
    fake.script("kid", Reply(one), Reply(two), Reply(Say("half done")))
    async with agent(tmp_path, fake.base_url) as a:
        session = await a.session()
        desk = Desk(a, by_kind("allow_once"), by_kind("reject_once"))
        turn = await a.client.prompt(session, "[[boss]] go")
        assert turn.stop_reason == "end_turn"
        assert [q["sessionId"] for q in desk.asked] == [session, session]
        assert all(q["toolCall"]["title"].startswith("Subagent: touch ") for q in desk.asked)
        assert all("a subagent wants it" in str(q["toolCall"]["content"]) for q in desk.asked)
        found = calls(turn.updates)
        assert [found[q["toolCall"]["toolCallId"]]["seen"] for q in desk.asked] == [
            ["pending", "completed"],
            ["pending", "failed"],
        ]
        assert {p.name for p in a.workspace.iterdir()} == {"one.txt"}
        told = results(last_request(fake, "kid"))
        assert "The user rejected this call" in result_text(told[two.id])
        assert "half done" in result_text(results(last_request(fake, "boss"))[use.id])


async def test_a_question_answered_with_cancelled_cancels_the_turn(tmp_path, fake: FakeModel):
    fake.script("boss", Reply(*hand_over("kid")))
    fake.script("kid", Reply(Use("shell", {"command": "touch one.txt"})))
    async with agent(tmp_path, fake.base_url) as a:
        session = await a.session()
        Desk(a, {"outcome": {"outcome": "cancelled"}})
        turn = await a.client.prompt(session, "[[boss]] go")
        assert turn.stop_reason == "cancelled"
        assert not (a.workspace / "one.txt").exists()


async def test_a_run_with_nobody_to_ask_ends(tmp_path, fake: FakeModel):
    fake.script("boss", Reply(*hand_over("kid")), Reply(Say("so be it")))
    fake.script("kid", Reply(Use("shell", {"command": "touch one.txt"})), Reply(Say("not allowed to")))
    shell = Shell(tmp_path)
    shell.workspace.mkdir()
    env = {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": fake.base_url}
    ran = await asyncio.to_thread(shell, "run", "[[boss]] go", env=env)
    assert ran.returncode == 1
    assert "so be it" in ran.stdout
    assert not (shell.workspace / "one.txt").exists()
    told = next(iter(results(last_request(fake, "kid")).values()))
    assert "nobody was there to ask" in result_text(told)


async def test_a_cancel_ends_subagents_and_what_they_started(tmp_path, fake: FakeModel):
    fake.script("boss", Reply(*hand_over("kid", "talker")), Reply(Say("never")))
    fake.script("kid", Reply(Use("shell", {"command": "sleep 601.3"})))
    fake.script("talker", Reply(Say("words "), Hang()))
    async with agent(tmp_path, fake.base_url, env={"QUILLBACK_MODE": "auto"}) as a:
        session = await a.session()
        turn = await a.client.start_prompt(session, "[[boss]] go")
        assert await until(lambda: processes("601.3"), 10)
        await turn.until(lambda u: "words" in str(u.get("content")))
        begun = time.monotonic()
        a.client.cancel(session)
        await turn.finished()
        assert time.monotonic() - begun < 5.0  # one second is promised; slack for a busy machine
        assert turn.stop_reason == "cancelled"
        assert [c["seen"][-1] for c in calls(turn.updates).values()] == ["failed", "failed"]
        assert await until(lambda: not processes("601.3"))
        fake.script("b", Reply(Say("next")))
        assert (await a.client.prompt(session, "[[b]]")).stop_reason == "end_turn"
        listed = Shell(tmp_path)("sessions", "list", "--json", "--all", "--subagents")
        assert len(json.loads(listed.stdout)) == 3


async def test_four_work_side_by_side_and_more_wait(tmp_path, fake: FakeModel):
    names = [f"kid{n}" for n in range(6)]
    fake.script("boss", Reply(*hand_over(*names)), Reply(Say("done")))
    for name in names:
        command = f"touch began-{name}; until [ -e go ]; do sleep 0.02; done"
        fake.script(name, Reply(Use("shell", {"command": command})), Reply(Say(f"I am {name}")))
    async with agent(tmp_path, fake.base_url, env={"QUILLBACK_MODE": "auto"}) as a:
        turn = await a.client.start_prompt(await a.session(), "[[boss]] go")
        for _ in range(2):
            await turn.until(lambda u: "Waiting: 4 subagents" in str(u.get("content")))
        assert await until(lambda: len(list(a.workspace.glob("began-*"))) == 4, 20)
        (a.workspace / "go").touch()
        await turn.finished()
        assert len(list(a.workspace.glob("began-*"))) == 6
        shown = [result_of(c) for c in subagent_calls(turn)]
    answers = [result_text(r) for r in results(last_request(fake, "boss")).values()]
    for name, text, answer in zip(names, shown, answers, strict=True):
        assert f"I am {name}" in text
        assert answer.startswith(f"I am {name}")


async def test_background_jobs_of_a_subagent_end_with_it(tmp_path, fake: FakeModel):
    fake.script("boss", Reply(*hand_over("kid")), Reply(Say("done")))
    job = Use("shell", {"command": "sleep 602.3", "background": True})
    fake.script("kid", Reply(job), Reply(Say("started it")))
    async with agent(tmp_path, fake.base_url, env={"QUILLBACK_MODE": "auto"}) as a:
        session = await a.session()
        turn = await a.client.prompt(session, "[[boss]] go")
        assert turn.stop_reason == "end_turn"
        assert "Started job_1" in result_text(results(last_request(fake, "kid"))[job.id])
        assert await until(lambda: not processes("602.3"))


async def test_a_kill_leaves_both_sessions_interrupted(tmp_path, fake: FakeModel):
    fake.script("boss", Reply(Say("I ask."), *hand_over("kid")))
    fake.script("kid", Reply(Say("said so far"), Hang()))
    async with agent(tmp_path, fake.base_url, polite=False) as a:
        session = await a.session()
        turn = await a.client.start_prompt(session, "[[boss]] go")
        await turn.until(lambda u: "said so far" in str(u.get("content")))
        await asyncio.sleep(0.25)  # what is on disk after fifty milliseconds, with slack
        await kill(a, turn)
    listed = Shell(tmp_path)("sessions", "list", "--json", "--all", "--subagents")
    (child,) = [s["id"] for s in json.loads(listed.stdout) if s["id"] != session]
    fake.script("again", Reply(Say("going on")))
    fake.script("kid2", Reply(Say("as well")))
    async with agent(tmp_path, fake.base_url) as b:
        for one in (session, child):
            await b.client.request("session/load", {"sessionId": one, "cwd": str(b.workspace), "mcpServers": []})
        (call,) = calls(b.client.updates[session]).values()
        assert call["seen"][-1] == "failed"
        assert "interrupted" in result_of(call)
        assert "said so far" in "".join(texts(b.client.updates[child]).values())
        assert (await b.client.prompt(session, "[[again]]")).text == "going on"
        assert (await b.client.prompt(child, "[[kid2]]")).text == "as well"
    assert fake.violations == []


async def test_a_session_in_which_a_subagent_works_is_left_to_it(tmp_path, fake: FakeModel):
    fake.script("boss", Reply(*hand_over("kid")), Reply(Say("done")))
    fake.script("kid", Reply(Use("shell", {"command": "until [ -e go ]; do sleep 0.02; done"})), Reply(Say("ready")))
    async with agent(tmp_path, fake.base_url, env={"QUILLBACK_MODE": "auto"}) as a:
        session = await a.session()
        turn = await a.client.start_prompt(session, "[[boss]] go")
        await turn.until(lambda u: "[>]" in str(u.get("content")))
        listed = Shell(tmp_path)("sessions", "list", "--json", "--all", "--subagents")
        (child,) = [s["id"] for s in json.loads(listed.stdout) if s["id"] != session]
        with pytest.raises(RemoteError, match="subagent"):
            await a.client.request("session/load", {"sessionId": child, "cwd": str(a.workspace), "mcpServers": []})
        with pytest.raises(RemoteError, match="subagent"):
            await a.client.request("session/delete", {"sessionId": child})
        (a.workspace / "go").touch()
        await turn.finished()
        assert turn.text == "done"


async def test_a_change_of_mode_holds_for_running_subagents(tmp_path, fake: FakeModel):
    (use,) = hand_over("kid")
    fake.script("boss", Reply(use), Reply(Say("done")))
    wait = Use("shell", {"command": "until [ -e go ]; do sleep 0.02; done"})
    late = Use("shell", {"command": "touch late.txt"})
    fake.script("kid", Reply(wait), Reply(late), Reply(Say("ready")))
    async with agent(tmp_path, fake.base_url, env={"QUILLBACK_MODE": "auto"}) as a:
        session = await a.session()
        turn = await a.client.start_prompt(session, "[[boss]] go")
        await turn.until(lambda u: "[>]" in str(u.get("content")))
        await a.client.request("session/set_mode", {"sessionId": session, "modeId": "chat"})
        (a.workspace / "go").touch()
        await turn.finished()
        assert "chat mode" in result_text(results(last_request(fake, "kid"))[late.id])
        assert not (a.workspace / "late.txt").exists()


async def test_the_editors_tools_and_servers_serve_subagents_too(tmp_path, fake: FakeModel):
    uses = hand_over("kid", tools=["build", "files_echo"])
    fake.script("boss", Reply(*uses), Reply(Say("done")))
    build, echo = Use("build", {"target": "all"}), Use("files_echo", {"q": "hi"})
    fake.script("kid", Reply(build, echo), Reply(Say("built it")))
    server = stdio(tmp_path, "files")
    async with demo(tmp_path, fake.base_url, env={"QUILLBACK_MODE": "auto"}) as (a, editor):
        session = await a.session(mcpServers=[server.setup])
        turn = await a.client.prompt(session, "[[boss]] go")
        assert turn.stop_reason == "end_turn"
        (call,) = editor.calls
        assert call["sessionId"] == session
        assert call["toolCallId"] not in calls(turn.updates)
    body = last_request(fake, "kid")
    assert [t["name"] for t in body["tools"]] == ["build", "files_echo"]
    told = [result_text(r) for r in results(body).values()]
    assert told[0] == "built"
    assert json.loads(told[1]) == {"q": "hi"}
    assert len(server.noted("start")) == 1


async def test_unknown_tools_are_an_error_that_names_those_there_are(tmp_path, fake: FakeModel):
    (use,) = hand_over("kid", tools=["read_file", "subagent", "magic"])
    fake.script("boss", Reply(use), Reply(Say("done")))
    async with agent(tmp_path, fake.base_url) as a:
        turn = await a.client.prompt(await a.session(), "[[boss]] go")
        assert subagent_calls(turn)[0]["seen"][-1] == "failed"
    text = result_text(results(last_request(fake, "boss"))[use.id])
    assert "no tool subagent, magic" in text
    assert "read_file" in text


async def test_its_changes_are_undone_with_the_turn(tmp_path, fake: FakeModel):
    fake.script("boss", Reply(*hand_over("kid")), Reply(Say("done")))
    fake.script("kid", Reply(Use("write_file", {"path": "new.txt", "content": "x"})), Reply(Say("wrote it")))
    async with agent(tmp_path, fake.base_url, env={"QUILLBACK_MODE": "auto"}) as a:
        session = await a.session()
        await a.client.prompt(session, "[[boss]] go")
        assert (a.workspace / "new.txt").exists()
        await a.client.prompt(session, "/undo")
        assert not (a.workspace / "new.txt").exists()


async def test_an_answer_that_was_never_offered_runs_nothing(tmp_path, fake: FakeModel):
    fake.script("boss", Reply(*hand_over("kid")), Reply(Say("done")))
    fake.script("kid", Reply(Use("shell", {"command": "touch one.txt"})), Reply(Say("no")))
    async with agent(tmp_path, fake.base_url) as a:
        Desk(a, selected("proceed"))
        assert (await a.client.prompt(await a.session(), "[[boss]] go")).stop_reason == "end_turn"
        assert not (a.workspace / "one.txt").exists()
