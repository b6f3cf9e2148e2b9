"""The mock agent as a real process behind the headless client, or behind raw pipes."""

import json
import subprocess
import sys
from contextlib import asynccontextmanager
from functools import partial

import pytest

from quillback.mock.library import built_in
from quillback_protocol.client import Client, choose
from quillback_protocol.framing import FramingError
from quillback_protocol.outgoing import ConnectionClosedError
from quillback_protocol.peer import RemoteError

pytestmark = pytest.mark.anyio
MOCK = (sys.executable, "-m", "quillback", "mock-agent")
NOT_PLAYED = {"never-answers", "closes-output", "stalls", "slow", "ignores-cancel"}
UNREADABLE = {"neither", "no-version"}
DEADLY = {"dies", "dies-in-message", "dies-quietly"}


@asynccontextmanager
async def mock(tmp_path, *arguments: str, script: str = ""):
    """A client with a session."""
    if script:
        (tmp_path / "s.mock").write_text(script)
        arguments = (str(tmp_path / "s.mock"),)
    async with Client.spawn([*MOCK, *arguments]) as client:
        client.on_request("session/request_permission", choose("allow_once"))
        await client.initialize()
        yield client, (await client.new_session(tmp_path))["sessionId"]


@pytest.mark.parametrize("choice", ["allow_once", "allow_always", "reject_once", "reject_always"])
async def test_permission_goes_by_the_answer(tmp_path, choice):
    async with mock(tmp_path) as (client, session):
        client.on_request("session/request_permission", choose(choice))
        turn = await client.prompt(session, "permission")
    assert turn.text == f"You chose {choice}."
    last = [u["status"] for u in turn.updates if u.get("status")][-1]
    assert last == ("completed" if choice.startswith("allow") else "failed")


async def test_a_prompt_without_a_scenario_says_what_there_is(tmp_path):
    async with mock(tmp_path) as (client, session):
        turn = await client.prompt(session, "hello")
    assert turn.text.startswith("You said: hello\nPrompt me with the name of a scenario")
    assert turn.stop_reason == "end_turn"


async def test_a_slash_command_plays_its_scenario(tmp_path):
    async with mock(tmp_path) as (client, session):
        commands = await client.wait_for(lambda: client.updates.get(session))
        turn = await client.prompt(session, "/thought")
    assert {"name": "thought", "description": "a thought, then a message"} in commands[0]["availableCommands"]
    assert [u["sessionUpdate"] for u in turn.updates] == ["agent_thought_chunk", "agent_message_chunk"]


