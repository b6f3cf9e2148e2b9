"""Recipes behind an editor: advertised, run with their checks and output, cancelled, and trusted before they count."""

import asyncio
import json
import time
from pathlib import Path

import pytest

from quillback_protocol.outgoing import ConnectionClosedError
from support.agent import Agent, agent, scripted
from support.cli import Shell
from support.processes import running, until

pytestmark = pytest.mark.anyio

KIND = "available_commands_update"
RECIPE = """\
description: Writes a word
instructions: Use few words.
prompt: Write {{ word }} into out.txt.
parameters: [{key: word}]
checks: ["grep -qx {{ word }} out.txt"]
output: {type: object, properties: {word: {type: string}}, required: [word]}
"""
SCRIPT = """\
expect: Write hi into out.txt.
text: I think so.
---
expect: final_output
call: final_output {"word": "bad"}
---
expect: grep -qx hi out.txt
call: write_file {"path": "out.txt", "content": "hi\\n"}
---
call: final_output {"word": "hi"}
---
expect: the second
text: The second prompt.
"""


def put(folder: Path, name: str, text: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)


def own(tmp_path: Path) -> Path:
    return tmp_path / "home/quillback/recipes"


async def advertised(a: Agent, session: str, name: str) -> dict | None:
    """The command `name` of the newest list that holds `/help`."""

    def newest() -> dict | None:
        found = [u for u in a.client.updates.get(session, []) if u["sessionUpdate"] == KIND]
        return {c["name"]: c for c in found[-1]["availableCommands"]} if found else None

    return (await a.client.wait_for(newest)).get(name)


async def test_a_recipe_is_a_command_with_checks_and_an_output(tmp_path):
    put(own(tmp_path), "write-it.yaml", RECIPE)
    async with agent(tmp_path, env=scripted(tmp_path, SCRIPT)) as a:
        session = await a.session()
        command = await advertised(a, session, "write-it")
        assert command == {"name": "write-it", "description": "Writes a word", "input": {"hint": "word=..."}}
        turn = await a.client.prompt(session, "/write-it word=hi")
        assert turn.stop_reason == "end_turn"
        assert (a.workspace / "out.txt").read_text() == "hi\n"
        assert len(a.asked) == 1, "the write; the output and the checks need no permission"
        assert turn.messages[-1] == '{"word":"hi"}'
        assert "Use few words." not in json.dumps(turn.updates)
        assert (await a.client.prompt(session, "the second")).text == "The second prompt."
    async with agent(tmp_path, env=scripted(tmp_path, "text: x")) as a:
        await a.client.load_session(session, a.workspace)
        seen = [u for u in a.client.updates[session] if u["sessionUpdate"] == "user_message_chunk"]
        assert [u["content"]["text"] for u in seen] == ["/write-it word=hi", "the second"]


async def test_wrong_arguments_are_said_and_no_model_is_asked(tmp_path):
    put(own(tmp_path), "write-it.yaml", RECIPE)
    async with agent(tmp_path, env=scripted(tmp_path, "error: 400 nobody should ask")) as a:
        session = await a.session()
        turn = await a.client.prompt(session, "/write-it wrod=hi")
        assert turn.stop_reason == "end_turn"
        assert "wrod: no such parameter; there are: word" in turn.text
        assert "word: missing; add word=..." in turn.text


async def test_cancel_ends_a_check_that_runs(tmp_path):
    put(own(tmp_path), "wait.yaml", "prompt: x\nchecks: ['touch begun; sleep 61.62']")
    async with agent(tmp_path, env=scripted(tmp_path, "text: Done.\n---\ntext: Next.")) as a:
        session = await a.session()
        turn = await a.client.start_prompt(session, "/wait")
        assert await until((a.workspace / "begun").exists, 10)
        before = time.monotonic()
        a.client.cancel(session)
        async with asyncio.timeout(5):
            await turn.finished()
        assert turn.stop_reason == "cancelled"
        assert time.monotonic() - before < 2
        assert await until(lambda: not running("sleep 61.62"), 5)
        assert (await a.client.prompt(session, "on")).text == "Next."


async def test_a_kill_while_checks_run_leaves_a_session_that_goes_on(tmp_path):
    put(own(tmp_path), "wait.yaml", "prompt: Do it.\nchecks: ['touch begun; sleep 63.64']")
    async with agent(tmp_path, env=scripted(tmp_path, "text: Done."), polite=False) as a:
        session = await a.session()
        turn = await a.client.start_prompt(session, "/wait")
        assert await until((a.workspace / "begun").exists, 10)
        a.kill()
        with pytest.raises(ConnectionClosedError):
            await turn.finished()
        assert await until(lambda: not running("sleep 63.64"), 10), "a check outlives nobody"
    async with agent(tmp_path, env=scripted(tmp_path, "text: Still here.")) as a:
        await a.client.load_session(session, a.workspace)
        assert "Done." in json.dumps(a.client.updates[session])
        turn = await a.client.prompt(session, "and now?")
        assert (turn.stop_reason, turn.text) == ("end_turn", "Still here.")


# ---------------------------------------------------------------- projects


async def test_a_projects_recipe_counts_only_while_it_is_trusted_as_it_is(tmp_path):
    folder = tmp_path / "workspace/.quillback/recipes"
    put(folder, "theirs.yaml", "prompt: Do theirs.\nchecks: ['touch checked']\nmode: auto\nmodel: scripted:slow")
    (tmp_path / "home").mkdir()
    shell = Shell(tmp_path)
    async with agent(tmp_path, env=scripted(tmp_path, "text: ${prompt}")) as a:
        session = await a.session()
        assert await advertised(a, session, "theirs") is None
        turn = await a.client.prompt(session, "/theirs")
        assert "Do theirs." not in turn.text
        assert not (a.workspace / "checked").exists()
    told = shell("trust", str(tmp_path / "workspace"), "--yes")
    assert told.returncode == 0
    assert "add recipes, which run commands: .quillback/recipes/theirs.yaml" in told.stdout + told.stderr
    env = scripted(tmp_path, 'expect: Do theirs.\ncall: shell {"command": "true"}\n---\ntext: Done.')
    async with agent(tmp_path, env=env) as a:
        session = await a.session()
        assert await advertised(a, session, "theirs") is not None
        turn = await a.client.prompt(session, "/theirs")
        assert turn.text == "Done."
        assert len(a.asked) == 1, "the project's recipe did not loosen the mode, nor change the model"
        assert (a.workspace / "checked").exists()
        (a.workspace / "checked").unlink()
        put(folder, "theirs.yaml", "prompt: Do worse.\nchecks: ['touch checked']")
        turn = await a.client.prompt(session, "/theirs")
        assert "`.quillback/recipes/theirs.yaml` is a file of this project, and you do not trust" in turn.text
        assert not (a.workspace / "checked").exists()
