import asyncio
import json
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from quillback.core.mcp_server import HttpServer
from quillback.core.ports import ToolError
from quillback.mcp.server import ServerState
from support.processes import until

pytestmark = pytest.mark.anyio
PROGRAM = Path(__file__).parent.parent / "support" / "mcp_http.py"
TOKEN = {"x-token": "let-me-in"}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


class HttpProcess:
    """The server of `support/mcp_http.py`; started again on the same port after `die`."""

    def __init__(self) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}/mcp"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self.process = subprocess.Popen([sys.executable, str(PROGRAM), str(self.port)])
        deadline = time.monotonic() + 20
        while not listens(self.port):
            assert time.monotonic() < deadline, "the HTTP server does not come up"
            assert self.process.poll() is None, "the HTTP server ended"
            time.sleep(0.05)

    def stop(self) -> None:
        if self.process:
            self.process.kill()
            self.process.wait()


@pytest.fixture(scope="module")
def http():
    server = HttpProcess()
    server.start()
    yield server
    server.stop()


async def test_tools_of_an_http_server(open_room, http, said):
    made = await open_room(HttpServer("web", http.url, TOKEN))
    assert made.names() == ["mcp_read_resource", "web_add", "web_big", "web_die", "web_slow"]
    assert said(await made.call("web_add", a=2, b=3)) == "5"
    assert said(await made.call("web_big")).startswith("BBB")
    outcome = await made.call("web_add", a="no", b=3)
    assert outcome.is_error
    assert made.notices == []


async def test_cancel_and_progress_over_http(open_room, http, said):
    made = await open_room(HttpServer("web", http.url, TOKEN))
    waiting = asyncio.create_task(made.call("web_slow"))
    assert await until(lambda: made.shown == ["1/2 half way"])
    begun = time.monotonic()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert time.monotonic() - begun < 0.2
    assert said(await made.call("web_add", a=1, b=1)) == "2"


async def test_close_is_quick_while_a_call_is_open(open_room, http):
    made = await open_room(HttpServer("web", http.url, TOKEN))
    waiting = asyncio.create_task(made.call("web_slow"))
    assert await until(lambda: made.shown)
    begun = time.monotonic()
    await made.box.close()
    assert time.monotonic() - begun < 1.5
    with pytest.raises(ToolError):
        await waiting


async def test_what_cannot_be_reached_is_told_without_secrets(open_room, http):
    made = await open_room(
        HttpServer("shut", f"http://user:s3cret@127.0.0.1:{free_port()}/mcp?token=t0ken"),
        HttpServer("locked", http.url, {"authorization": "Bearer s3cret"}),
        HttpServer("wrong", http.url.replace("/mcp", "/other"), TOKEN),
        HttpServer("odd", "gopher://127.0.0.1"),
        HttpServer("text", http.url, {"x": "line\nbreak"}),
    )
    told = {notice.split('"')[1]: notice for notice in made.notices}
    assert set(told) == {"shut", "locked", "wrong", "odd", "text"}
    assert "HTTP 401" in told["locked"]
    assert "HTTP 404" in told["wrong"]
    assert not [notice for notice in made.notices if "s3cret" in notice or "t0ken" in notice]
    assert {status.state for status in made.box.status()} == {ServerState.FAILED}


async def test_a_server_that_never_answers_is_left_behind(room):
    taken = asyncio.Event()

    async def mute(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        taken.set()
        while await reader.read(1000):
            pass
        writer.close()

    listener = await asyncio.start_server(mute, "127.0.0.1", 0)
    made = room(HttpServer("mute", f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}/mcp"))
    made.box.start()
    await asyncio.wait_for(taken.wait(), 5)
    begun = time.monotonic()
    await made.box.close()
    assert time.monotonic() - begun < 1.5
    listener.close()
    await listener.wait_closed()


async def test_a_server_that_dies_in_a_call_is_reached_again(open_room, http, said):
    made = await open_room(HttpServer("web", http.url, TOKEN))
    waiting = asyncio.create_task(made.call("web_slow"))
    assert await until(lambda: made.shown)
    begun = time.monotonic()
    with pytest.raises(ToolError, match="was lost during the call"):
        await made.call("web_die")
    with pytest.raises(ToolError):
        await waiting
    assert time.monotonic() - begun < 2
    assert "web_add" in made.names()
    http.process.wait()
    http.start()
    assert said(await made.call("web_add", a=2, b=2)) == "4"


async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, seen: list[str]) -> None:
    """One connection of a server that answers the handshake and then hangs, also when it is told goodbye."""
    while head := (await reader.readuntil(b"\r\n\r\n")).decode().lower():
        length = int(head.partition("content-length:")[2].split()[0]) if "content-length:" in head else 0
        message = json.loads(await reader.readexactly(length) or b"{}")
        seen.append(message.get("method") or head.split()[0])
        match message.get("method"):
            case "initialize":
                result = {
                    "protocolVersion": "2025-06-18",
                    "capabilities": {},
                    "serverInfo": {"name": "x", "version": "1"},
                }
            case "tools/list":
                result = {"tools": [{"name": "wait", "inputSchema": {"type": "object"}}]}
            case str() if "id" not in message:
                writer.write(b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n")
                continue
            case _:
                continue
        body = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode()
        about = f"content-type: application/json\r\nmcp-session-id: s1\r\ncontent-length: {len(body)}"
        writer.write(f"HTTP/1.1 200 OK\r\n{about}\r\n\r\n".encode() + body)


async def test_one_that_hangs_holds_up_neither_a_cancel_nor_the_close(open_room):
    seen: list[str] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            await speak(reader, writer, seen)
        writer.close()

    listener = await asyncio.start_server(serve, "127.0.0.1", 0)
    made = await open_room(HttpServer("stuck", f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}/mcp"))
    waiting = asyncio.create_task(made.call("stuck_wait"))
    assert await until(lambda: "tools/call" in seen)
    begun = time.monotonic()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert time.monotonic() - begun < 0.2
    await made.box.close()
    assert time.monotonic() - begun < 1.3
    assert "delete" in seen
    listener.close()
    await listener.wait_closed()