async def test_a_cancel_ends_a_turn_and_its_calls(tmp_path):
    script = 'update: tool_call {"toolCallId": "c", "title": "Sleep", "status": "in_progress"}\nwait: 60s\n'
    async with mock(tmp_path, script=script) as (client, session):
        turn = await client.start_prompt(session, "go on")
        await turn.until(lambda update: update["sessionUpdate"] == "tool_call")
        client.cancel(session)
        await turn.finished()
    assert turn.stop_reason == "cancelled"
    assert turn.updates[-1] == {"sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "failed"}


async def test_slow_cancel_sends_more_before_its_answer(tmp_path):
    async with mock(tmp_path) as (client, session):
        turn = await client.start_prompt(session, "slow-cancel")
        await turn.until(lambda update: update["sessionUpdate"] == "tool_call")
        client.cancel(session)
        await turn.finished()
    assert (turn.stop_reason, turn.text) == ("cancelled", "I am stopping.")


async def test_requests_to_the_client_come_with_the_session_and_their_answer_is_known(tmp_path):
    async def read(params):
        assert params == {"sessionId": "mock-1", "path": f"{tmp_path}/notes.txt"}
        return {"content": "hello"}

    async with mock(tmp_path) as (client, session):
        client.on_request("fs/read_text_file", read)
        turn = await client.prompt(session, "read-file")
    assert turn.text == 'The client answered {"content": "hello"}.'


async def test_a_started_scenario_changes_other_methods(tmp_path):
    async with Client.spawn([*MOCK, "wrong-version"]) as client:
        assert (await client.initialize())["protocolVersion"] == 99


async def test_own_conditions_and_names(tmp_path):
    script = """
    if offered.terminal=true: say: You have terminals.
    if params.prompt.0.text=hi: say: hi from ${cwd}
    if params.prompt.0.text!=hi: stop
    say: .
    """
    async with mock(tmp_path, script=script) as (client, session):
        assert (await client.prompt(session, "hi")).text == f"hi from {tmp_path}."
        assert (await client.prompt(session, "ho")).text == ""


async def test_a_session_is_replayed_and_listed(tmp_path):
    async with mock(tmp_path) as (client, session):
        await client.prompt(session, "tool")
        client.updates.clear()
        loaded = await client.load_session(session, tmp_path)
        kinds = [update["sessionUpdate"] for update in client.updates[session]]
        listed = await client.request("session/list", {"cwd": str(tmp_path)})
    assert kinds[:2] == ["user_message_chunk", "tool_call"]
    assert loaded["modes"]["currentModeId"] == "ask"
    assert [one["sessionId"] for one in listed["sessions"]] == [session]


async def test_errors_come_with_code_message_and_data(tmp_path):
    async with mock(tmp_path) as (client, session):
        with pytest.raises(RemoteError) as caught:
            await client.prompt(session, "error-not-found")
    assert (caught.value.code, caught.value.data) == (-32002, {"sessionId": session})


async def test_misbehaviour_on_the_wire(tmp_path):
    async with mock(tmp_path) as (client, session):
        await client.prompt(session, "garbage")
        assert sum(isinstance(frame, FramingError) for _, frame in client.log) == 3
        await client.prompt(session, "answered-twice")
        giant = await client.prompt(session, "giant")
        assert len(giant.text) > 10_000_000
        interleaved = await client.prompt(session, "interleaved")
        assert interleaved.messages == ["a1 a2 ", "b1 b2 "]
        with pytest.raises(ConnectionClosedError, match="exited with code 1"):
            await client.prompt(session, "dies")


@pytest.mark.parametrize("subject", built_in())
async def test_every_scenario_plays_to_its_end(tmp_path, subject):
    """What ends the process or never ends is in tests of its own."""
    async with mock(tmp_path) as (client, session):
        for scenario in built_in()[subject]:
            if scenario.must_be_started or scenario.name in NOT_PLAYED | DEADLY:
                continue
            start = len(client.log)
            turn = await client.start_prompt(session, scenario.name)
            if scenario.name in ("slow-cancel", "late-cancel"):
                client.cancel(session)
            if scenario.name in UNREADABLE:
                await client.wait_for(partial(answers_since, client, start))
                continue
            if subject == "errors" or scenario.name == "answer-and-error":
                with pytest.raises(RemoteError):
                    await turn.finished()
            else:
                await turn.finished()
            assert client.exit_code is None, scenario.name


def answers_since(client: Client, start: int) -> object:
    """Whether anything with an id came, be it an answer or not."""
    came = [frame for direction, frame in client.log[start:] if direction == "<-" and isinstance(frame, dict)]
    return any("id" in frame for frame in came) or None


@pytest.mark.parametrize("name", DEADLY)
async def test_agents_that_die(tmp_path, name):
    async with mock(tmp_path) as (client, session):
        with pytest.raises(ConnectionClosedError):
            await client.prompt(session, name)


def run(*arguments: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([*MOCK, *arguments], input=given, capture_output=True, timeout=60, check=False)


def test_the_end_of_input_ends_it():
    done = run(given=b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}\n')
    assert done.returncode == 0
    assert json.loads(done.stdout)["result"]["agentInfo"]["name"] == "quillback-mock-agent"


def test_bytes_that_are_no_text_are_written(tmp_path):
    (tmp_path / "s.mock").write_text("on start\nraw: \\xff\\xfe ok\\n\n")
    assert run(str(tmp_path / "s.mock")).stdout == b"\xff\xfe ok\n"


def test_lines_that_are_no_messages_are_answered():
    done = run(given=b'oops\n[]\n{"x":1}\n')
    assert [json.loads(line)["error"]["code"] for line in done.stdout.splitlines()] == [-32700, -32600, -32600]


def test_the_list():
    done = run("--list")
    assert done.returncode == 0
    assert b"\n  permission                asks before an edit" in done.stdout
    assert b"\n  wrong-version           * initialize is answered with a version" in done.stdout


def test_a_script_that_cannot_be_played(tmp_path):
    (tmp_path / "s.mock").write_text("say: a\nsing: b\n")
    done = run(str(tmp_path / "s.mock"))
    assert done.returncode == 2
    assert b"s.mock, line 2: unknown step sing" in done.stderr
    assert run("no-such-scenario").returncode == 2
