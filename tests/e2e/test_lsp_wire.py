"""The LSP front on the wire: bad input, one answer for each request, the ends, a client that does not read."""

import asyncio
import json
import os
import random
import subprocess

import pytest

from quillback_protocol.framing import HeaderFramer
from support.agent import processes, scripted
from support.lsp_client import ARGV, PLAIN, LspError, environment, lsp, spanned

pytestmark = pytest.mark.anyio
HEADER = HeaderFramer.encode


async def code_of(answer: "asyncio.Future") -> int:
    with pytest.raises(LspError) as caught:
        await asyncio.wait_for(answer, 20)
    assert set(caught.value.error.pop("data", {})) <= {"sessionId"}  # no traceback goes out
    assert "\n" not in caught.value.error["message"]
    return caught.value.code


@pytest.mark.parametrize("arguments", [("lsp",), ()])
async def test_the_framing_tells_the_front(tmp_path, arguments):
    async with lsp(tmp_path, arguments=arguments, initialize=False) as editor:
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"capabilities": {}}}).encode()
        for piece in (b"cont", b"ENT-length: %d\r\n" % len(body), b"\r\n", body[:9]):
            editor.send_raw(piece)
            await editor.process.stdin.drain()
        _, answer = editor._next, asyncio.get_running_loop().create_future()
        editor._waiting[1] = answer
        editor.send_raw(body[9:])
        result = await asyncio.wait_for(answer, 20)
        assert result["serverInfo"]["name"] == "quillback"
        assert result["capabilities"]["positionEncoding"] == "utf-16"


@pytest.mark.parametrize(
    ("offered", "taken"),
    [(["utf-8", "utf-16"], "utf-8"), (["utf-32"], "utf-32"), (["utf-7", 3], "utf-16"), (None, "utf-16")],
)
async def test_the_encoding_of_positions_is_negotiated(tmp_path, offered, taken):
    env = scripted(tmp_path, "expect: ```python\\néé\\n```\ntext: Fine.\n")
    async with lsp(tmp_path, env=env, capabilities={**PLAIN, "general": {"positionEncodings": offered}}) as editor:
        assert editor.result["capabilities"]["positionEncoding"] == taken
        units = {"utf-8": 5, "utf-16": 3, "utf-32": 2}[taken]
        buffer = editor.open("a.py", "a😀éé!\n")
        start = {"utf-8": 5, "utf-16": 3, "utf-32": 2}[taken]
        end = {"utf-8": 9, "utf-16": 5, "utf-32": 4}[taken]
        assert units == start
        await editor.command("quillback.fix", {"uri": buffer.uri, "range": spanned(0, start, 0, end)})
        await editor.until(lambda: editor.messages())
        assert editor.messages() == ["Quillback: Fine."]


async def test_bad_input_is_answered(tmp_path):
    async with lsp(tmp_path) as editor:
        editor.send_raw(b"Content-Length: 5\r\n\r\n{bad}")
        editor.send_raw(HEADER([{"jsonrpc": "2.0", "id": 1, "method": "shutdown"}]))
        editor.send_raw(HEADER({"id": 77, "method": "shutdown"}))
        editor.send_raw(b"nonsense\r\n\r\n")
        await editor.until(lambda: len(editor.loose) == 4)
        assert [(a["id"], a["error"]["code"]) for a in editor.loose] == [
            (None, -32700),
            (None, -32600),
            (77, -32600),
            (None, -32700),
        ]
        assert await code_of(editor.begin("no/such", {})[1]) == -32601
        assert await code_of(editor.begin("textDocument/codeAction", {"range": 3})[1]) == -32602
        assert await code_of(editor.begin("textDocument/codeAction")[1]) == -32602
        assert await code_of(editor.begin("textDocument/codeAction", [1])[1]) == -32602
        assert await code_of(editor.begin("workspace/executeCommand", {"command": "rm"})[1]) == -32602
        assert await code_of(editor.begin("session/prompt", {"sessionId": "x", "prompt": []})[1]) == -32002
        assert await code_of(editor.begin("initialize", {"capabilities": {}})[1]) == -32600
        for bad in ({"uri": 3}, {"uri": "file:///nowhere/x.py"}, {"uri": "x:y", "range": {}}, {"prompt": 3}):
            assert (
                await code_of(
                    editor.begin("workspace/executeCommand", {"command": "quillback.fix", "arguments": [bad]})[1]
                )
                == -32602
            )
        for method in ("textDocument/didOpen", "textDocument/didChange", "window/workDoneProgress/cancel"):
            editor.notify(method, {"textDocument": 3})
        buffer = editor.open("a.py", "x\n")
        assert await editor.actions(buffer, 0, 0, 0, 1)


