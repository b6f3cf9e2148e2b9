import asyncio
import json
import sys
from pathlib import Path

import pytest

from quillback_protocol.client import Client, choose
from quillback_protocol.framing import FramingError
from quillback_protocol.peer import ConnectionClosedError, RemoteError

pytestmark = pytest.mark.anyio

AGENT = [sys.executable, "-I", str(Path(__file__).with_name("echo_agent.py"))]


def start(*arguments, **more):
    return Client.spawn([*AGENT, *arguments], **more)


async def test_a_whole_conversation_over_real_pipes(tmp_path):
    async with start() as client:
        answer = await client.initialize({"terminal": True})
        assert answer["agentInfo"]["name"] == "quillback-client"
        session = (await client.new_session(tmp_path))["sessionId"]
        turn = await client.prompt(session, "one two")
        assert (turn.stop_reason, turn.text) == ("end_turn", "one two ")
        assert [update["messageId"] for update in turn.updates] == ["m", "m"]
        assert await client.load_session(session, tmp_path) == {}
        assert client.updates[session][2]["content"]["text"] == "replayed"
        assert len(client.updates["other"]) == 1
    assert client.exit_code == 0
    methods = [obj.get("method") for direction, obj in client.log if direction == "->"]
    assert methods == ["initialize", "session/new", "session/prompt", "session/load"]
    assert client.log[0][1]["params"]["clientCapabilities"] == {"terminal": True}
    answers = [obj["id"] for direction, obj in client.log if direction == "<-" and "result" in obj]
    assert answers == [1, 2, 3, 4]


async def test_content_blocks_and_more_params(tmp_path):
    async with start() as client:
        await client.initialize()
        blocks = [{"type": "text", "text": "hello"}]
        turn = await client.prompt("s", blocks, _meta={"a": 1})
        assert turn.text == "hello "
    assert client.log[2][1]["params"] == {"sessionId": "s", "prompt": blocks, "_meta": {"a": 1}}


async def test_cancel_comes_after_the_prompt_it_cancels():
    async with start() as client:
        turn = await client.start_prompt("s", "wait")
        client.cancel("s")
        assert (await turn.finished()).stop_reason == "cancelled"
        turn = await client.start_prompt("s", "wait")
        await turn.until(lambda update: update["content"]["text"] == "waiting")
        assert turn.result is None
        client.cancel("s")
        await turn.finished()
        assert turn.stop_reason == "cancelled"


async def test_waiting_for_an_update_that_does_not_come():
    async with start() as client:
        turn = await client.start_prompt("s", "hello")
        with pytest.raises(LookupError):
            await turn.until(lambda update: False)
        with pytest.raises(TimeoutError):
            await client.wait_for(lambda: None, timeout=0.01)


async def test_permission_policies():
    async with start() as client:
        client.on_request("session/request_permission", choose("reject_once"))
        answer = json.loads((await client.prompt("s", "ask")).text)
        assert answer["result"] == {"outcome": {"outcome": "selected", "optionId": "id-reject_once"}}
        client.on_request("session/request_permission", choose("allow_always"))
        answer = json.loads((await client.prompt("s", "ask")).text)
        assert answer["result"] == {"outcome": {"outcome": "cancelled"}}


async def test_cancel_withdraws_an_open_question():
    asked = asyncio.Event()
    ended = []

    async def never(_):
        asked.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(True)

    async with start() as client:
        client.on_request("session/request_permission", never)
        turn = await client.start_prompt("s", "ask")
        await asyncio.wait_for(asked.wait(), 10)
        client.cancel("s")
        await turn.finished()
        cancelled = json.dumps({"jsonrpc": "2.0", "id": "q1", "result": {"outcome": {"outcome": "cancelled"}}})
        assert turn.text == f"(session/cancel){cancelled}"
        assert ended == [True]


async def test_what_has_no_handler_is_no_method():
    async with start() as client:
        assert (await client.prompt("s", "unknown")).text == "-32601"


async def test_lines_that_are_no_json_are_kept_in_the_log():
    async with start() as client:
        assert (await client.prompt("s", "noise")).text == "after the noise"
    assert [type(obj) for direction, obj in client.log if direction == "<-"] == [FramingError, dict, dict]


async def test_large_messages():
    async with start() as client:
        assert len((await client.prompt("s", "big 5000000")).text) == 5_000_000
        words = "y" * 2_000_000
        assert (await client.prompt("s", words)).text == words + " "


async def test_an_error_answer():
    async with start() as client:
        with pytest.raises(RemoteError, match="log in first") as caught:
            await client.prompt("s", "fail")
        assert caught.value.code == -32000


async def test_cwd_and_environment(tmp_path):
    async with start(cwd=tmp_path, env={"COLOUR": "blue"}) as client:
        turn = await client.prompt("s", "env")
        assert json.loads(turn.text) == [str(tmp_path.resolve()), "blue"]


async def test_the_death_of_the_agent_fails_what_waits():
    async with start() as client:
        with pytest.raises(ConnectionClosedError, match="the agent exited with code 7: the disk is full"):
            await client.prompt("s", "die 7")
        with pytest.raises(ConnectionClosedError, match="code 7"):
            await client.request("initialize", {})
        with pytest.raises(ConnectionClosedError, match="code 7"):
            await client.wait_for(lambda: None)
        assert client.stderr == "the disk is full\n"
    assert client.exit_code == 7


async def test_an_agent_that_closes_its_output():
    async with start() as client:
        with pytest.raises(ConnectionClosedError, match="the agent closed its output"):
            await client.prompt("s", "mute")
        await client.close(grace=0.1)
    assert client.exit_code == -15


async def test_an_agent_that_ignores_the_end_of_its_input_is_terminated():
    async with start("ignore-eof") as client:
        await client.initialize()
        waiting = asyncio.create_task(client.request("unanswered"))
        assert await client.close(grace=0.1) == -15
        with pytest.raises(ConnectionClosedError, match="the agent exited with code -15"):
            await waiting


async def test_leaving_while_a_turn_runs():
    async with start() as client:
        turn = await client.start_prompt("s", "wait")
        await turn.until(lambda update: True)
    assert client.exit_code == 0
    with pytest.raises(ConnectionClosedError, match="the agent exited with code 0"):
        await turn.finished()


async def test_a_program_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError):
        async with Client.spawn([str(tmp_path / "nothing")]):
            raise AssertionError("it started")
