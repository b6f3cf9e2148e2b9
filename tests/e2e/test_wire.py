"""F01 F03 F05 F07 F10: the wire itself, in the real process."""

import asyncio
import json
import os
import subprocess
import sys
import time

import pytest

from quillback_protocol.outgoing import RemoteError
from support.agent import ARGV, agent, environment
from support.fake_model import FakeModel, Reply, Say, Use
from support.requests import last_request, result_text, results, user_text

pytestmark = pytest.mark.anyio
WORDS = "é 😀 中 \U0001f469\u200d\U0001f4bb"
INITIALIZE = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": 1}}


class Raw:
    """A process whose bytes the test writes itself."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process

    async def write(self, data: bytes, *, every: int = 0) -> None:
        assert self.process.stdin is not None
        for start in range(0, len(data), every or len(data)):
            self.process.stdin.write(data[start : start + (every or len(data))])
            await self.process.stdin.drain()

    async def send(self, message: object, end: bytes = b"\n") -> None:
        await self.write(json.dumps(message, ensure_ascii=False).encode() + end)

    async def answer(self, request_id: object) -> dict:
        """The next message with this very id, type included."""
        assert self.process.stdout is not None
        while line := await asyncio.wait_for(self.process.stdout.readline(), 10):
            message = json.loads(line)
            if "method" not in message and (type(message["id"]), message["id"]) == (type(request_id), request_id):
                return message
        raise AssertionError(f"no answer for {request_id!r}")


@pytest.fixture
async def raw(tmp_path, fake):
    process = await asyncio.create_subprocess_exec(
        *ARGV,
        stdin=-1,
        stdout=-1,
        stderr=subprocess.DEVNULL,
        cwd=tmp_path,
        env=environment(tmp_path, fake.base_url),
        limit=1 << 26,
    )
    try:
        yield Raw(process)
    finally:
        process.stdin.close()
        await asyncio.wait_for(process.wait(), 10)
        process._transport.close()


async def test_stdout_holds_nothing_but_messages(tmp_path, fake: FakeModel):
    fake.script("a", Reply(Use("shell", {"command": "echo hi; echo err >&2"})), Reply(Say("done")))
    async with agent(tmp_path, fake.base_url, env={"QUILLBACK_LOG": "debug", "PYTHONWARNINGS": "always"}) as a:
        turn = await a.client.prompt(await a.session(), "[[a]]")
        assert turn.stop_reason == "end_turn"
    output = result_text(next(iter(results(last_request(fake, "a")).values())))
    assert "hi" in output
    assert "err" in output


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\n\n \n\n"])
async def test_bytes_may_be_split_anywhere(raw: Raw, fake: FakeModel, tmp_path, end):
    fake.script("a", Reply(Say(f"réponse {WORDS}", deltas=3), cut=3))
    await raw.send(INITIALIZE, end)
    assert (await raw.answer(1))["result"]["protocolVersion"] == 1
    await raw.send(
        {"jsonrpc": "2.0", "id": 2, "method": "session/new", "params": {"cwd": str(tmp_path), "mcpServers": []}}
    )
    session = (await raw.answer(2))["result"]["sessionId"]
    blocks = [{"type": "text", "text": f"[[a]] {WORDS}"}]
    prompt = {"jsonrpc": "2.0", "id": 3, "method": "session/prompt", "params": {"sessionId": session, "prompt": blocks}}
    await raw.write(json.dumps(prompt, ensure_ascii=False).encode() + end, every=1)
    answer = await raw.answer(3)
    assert answer["result"]["stopReason"] == "end_turn"
    assert answer["result"]["_meta"]["quillback.dev"]["text"] == f"réponse {WORDS}"
    assert user_text(last_request(fake, "a")) == f"[[a]] {WORDS}"


async def test_a_character_cut_over_two_json_escapes_comes_out_whole(tmp_path, fake: FakeModel):
    halves = [
        json.dumps({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": half}})
        for half in ("face \ud83d", "\ude00!")
    ]
    from support.fake_model import Open
    from support.fake_model import Raw as RawBytes

    parts = [RawBytes(f"event: content_block_delta\ndata: {half}\n\n".encode()) for half in halves]
    fake.script("a", Reply(Open(Say("")), *parts))
    async with agent(tmp_path, fake.base_url) as a:
        turn = await a.client.prompt(await a.session(), "[[a]]")
    assert turn.text == "face 😀!"


async def test_a_last_line_without_newline_is_answered(raw: Raw):
    await raw.send(INITIALIZE)
    await raw.write(b'{"jsonrpc":"2.0","id":"last","method":"_x/none","params":{}}')
    raw.process.stdin.close()
    assert (await raw.answer("last"))["error"]["code"] == -32601


async def test_each_kind_of_bad_input_has_its_code(raw: Raw):
    await raw.send({"jsonrpc": "2.0", "id": 0, "method": "session/new", "params": {"cwd": "/", "mcpServers": []}})
    assert (await raw.answer(0))["error"]["code"] == -32600  # before initialize
    await raw.send(INITIALIZE)
    await raw.answer(1)
    for line, request_id, code in (
        (b"{bad", None, -32700),
        (b'"\xff\xfe"', None, -32700),
        (b"[]", None, -32600),
        (b"42", None, -32600),
        (b'{"jsonrpc":"2.0","id":7}', 7, -32600),
        (b'{"id":8,"method":"session/list"}', 8, -32600),
        (b'{"jsonrpc":"2.0","id":9,"method":"session/new","params":{"cwd":5}}', 9, -32602),
        (b'{"jsonrpc":"2.0","id":10,"method":"session/new","params":[1]}', 10, -32602),
        (b'{"jsonrpc":"2.0","id":11,"method":"session/new","params":{"cwd":"relative"}}', 11, -32602),
        (b'{"jsonrpc":"2.0","id":"\\ud800","method":"session/list"}', None, -32600),
        (
            b'{"jsonrpc":"2.0","id":"a\\udc00b","method":"session/list","params":{"n":12345678901234567890}}',
            None,
            -32600,
        ),
        (b'{"jsonrpc":"2.0","id":"\\ufffd","method":"none","params":{"x":"\\ud800"}}', "\ufffd", -32601),
        (b'{"jsonrpc":"2.0","id":15,"method":"session/list","params":{"cwd":"relative"}}', 15, -32602),
        (b'{"jsonrpc":"2.0","id":16,"method":"session/list","params":{"cwd":""}}', 16, -32602),
        (json.dumps(INITIALIZE | {"id": 17}).encode(), 17, -32600),
        (b'{"jsonrpc":"2.0","id":12,"method":"session/nope","params":{}}', 12, -32601),
        (b'{"jsonrpc":"2.0","id":13,"method":"session/prompt","params":{"sessionId":"x","prompt":[]}}', 13, -32002),
        (b'{"jsonrpc":"2.0","id":14,"method":"session/list","params":{"cursor":"junk"}}', 14, -32602),
    ):
        await raw.write(line + b"\n")
        error = (await raw.answer(request_id))["error"]
        assert error["code"] == code, line
        assert "Traceback" not in json.dumps(error)
        assert "\n" not in error["message"]


async def test_initialize_comes_once_but_may_be_mended(raw: Raw):
    """Whether the first line takes the fast path or, since it is bad, the ordinary one."""
    for request_id, params in ((1, {}), (2, {"protocolVersion": "1"})):
        await raw.send({"jsonrpc": "2.0", "id": request_id, "method": "initialize", "params": params})
        assert (await raw.answer(request_id))["error"]["code"] == -32602
    await raw.send(INITIALIZE | {"id": 3})
    assert (await raw.answer(3))["result"]["protocolVersion"] == 1
    await raw.send(INITIALIZE | {"id": 4})
    error = (await raw.answer(4))["error"]
    assert error["code"] == -32600
    assert "initialize" in error["message"]


async def test_an_initialize_whose_id_cannot_be_written_is_refused(raw: Raw):
    await raw.write(rb'{"jsonrpc":"2.0","id":"\ud800","method":"initialize","params":{"protocolVersion":1}}' + b"\n")
    assert (await raw.answer(None))["error"]["code"] == -32600
    await raw.send(INITIALIZE)
    assert (await raw.answer(1))["result"]["protocolVersion"] == 1


async def test_a_line_over_the_limit_is_refused_and_the_next_one_read(raw: Raw):
    await raw.send(INITIALIZE)
    await raw.answer(1)
    await raw.write(b'{"jsonrpc":"2.0","id":2,"method":"' + b"x" * (33 * 1024 * 1024) + b'"}\n')
    assert (await raw.answer(None))["error"]["code"] == -32600
    await raw.send({"jsonrpc": "2.0", "id": 3, "method": "session/list", "params": {}})
    assert (await raw.answer(3))["result"] == {"sessions": []}


async def test_ids_come_back_as_they_went(raw: Raw):
    await raw.send(INITIALIZE)
    await raw.answer(1)
    for request_id in (0, "0", "", "a-b", None, 2**53 - 1, 2**70, -1):
        await raw.send({"jsonrpc": "2.0", "id": request_id, "method": "_x/none"})
        assert (await raw.answer(request_id))["error"]["code"] == -32601


async def test_ids_of_the_two_directions_never_mix(tmp_path, fake: FakeModel):
    fake.script("a", Reply(Use("shell", {"command": "touch made.txt"})), Reply(Say("done")))
    async with agent(tmp_path, fake.base_url) as a:
        open_ids: asyncio.Queue[int] = asyncio.Queue()
        go_on = asyncio.Event()

        async def hold(params):
            a.asked.append(params)
            await open_ids.put(
                next(m["id"] for d, m in reversed(a.client.log) if d == "<-" and "id" in m and "method" in m)
            )
            await go_on.wait()
            return {"outcome": {"outcome": "selected", "optionId": params["options"][0]["optionId"]}}

        a.client.on_request("session/request_permission", hold)
        turn = await a.client.start_prompt(await a.session(), "[[a]]")
        question = await asyncio.wait_for(open_ids.get(), 10)
        a.client._peer._outgoing._ids = iter([question, *range(10_000, 10_100)])
        with pytest.raises(RemoteError, match="not found"):
            await a.client.request("_x/none")
        go_on.set()
        await turn.finished()
        assert (a.workspace / "made.txt").exists()


async def test_initialize_waits_for_nothing(tmp_path):
    home = tmp_path / "home" / "quillback"
    home.mkdir(parents=True)
    (home / "quillback.db").write_bytes(b"no database " * 100)
    (home / "config.toml").write_text("mode = 'nonsense'\n")
    async with agent(tmp_path, "http://127.0.0.1:9", initialize=False) as a:
        begun = time.monotonic()
        answer = await a.client.initialize(protocolVersion=99)
        assert time.monotonic() - begun < 5
        assert answer["protocolVersion"] == 1
        with pytest.raises(RemoteError, match=r"config\.toml.*mode"):
            await a.session()


async def test_the_first_answer_comes_before_heavy_imports():
    code = (
        "import sys, io, os; sys.argv = ['quillback', 'acp']; r, w = os.pipe(); os.dup2(r, 0); "
        f"os.write(w, {json.dumps(INITIALIZE)!r}.encode() + b'\\n'); "
        "from quillback.edge.handshake import first_exchange; first_exchange(0, 1, os.getppid()); "
        "print(*({'asyncio', 'attrs', 'cattrs', 'anthropic', 'sqlite3'} & set(sys.modules)), file=sys.stderr)"
    )
    done = await asyncio.to_thread(
        subprocess.run, [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ
    )
    assert json.loads(done.stdout)["result"]["agentInfo"]["name"] == "quillback"
    assert done.stderr.strip() == ""