async def test_nested_jsonrpc_keys_mean_nothing(tmp_path):
    async with lsp(tmp_path, env=scripted(tmp_path, "text: Fine.\n")) as editor:
        nested = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"jsonrpc": "2.0", "result": 1}}
        assert await editor.command("quillback.do", {"prompt": "look", **nested}) is None
        await editor.until(lambda: editor.messages())
        assert await code_of(editor.begin("textDocument/codeAction", {"textDocument": nested})[1]) == -32602


async def test_before_initialize_and_after_shutdown(tmp_path):
    async with lsp(tmp_path, initialize=False) as editor:
        assert await code_of(editor.begin("textDocument/codeAction", {})[1]) == -32002
        assert await code_of(editor.begin("initialize", {"capabilities": 3})[1]) == -32602
        assert await code_of(editor.begin("session/new", {"cwd": "/"})[1]) == -32002
        await editor.initialize()
        assert await editor.request("shutdown") is None
        assert await code_of(editor.begin("textDocument/codeAction", {})[1]) == -32600
        editor.send({"method": "exit"})
        assert await editor.ended() == 0


async def test_an_exit_without_shutdown_is_told(tmp_path):
    async with lsp(tmp_path) as editor:
        editor.send({"method": "exit"})
        assert await editor.ended() == 1


async def test_the_end_of_input_and_a_shutdown_in_a_turn(tmp_path):
    env = scripted(tmp_path, "text: Slow\nwait: 60s\n")
    async with lsp(tmp_path, env=env) as editor:
        await editor.command("quillback.do", {"prompt": "wait"})
        assert await asyncio.wait_for(editor.shut_down(), 6) == 0
    async with lsp(tmp_path, env=env) as editor:
        await editor.command("quillback.do", {"prompt": "wait"})
        editor.process.stdin.close()
        assert await asyncio.wait_for(editor.ended(), 6) == 0


async def test_requests_can_be_cancelled_by_either_name(tmp_path):
    async with lsp(tmp_path, env=scripted(tmp_path, "text: Slow\nwait: 60s\n---\ntext: Slow\nwait: 60s\n")) as editor:
        session = (await editor.request("session/new", {"cwd": str(editor.workspace), "mcpServers": []}))["sessionId"]
        params = {"sessionId": session, "prompt": [{"type": "text", "text": "x"}]}
        for method, key in (("$/cancelRequest", "id"), ("$/cancel_request", "requestId")):
            number, answer = editor.begin("session/prompt", params)
            editor.notify(method, {key: number})  # right behind it
            assert (await asyncio.wait_for(answer, 20))["stopReason"] == "cancelled"


async def test_a_permission_question_is_withdrawn_with_its_turn(tmp_path):
    script = 'call: write_file {"path": "a.txt", "content": "x"}\n---\ntext: no\n'
    async with lsp(tmp_path, env=scripted(tmp_path, script)) as editor:
        never = asyncio.Event()
        editor.on["window/showMessageRequest"] = lambda _: never.wait()
        await editor.command("quillback.do", {"prompt": "write"})
        await editor.until(lambda: editor.asked_for("window/showMessageRequest"))
        await editor.command("quillback.cancel")
        await editor.until(lambda: any(method == "$/cancelRequest" for method, _ in editor.told))
        await editor.until(lambda: editor.progress() and editor.progress()[-1]["kind"] == "end")
        assert not (editor.workspace / "a.txt").exists()


