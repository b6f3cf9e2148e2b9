"""Hooks with the real process: files of the user and of a trusted project, from the command to the editor."""

import json
from pathlib import Path
from typing import Any

import pytest

from support.agent import Agent, agent, calls, result_of, scripted, texts
from support.cli import Shell
from support.fake_model import FakeModel, Reply, Say, Use
from support.hooks import decide, hook_file, say
from support.mcp_setup import stdio
from support.play import play
from support.processes import running, until
from support.requests import last_request, result_text
from support.requests import results as results_in

pytestmark = pytest.mark.anyio


def model(*calls_of_steps: tuple[str, dict[str, Any]]) -> str:
    """A script: one call a step, then a word."""
    return "\n---\n".join([*(f"call: {name} {json.dumps(given)}" for name, given in calls_of_steps), "text: done"])


def user_hooks(tmp_path: Path, **points: list) -> None:
    hook_file(tmp_path / "home/quillback/hooks.json", **points)


async def results(a: Agent, session: str) -> list[dict[str, Any]]:
    turn = await a.client.prompt(session, "go")
    assert turn.stop_reason == "end_turn"
    return list(calls(turn.updates).values())


async def said(a: Agent, session: str, prompt: str = "go") -> str:
    """All that the user was told in a turn, notices included."""
    turn = await a.client.prompt(session, prompt)
    assert turn.stop_reason == "end_turn"
    return "\n".join([*texts(turn.updates).values(), *texts(turn.updates, "agent_thought_chunk").values()])


async def test_no_push_and_a_format_after_each_change(tmp_path):
    read = "import json, sys; print(json.load(sys.stdin)['tool_input']['{}'])"
    guard = (
        f"""python3 -c "{read.format("command")}" | grep -q '^git push' && echo 'push by hand' >&2 && exit 2; exit 0"""
    )
    tidy = f"""python3 -c "{read.format("path")}" | xargs sed -i 's/ *$//'"""
    user_hooks(
        tmp_path,
        PreToolUse=[("shell", guard)],
        PostToolUse=[("edit_file|write_file", tidy)],
    )
    script = model(
        ("shell", {"command": "git push --force"}),
        ("shell", {"command": "echo fine"}),
        ("write_file", {"path": "a.txt", "content": "spaces   \n"}),
    )
    async with agent(tmp_path, env={**scripted(tmp_path, script), "QUILLBACK_MODE": "auto"}) as a:
        push, echo, write = await results(a, await a.session())
        assert (push["status"], result_of(push)) == ("failed", "not run: a hook said no: push by hand")
        assert echo["status"] == write["status"] == "completed"
        assert a.asked == []
        assert (a.workspace / "a.txt").read_text() == "spaces\n"


async def test_a_command_that_a_hook_made_dangerous_is_asked_about_and_the_editor_sees_it(tmp_path):
    user_hooks(tmp_path, PreToolUse=[("Bash", decide(updatedInput={"command": "sudo touch x"}))])
    script = model(("shell", {"command": "ls"}))
    async with agent(
        tmp_path, env={**scripted(tmp_path, script), "QUILLBACK_MODE": "auto"}, permissions="reject_once"
    ) as a:
        (call,) = await results(a, await a.session())
        assert a.asked[0]["toolCall"]["rawInput"] == {"command": "sudo touch x"}
        assert (call["status"], call["rawInput"]) == ("failed", {"command": "sudo touch x"})
        assert "A hook changed the arguments" in result_of(call)


async def test_two_hooks_that_disagree_let_nothing_run(tmp_path):
    user_hooks(
        tmp_path,
        PreToolUse=[("", decide(updatedInput={"command": f"touch {name}"})) for name in ("one", "two")],
    )
    script = model(("shell", {"command": "touch three"}))
    async with agent(tmp_path, env={**scripted(tmp_path, script), "QUILLBACK_MODE": "auto"}) as a:
        (call,) = await results(a, await a.session())
        assert "want different arguments" in result_of(call)
        assert list(a.workspace.iterdir()) == []


async def test_hooks_of_a_project_need_trust_and_trust_anew_after_a_change(tmp_path):
    settings = tmp_path / "workspace/.claude/settings.json"
    hook_file(settings, PreToolUse=[("Bash", say(decision="block", reason="guarded"))])
    script = "\n---\n".join([model(("shell", {"command": "echo hello"}))] * 4)
    env = {**scripted(tmp_path, script), "QUILLBACK_MODE": "auto"}
    (tmp_path / "home").mkdir()
    async with agent(tmp_path, env=env) as a:
        session = await a.session()
        (call,) = await results(a, session)
        assert result_of(call) == "hello"
        shell = Shell(tmp_path)
        shown = shell("trust", "--yes")
        assert "run at PreToolUse (Bash): cat" in shown.stdout
        (call,) = await results(a, session)
        assert result_of(call) == "not run: a hook said no: guarded"
        settings.write_text(settings.read_text().replace("guarded", "changed"))
        text = await said(a, session)
        assert ".claude/settings.json changed" in text
        shell("trust", "--yes")
        (call,) = await results(a, session)
        assert "changed" in result_of(call)


