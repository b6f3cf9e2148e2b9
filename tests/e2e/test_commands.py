"""Slash commands with the real process: advertised behind the answer that opens a session, and run by a prompt."""

import asyncio
import json
from pathlib import Path

import pytest

from support.agent import agent, scripted
from support.cli import Shell
from support.fake_model import FakeModel, Reply, Say, Use
from support.mcp_setup import stdio
from support.processes import until
from support.requests import last_request

pytestmark = pytest.mark.anyio
KIND = "available_commands_update"
BUILT_IN = ["help", "compact", "clear", "goal", "grind", "mode", "model", "undo", "fork", "cost", "audit", "doctor"]


def lists(a, session) -> list[dict]:
    """The lists that were sent, each as commands by name."""
    updates = [u for u in a.client.updates.get(session, []) if u["sessionUpdate"] == KIND]
    return [{c["name"]: c for c in u["availableCommands"]} for u in updates]


async def listed(a, session, name: str = "help", count: int = 1) -> dict:
    """The newest list, once there are `count` and the newest has `name`."""

    def newest() -> dict | None:
        found = lists(a, session)
        return found[-1] if len(found) >= count and name in found[-1] else None

    return await a.client.wait_for(newest)


def kinds(a) -> list[str]:
    """What came, in order: kinds of updates, and `answer` for answers."""
    came = [message for direction, message in a.client.log if direction == "<-"]
    return [m["params"]["update"]["sessionUpdate"] if "method" in m else "answer" for m in came]


def trusting(tmp_path: Path, workspace: Path) -> None:
    done = Shell(tmp_path)("trust", str(workspace), "--yes")
    assert done.returncode == 0, done.stderr


async def test_the_list_comes_behind_the_answer_of_each_way_to_open_a_session(tmp_path, fake: FakeModel):
    fake.script("a", Reply(Say("hello")))
    async with agent(tmp_path, fake.base_url) as a:
        session = await a.session()
        commands = await listed(a, session)
        assert list(commands) == BUILT_IN
        assert commands["mode"]["input"] == {"hint": "[mode]"}
        assert "input" not in commands["clear"]
        assert kinds(a)[-2:] == ["answer", KIND]
        await a.client.prompt(session, "[[a]]")
    async with agent(tmp_path, fake.base_url) as a:
        await a.client.load_session(session, a.workspace)
        await listed(a, session)
        assert kinds(a)[-2:] == ["answer", KIND]
        assert "user_message_chunk" in kinds(a)
        await a.client.load_session(session, a.workspace)
        await listed(a, session, count=2)
        assert kinds(a)[-2:] == ["answer", KIND]
        await a.client.request("session/close", {"sessionId": session})
    async with agent(tmp_path, fake.base_url) as a:
        await a.client.request("session/resume", {"sessionId": session, "cwd": str(a.workspace), "mcpServers": []})
        await listed(a, session)
        assert kinds(a)[-2:] == ["answer", KIND]


async def test_a_prompt_that_comes_at_once_finds_the_list_before_its_own_updates(tmp_path, fake: FakeModel):
    fake.script("a", Reply(Say("hello ")), Reply(Say("again")))
    async with agent(tmp_path, fake.base_url) as a:
        session = await a.session()
        turns = [await a.client.start_prompt(session, "[[a]]") for _ in range(2)]
        for turn in turns:
            await turn.finished()
        came = kinds(a)
        assert came[came.index(KIND) - 1] == "answer"
        assert came.index(KIND) < came.index("agent_message_chunk")
        assert came.count(KIND) == 1


async def test_a_built_in_command_answers_the_user_and_asks_no_model(tmp_path, fake: FakeModel):
    fake.script("a", Reply(Say("hello")))
    async with agent(tmp_path, fake.base_url) as a:
        session = await a.session()
        for line, said in (
            ("/help", "**Commands**"),
            ("/cost", "This session has cost $0.0000."),
            ("/goal", "`/goal TEXT` starts"),
            ("/audit", "Nothing has been decided"),
            ("/undo", "nothing to undo"),
            ("/mode yolo", "There is no mode `yolo`."),
            ("/hlep", "Did you mean `/help`?"),
            ("/audit -1", "takes a number"),
        ):
            turn = await a.client.prompt(session, line)
            assert turn.stop_reason == "end_turn", line
            assert said in turn.text, line
        assert fake.requests == []
        await a.client.prompt(session, "[[a]] hi")
        sent = json.dumps(last_request(fake, "a")["messages"])
        assert "/help" not in sent
        assert "Commands" not in sent


