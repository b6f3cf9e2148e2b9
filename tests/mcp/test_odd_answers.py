"""Answers of a server that are none, or hard to read: no call waits for what has come."""

import asyncio
import json
import time
from pathlib import Path

import pytest

from quillback.core.ports import ToolError
from quillback.mcp import parse as module
from quillback.mcp.parse import mended, parse, shallow
from quillback.mcp.server import ServerState
from support.processes import until

pytestmark = pytest.mark.anyio


def states(room):
    return {status.name: status.state for status in room.box.status()}


ODD_ANSWERS = {
    "a number": ('{"jsonrpc": "2.0", "id": ID, "result": 5}', "does not follow the protocol"),
    "null": ('{"jsonrpc": "2.0", "id": ID, "result": null}', "does not follow the protocol"),
    "a list": ('{"jsonrpc": "2.0", "id": ID, "result": []}', "does not follow the protocol"),
    "an error of words": ('{"jsonrpc": "2.0", "id": ID, "error": "no such note"}', "no such note"),
    "an error without a code": ('{"jsonrpc": "2.0", "id": ID, "error": {"message": "broke"}}', "broke"),
    "an error with a code of words": ('{"jsonrpc": "2.0", "id": ID, "error": {"code": "E", "message": "b"}}', ": b$"),
    "no error": ('{"jsonrpc": "2.0", "id": ID, "error": null}', "does not follow the protocol"),
    "broken inside": ('{"jsonrpc": "2.0", "id": ID, "result": {"content": [1, 2,]}}', "does not follow the protocol"),
}


@pytest.mark.parametrize("kind", ODD_ANSWERS)
async def test_an_answer_that_is_none_fails_its_call_at_once(open_room, stdio, said, kind):
    made = await open_room(stdio("s"))
    line, why = ODD_ANSWERS[kind]
    begun = time.monotonic()
    with pytest.raises(ToolError, match=why):
        await made.call("s_odd", q=line)
    assert time.monotonic() - begun < 5
    assert said(await made.call("s_echo")) == "{}"


CONTENT = '{"content": [{"type": "text", "text": "here"}], "structuredContent": %s}'


@pytest.mark.parametrize(
    "result",
    [
        CONTENT % ('{"a":' * 300 + "1" + "}" * 300),
        CONTENT % ("[" * 30_000 + "]" * 30_000),
        CONTENT % ("1" * 5_000),
        '{"content": [{"type": "text", "text": "he\x01re"}]}',
    ],
    ids=["deep", "very deep", "a long number", "a control character"],
)
async def test_an_answer_that_is_hard_to_read_is_read(open_room, stdio, said, result):
    made = await open_room(stdio("s"))
    assert "here" in said(await made.call("s_odd", q=f'{{"jsonrpc": "2.0", "id": ID, "result": {result}}}'))
    assert "here" in said(await made.call("s_odd", q=f'{{"id": ID, "result": {result}}}'))


async def test_a_list_that_is_none_fails_the_server_at_once(room, stdio):
    begun = time.monotonic()
    made = room(stdio("s", "number"))
    made.box.start()
    await made.box.ready(10)
    assert time.monotonic() - begun < 8
    assert states(made) == {"s": ServerState.FAILED}
    (notice,) = made.notices
    assert "does not follow the protocol" in notice
    assert await until(lambda: not Path(f"/proc/{made.log('s')[0]['start']}").exists())


# ---------------------------------------------------------------- parts


@pytest.mark.parametrize(
    ("text", "depth", "left"),
    [
        ('{"a": {"b": [1]}, "c": [2]}', 1, '{"a": "(nested too deeply)", "c": "(nested too deeply)"}'),
        ('{"a": {"b": [1]}, "c": [2]}', 2, '{"a": {"b": "(nested too deeply)"}, "c": [2]}'),
        ('{"a": {"b": [1]}, "c": [2]}', 3, '{"a": {"b": [1]}, "c": [2]}'),
        ('{"a{": "[[{\\"[[", "b": ["]"]}', 1, '{"a{": "[[{\\"[[", "b": "(nested too deeply)"}'),
        ("[[[", 1, '["(nested too deeply)"'),
        ("]]}", 1, "]]}"),
        ("", 1, ""),
    ],
)
def test_levels_are_cut_off(text, depth, left):
    assert shallow(text.encode(), depth) == left.encode()


def test_a_deep_line_takes_linear_time():
    begun = time.process_time()
    assert mended(b'{"jsonrpc":"2.0","id":3,"result":' + b'[{"a":"' * 300_000) is None
    assert time.process_time() - begun < 5


@pytest.mark.parametrize(
    "line",
    ["", "[]", "5", "plain words", '{"jsonrpc": "2.0", "id": 99}', '{"id": 1.5, "result": 5}', '{"method": "x"}'],
)
def test_what_is_no_message_is_none(line):
    assert parse(line.encode()) is None
    assert mended(line.encode()) is None


def test_a_question_with_odd_params_is_one_still():
    message = mended(b'{"jsonrpc": "2.0", "id": "q", "method": "elicitation/create", "params": 5}')
    assert json.loads(message.model_dump_json()) | {"params": None} == {
        **{"jsonrpc": "2.0", "id": "q", "method": "elicitation/create"},
        "params": None,
    }


async def test_the_loop_goes_on_while_a_line_is_mended(open_room, stdio, said, monkeypatch):
    def slow(line: bytes, depth: int) -> bytes:
        time.sleep(0.6)  # in a thread of its own
        return shallow(line, depth)

    monkeypatch.setattr(module, "shallow", slow)
    made = await open_room(stdio("s"))
    calling = asyncio.create_task(made.call("s_odd", q='{"id": ID, "result": {"content": "late"}}'))
    latest, longest = time.monotonic(), 0.0
    while not calling.done():
        await asyncio.sleep(0.01)
        latest, longest = time.monotonic(), max(longest, time.monotonic() - latest)
    assert "late" in said(await calling)
    assert longest < 0.4