async def test_a_bad_file_is_told_and_the_rest_of_it_works(tmp_path):
    user_hooks(tmp_path, Nope=[], PreToolUse=[("[", "true"), ("shell", "echo stop >&2; exit 2")])
    async with agent(tmp_path, env=scripted(tmp_path, model(("shell", {"command": "ls"})))) as a:
        text = await said(a, await a.session())
        assert "hooks.Nope: this moment is not known" in text
        assert "hooks.PreToolUse[0].matcher: '[' is no regular expression" in text
        assert a.asked == []
    doctor = Shell(tmp_path)("doctor")
    assert "1 in " in doctor.stdout
    assert "hooks.Nope: this moment is not known" in doctor.stdout


async def test_the_moments_of_prompts_and_turns(tmp_path):
    seen = tmp_path / "seen"
    note = f"cat >> {seen}; echo >> {seen}"
    stop = f"{note}; [ -e {tmp_path}/stopped ] && exit 0; touch {tmp_path}/stopped; echo 'test it' >&2; exit 2"
    user_hooks(
        tmp_path,
        SessionStart=[("startup", note)],
        UserPromptSubmit=[
            ("", f"{note}; tail -n 1 {seen} | grep -q secret && echo 'no secrets' >&2 && exit 2; exit 0")
        ],
        Stop=[("", stop)],
        TurnCompleted=[("", note)],
        SessionEnd=[("", note)],
    )
    script = "text: one\n---\ntext: two"
    async with agent(tmp_path, env=scripted(tmp_path, script)) as a:
        session = await a.session()
        assert "no secrets" in await said(a, session, "the secret is 42")
        text = await said(a, session)
        assert "one" in text
        assert "two" in text
        assert await until(lambda: seen.read_text().count('"TurnCompleted"') == 2), "nobody waits for their hooks"
    told = [json.loads(line) for line in seen.read_text().splitlines() if line]
    names = [one["hook_event_name"] for one in told]
    assert names.count("Stop") == 2
    assert [one["stop_hook_active"] for one in told if one["hook_event_name"] == "Stop"] == [False, True]
    assert names[0] == "SessionStart"
    assert names[-1] == "SessionEnd"
    assert names.count("TurnCompleted") == 2
    assert {one["session_id"] for one in told} == {session}


@pytest.mark.parametrize("how", ["cancel", "close", "kill"])
async def test_no_hook_outlives_its_end(tmp_path, how):
    mark = f"31{abs(hash(str(tmp_path))) % 100_000}"
    user_hooks(tmp_path, PreToolUse=[("", f"sleep {mark} & sleep {mark}")])
    env = {**scripted(tmp_path, model(("shell", {"command": "ls"}))), "QUILLBACK_MODE": "auto"}
    async with agent(tmp_path, env=env, polite=how != "kill") as a:
        session = await a.session()
        prompt = await a.client.start_prompt(session, "go")
        assert await until(lambda: len(running(f"sleep {mark}")) > 2, 10)
        if how == "kill":
            a.kill()
        elif how == "cancel":
            a.client.cancel(session)
            assert (await prompt.finished()).stop_reason == "cancelled"
        else:
            await a.client.close()
        assert await until(lambda: not running(f"sleep {mark}"), 5)


async def test_tools_of_mcp_servers_have_hooks_under_the_names_of_such_files(tmp_path, fake: FakeModel):
    files = stdio(tmp_path, "files")
    user_hooks(
        tmp_path,
        PreToolUse=[("mcp__files__.*", "cat > told"), ("mcp__other__.*", "exit 2")],
        PostToolUse=[("mcp__files__echo", say(decision="block", reason="too loud"))],
    )
    async with agent(tmp_path, fake.base_url, env={"QUILLBACK_MODE": "auto"}) as a:
        session = await a.session(mcpServers=[files.setup])
        (found,) = await play(a, fake, session, Use("files_echo", {"q": "hi"}))
        assert "hi" in result_text(found)
        assert result_text(found).endswith("A hook objects: too loud")
        told = json.loads((a.workspace / "told").read_text())
        assert (told["tool_name"], told["tool_input"]) == ("mcp__files__echo", {"q": "hi"})


async def test_tools_of_subagents_have_hooks_too(tmp_path, fake: FakeModel):
    user_hooks(tmp_path, PreToolUse=[("shell", say(decision="block", reason="no shell"))])
    fake.script("boss", Reply(Use("subagent", {"task": "[[kid]] look into it"})), Reply(Say("done")))
    use = Use("shell", {"command": "touch made"})
    fake.script("kid", Reply(use), Reply(Say("I could not.")))
    async with agent(tmp_path, fake.base_url, env={"QUILLBACK_MODE": "auto"}) as a:
        turn = await a.client.prompt(await a.session(), "[[boss]] go")
        assert turn.text == "done"
        assert result_text(results_in(last_request(fake, "kid"))[use.id]) == "not run: a hook said no: no shell"
        assert list(a.workspace.iterdir()) == []