async def test_the_model_command_and_the_mode_command_tell_the_client(tmp_path, fake: FakeModel):
    async with agent(tmp_path, fake.base_url) as a:
        session = await a.session()
        await listed(a, session)
        turn = await a.client.prompt(session, "/mode auto")
        modes = [u["currentModeId"] for u in turn.updates if u["sessionUpdate"] == "current_mode_update"]
        (options,) = [u["configOptions"] for u in turn.updates if u["sessionUpdate"] == "config_option_update"]
        assert modes == ["auto"]
        assert {o["id"]: o["currentValue"] for o in options}["mode"] == "auto"
        turn = await a.client.prompt(session, "/model claude-haiku-5-5")
        (options,) = [u["configOptions"] for u in turn.updates if u["sessionUpdate"] == "config_option_update"]
        assert {o["id"]: o["currentValue"] for o in options}["model"] == "claude-haiku-5-5"


async def test_a_path_and_an_unknown_word_before_a_sentence_are_prompts(tmp_path, fake: FakeModel):
    fake.script("a", *[Reply(Say("well"))] * 3)
    async with agent(tmp_path, fake.base_url) as a:
        session = await a.session()
        for prompt in ("/usr/bin is full [[a]]", "/etc is full [[a]]", "/frobnicate the widgets [[a]]"):
            turn = await a.client.prompt(session, prompt)
            assert turn.text == "well"
            assert prompt in json.dumps(last_request(fake, "a")["messages"][-1])


async def test_a_users_file_is_a_command_from_the_next_prompt_on(tmp_path, fake: FakeModel):
    fake.script("a", Reply(Say("fixed")))
    async with agent(tmp_path, fake.base_url) as a:
        session = await a.session()
        await listed(a, session)
        folder = tmp_path / "home" / "quillback" / "commands"
        folder.mkdir(parents=True)
        (folder / "fix.md").write_text("---\ndescription: Fix it\nargument-hint: <what>\n---\n[[a]] Fix $1 well.")
        (folder / "bad name.md").write_text("x")
        picture = {"type": "resource_link", "uri": "file:///nowhere.txt", "name": "nowhere"}
        turn = await a.client.prompt(session, [{"type": "text", "text": "/fix 'the bug'"}, picture])
        assert turn.text == "fixed"
        said = json.dumps(last_request(fake, "a")["messages"])
        assert "Fix the bug well." in said
        assert "/fix" not in said
        assert "nowhere.txt" in said
        commands = (await listed(a, session, "fix"))["fix"]
        assert commands == {"name": "fix", "description": "Fix it", "input": {"hint": "<what>"}}
        assert any("bad name.md cannot be used" in json.dumps(u) for u in turn.updates)
        (folder / "fix.md").unlink()
        await a.client.prompt(session, "/cost")
        assert "fix" not in lists(a, session)[-1]
    async with agent(tmp_path, fake.base_url) as a:
        await a.client.load_session(session, a.workspace)
        shown = [u for u in a.client.updates[session] if u["sessionUpdate"] == "user_message_chunk"]
        assert {"type": "text", "text": "/fix 'the bug'"} in [u["content"] for u in shown]
        assert "Fix the bug well." not in json.dumps(a.client.updates[session])


async def test_a_projects_files_count_only_as_they_were_trusted(tmp_path, fake: FakeModel):
    fake.script("a", Reply(Say("deployed")))
    folder = tmp_path / "workspace" / ".claude" / "commands"
    folder.mkdir(parents=True)
    (folder / "ship.md").write_text("[[a]] Ship it.")
    (tmp_path / "home").mkdir()
    async with agent(tmp_path, fake.base_url) as a:
        session = await a.session()
        assert "ship" not in await listed(a, session)
        for prompt in ("/ship", "/ship it [[a]]"):
            turn = await a.client.prompt(session, prompt)
            assert "`.claude/commands/ship.md` is a file of this project, and you do not trust" in turn.text
            assert f"`quillback trust {a.workspace}`" in turn.text
            assert turn.result["_meta"]["quillback.dev"]["refused"] is True
        assert fake.requests == []
        told = a.client.updates[session]
        assert any("add slash commands: .claude/commands/ship.md" in json.dumps(u) for u in told)
        trusting(tmp_path, a.workspace)
        turn = await a.client.prompt(session, "/ship")
        assert (turn.text, "refused" in turn.result["_meta"]["quillback.dev"]) == ("deployed", False)
        await listed(a, session, "ship")
        (folder / "ship.md").write_text("Something else.")
        turn = await a.client.prompt(session, "/ship")
        assert "you do not trust the project as it is now" in turn.text
        assert "ship" not in lists(a, session)[-1]