async def test_a_client_that_does_not_read_holds_nothing_up(tmp_path):
    """The server goes on to read and to work while nobody takes what it writes."""
    (tmp_path / "workspace").mkdir()
    (tmp_path / "home").mkdir()
    process = subprocess.Popen(
        [*ARGV, "lsp"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=tmp_path / "workspace",
        env=environment(tmp_path / "home", "http://127.0.0.1:9"),
    )
    assert process.stdin
    assert process.stdout
    try:
        init = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"capabilities": {}}}
        uri = (tmp_path / "workspace" / "a.py").as_uri()
        item = {"uri": uri, "languageId": "python", "version": 1, "text": "x\n"}
        opened = {"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {"textDocument": item}}
        ask = {"textDocument": {"uri": uri}, "range": spanned(0, 0, 0, 1), "context": {"diagnostics": []}}
        frames = [
            HEADER({"jsonrpc": "2.0", "id": n, "method": "textDocument/codeAction", "params": ask})
            for n in range(1, 301)
        ]
        data = HEADER(init) + HEADER(opened) + b"".join(frames)
        assert len(data) > 65536
        await asyncio.to_thread(lambda: (process.stdin.write(data), process.stdin.flush()))
        framer, answered = HeaderFramer(), []
        while len(answered) < 301:
            answered += framer.feed(await asyncio.to_thread(os.read, process.stdout.fileno(), 65536))
        assert [a["id"] for a in answered] == list(range(301))
        process.stdin.close()
        assert await asyncio.to_thread(process.wait, 10) == 0
    finally:
        process.kill()
        process.stdout.close()
        process.wait()


async def test_the_end_leaves_no_command_behind(tmp_path):
    marker = f"61.{os.getpid()}"
    script = f'call: shell {{"command": "sleep {marker}"}}\n---\ntext: no\n'
    env = {**scripted(tmp_path, script), "QUILLBACK_MODE": "auto"}
    async with lsp(tmp_path, env=env) as editor:
        await editor.command("quillback.do", {"prompt": "wait"})
        async with asyncio.timeout(20):
            while not processes(marker):  # nobody tells of it
                await asyncio.sleep(0.05)
        editor.process.stdin.close()
        assert await asyncio.wait_for(editor.ended(), 6) == 0
        assert processes(marker) == []


@pytest.mark.parametrize("seed", range(3))
async def test_noise_is_survived(tmp_path, seed):
    """Broken frames, odd params of every method: an answer for each request, and the server goes on."""
    chance = random.Random(seed)
    odd = [
        None,
        3,
        "x",
        [],
        {},
        {"uri": 3},
        {"textDocument": {"uri": "file:///x"}},
        {"arguments": [[]]},
        [[{}]],
        {"token": {}},
    ]
    methods = [
        "textDocument/codeAction",
        "workspace/executeCommand",
        "session/new",
        "session/prompt",
        "initialize",
        "x",
    ]
    told = ["textDocument/didOpen", "textDocument/didChange", "textDocument/didClose", "session/cancel", "initialized"]
    told += ["workspace/didChangeWorkspaceFolders", "window/workDoneProgress/cancel", "$/cancelRequest", "$/progress"]
    async with lsp(tmp_path) as editor:
        numbers = []
        for _ in range(150):
            kind = chance.randrange(4)
            if kind == 0:
                numbers.append(editor.begin(chance.choice(methods), chance.choice(odd))[1])
            elif kind == 1:
                editor.notify(chance.choice(told), chance.choice(odd))
            elif kind == 2:
                editor.send_raw(
                    chance.choice(
                        [b"\r\n\r\n", b"Content-Length: 3\r\n\r\n{}}", b"Content-Length: 2\r\nX: y\r\n\r\n[]"]
                    )
                )
            else:
                editor.send_raw(
                    HEADER({"jsonrpc": "2.0", "id": chance.choice([None, 99, "z"]), "result": chance.choice(odd)})
                )
        assert numbers
        for number in numbers:
            assert await code_of(number) in (-32601, -32602, -32600, -32002)
        assert await editor.actions(editor.open("a.py", "x\n"), 0, 0, 0, 1)
        assert await editor.shut_down() == 0