async def test_a_projects_command_asks_for_trust_where_the_user_can_be_asked(tmp_path, fake: FakeModel):
    fake.script("a", Reply(Say("deployed")))
    folder = tmp_path / "workspace" / ".quillback" / "commands"
    folder.mkdir(parents=True)
    (folder / "ship.md").write_text("[[a]] Ship it.")
    asked = []

    async def agree(params):
        asked.append(params)
        field, about = next(iter(params["requestedSchema"]["properties"].items()))
        choices = about.get("enum") or [choice["const"] for choice in about["oneOf"]]
        return {"action": "accept", "content": {field: choices[0]}}

    async with agent(tmp_path, fake.base_url, capabilities={"elicitation": {"form": {}}}) as a:
        a.client.on_request("elicitation/create", agree)
        session = await a.session()
        assert "ship" not in await listed(a, session)
        assert (await a.client.prompt(session, "/ship")).text == "deployed"
        await listed(a, session, "ship")
    assert len(asked) == 1
    assert "add slash commands: .quillback/commands/ship.md" in asked[0]["message"]


async def test_an_mcp_prompt_arrives_between_turns_and_is_run(tmp_path, fake: FakeModel):
    fake.script("files", Reply(Say("reviewed")))
    async with agent(tmp_path, fake.base_url) as a:
        session = await a.session(mcpServers=[stdio(tmp_path, "files", "prompts").setup])
        commands = await listed(a, session, "files:review")
        assert commands["files:review"] == {
            "name": "files:review",
            "description": "Review a file",
            "input": {"hint": "<path> [focus]"},
        }
        turn = await a.client.prompt(session, "/files:review")
        assert "It needs:\n- `path`: which file" in turn.text
        fake.script("x", Reply(Say("reviewed")))
        turn = await a.client.prompt(session, "/files:review [[x]] the tests")
        assert turn.text == "reviewed"
        assert "Review [[x]], above all the tests." in json.dumps(last_request(fake, "x")["messages"][-1])
        turn = await a.client.prompt(session, "/files:refuse")
        assert "`/files:refuse` failed: files answered with an error: not today" in turn.text


async def test_a_prompt_of_a_server_that_is_still_starting_is_waited_for(tmp_path, fake: FakeModel):
    fake.script("x", Reply(Say("reviewed")))
    async with agent(tmp_path, fake.base_url) as a:
        session = await a.session(mcpServers=[stdio(tmp_path, "files", "prompts").setup])
        assert (await a.client.prompt(session, "/files:review [[x]]")).text == "reviewed"


async def test_prompts_that_change_in_a_turn_are_told_at_a_break(tmp_path, fake: FakeModel):
    words = "word " * 100
    fake.script("a", Reply(Say(words, 100), Use("files_grow_prompts", {"q": "fresh"})), Reply(Say(words, 100, 0.005)))
    async with agent(tmp_path, fake.base_url, env={"QUILLBACK_MODE": "auto"}) as a:
        session = await a.session(mcpServers=[stdio(tmp_path, "files", "late").setup])
        await listed(a, session)
        turn = await a.client.prompt(session, "[[a]]")
        await listed(a, session, "files:fresh")
        told = [u["sessionUpdate"] for u in turn.updates]
        if KIND in told:
            assert told[told.index(KIND) - 1] != "agent_message_chunk"


async def test_a_cancel_ends_a_command_that_waits(tmp_path, fake: FakeModel):
    files = stdio(tmp_path, "files", "prompts")
    async with agent(tmp_path, fake.base_url) as a:
        session = await a.session(mcpServers=[files.setup])
        await listed(a, session, "files:wait")
        turn = await a.client.start_prompt(session, "/files:wait")
        assert await until(lambda: "wait" in files.noted("prompt"), 10)
        a.client.cancel(session)
        async with asyncio.timeout(3):
            await turn.finished()
        assert turn.stop_reason == "cancelled"
        assert "This session has cost" in (await a.client.prompt(session, "/cost")).text


async def test_nothing_is_told_of_a_closed_session(tmp_path, fake: FakeModel):
    async with agent(tmp_path, fake.base_url) as a:
        session = await a.session(mcpServers=[stdio(tmp_path, "files", "prompts").setup])
        await listed(a, session, "files:review")
        told = len(lists(a, session))
        await a.client.request("session/close", {"sessionId": session})
        other = await a.session()
        await listed(a, other)
        assert len(lists(a, session)) == told


async def test_doctor_tells_no_secret(tmp_path):
    env = scripted(tmp_path, "text: hi")
    async with agent(tmp_path, env=env) as a:
        session = await a.session()
        text = (await a.client.prompt(session, "/doctor")).text
        assert text.startswith("Nothing to mend.")
        assert "- **credentials**: none needed" in text
        assert "SECRET" not in text


def test_the_command_line_runs_commands_too(tmp_path):
    (tmp_path / "workspace").mkdir()
    done = Shell(tmp_path)("run", "/help", env={"QUILLBACK_MODEL": "scripted:echo"})
    assert done.returncode == 0
    assert "/compact" in done.stdout
