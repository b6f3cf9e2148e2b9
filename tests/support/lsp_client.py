"""A real `quillback lsp` process behind a small LSP client, which keeps its documents as an editor does.

async with lsp(tmp_path, env=scripted(tmp_path, SCRIPT)) as editor:
    doc = await editor.open("a.py", "x = 1\n")
    actions = await editor.actions(doc, 0, 0, 0, 5)
"""

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from quillback_protocol.framing import HeaderFramer
from support.agent import environment

ARGV = [sys.executable, "-m", "quillback"]
SECONDS = 20.0
Json = dict[str, Any]
PLAIN: Json = {
    "workspace": {"applyEdit": True, "workspaceEdit": {"documentChanges": True}},
    "window": {"showDocument": {"support": True}, "showMessage": {}, "workDoneProgress": True},
    "textDocument": {"codeAction": {"codeActionLiteralSupport": {"codeActionKind": {"valueSet": []}}}},
}


class LspError(Exception):
    def __init__(self, error: Json) -> None:
        super().__init__(error["message"])
        self.code = error["code"]
        self.error = error


class Buffer:
    """A document of the editor. Columns are UTF-16 units."""

    def __init__(self, path: Path, text: str) -> None:
        self.path, self.text, self.version = path, text, 1
        self.undo: list[str] = []

    @property
    def uri(self) -> str:
        return self.path.as_uri()

    def offset(self, position: Json) -> int:
        lines = self.text.split("\n")
        before = sum(len(line) + 1 for line in lines[: position["line"]])
        if position["line"] >= len(lines):
            return len(self.text)
        line = lines[position["line"]].encode("utf-16-le")
        return before + len(line[: 2 * position["character"]].decode("utf-16-le"))

    def apply(self, edits: list[Json]) -> None:
        self.undo.append(self.text)
        for edit in sorted(edits, key=lambda e: self.offset(e["range"]["start"]), reverse=True):
            start, end = (self.offset(edit["range"][side]) for side in ("start", "end"))
            self.text = self.text[:start] + edit["newText"] + self.text[end:]
        self.version += 1


class LspClient:
    """`on` maps methods of the server's requests to what answers them; what is not in there is not found.

    `told` has the server's notifications, `asked` its requests, each (method, params) in order.
    """

    def __init__(self, process: asyncio.subprocess.Process, workspace: Path) -> None:
        self.process, self.workspace = process, workspace
        self.buffers: dict[str, Buffer] = {}
        self.told: list[tuple[str, Json]] = []
        self.asked: list[tuple[str, Json]] = []
        self.loose: list[Json] = []  # answers with an id that nobody waits for
        self.result: Json = {}
        self.on: dict[str, Callable[[Json], Any]] = {
            "window/workDoneProgress/create": lambda _: None,
            "window/showDocument": lambda _: {"success": True},
            "workspace/applyEdit": self.apply,
        }
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._next = 0
        self._news = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._reader = asyncio.create_task(self._read())

    # ------------------------------------------------------------ wire

    def send_raw(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)

    def send(self, message: Json) -> None:
        self.send_raw(HeaderFramer.encode({"jsonrpc": "2.0", **message}))

    def notify(self, method: str, params: object) -> None:
        self.send({"method": method, "params": params})

    def begin(self, method: str, params: object = None) -> "tuple[int, asyncio.Future[Any]]":
        self._next += 1
        future = self._waiting[self._next] = asyncio.get_running_loop().create_future()
        self.send({"id": self._next, "method": method, **({} if params is None else {"params": params})})
        return self._next, future

    async def request(self, method: str, params: object = None) -> Any:
        _, future = self.begin(method, params)
        return await asyncio.wait_for(future, SECONDS)

    async def until(self, condition: Callable[[], Any]) -> Any:
        """Wait until something that the server sent makes `condition` true."""
        async with asyncio.timeout(SECONDS):
            while not (found := condition()):
                await self._news.wait()
            return found

    async def _read(self) -> None:
        assert self.process.stdout is not None
        framer = HeaderFramer()
        while data := await self.process.stdout.read(65536):
            for frame in framer.feed(data):
                assert isinstance(frame, dict), frame
                self._take(frame)
            self._news.set()
            self._news = asyncio.Event()

    def _take(self, frame: Json) -> None:
        assert frame["jsonrpc"] == "2.0"
        if "method" not in frame:
            future = self._waiting.pop(frame["id"], None) if isinstance(frame["id"], int) else None
            if future is None or future.done():
                self.loose.append(frame)
            elif "error" in frame:
                future.set_exception(LspError(frame["error"]))
            else:
                future.set_result(frame["result"])
        elif "id" in frame:
            self.asked.append((frame["method"], frame["params"]))
            task = asyncio.create_task(self._serve(frame))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        else:
            self.told.append((frame["method"], frame.get("params", {})))

    async def _serve(self, frame: Json) -> None:
        handler = self.on.get(frame["method"])
        if handler is None:
            self.send({"id": frame["id"], "error": {"code": -32601, "message": "method not found"}})
            return
        result = handler(frame["params"])
        if asyncio.iscoroutine(result):
            result = await result
        self.send({"id": frame["id"], "result": result})

    # ------------------------------------------------------------ an editor

    async def initialize(self, capabilities: Json | None = None, **more: object) -> Json:
        folders = [{"uri": self.workspace.as_uri(), "name": "workspace"}]
        params = {"processId": None, "rootUri": folders[0]["uri"], "workspaceFolders": folders}
        capabilities = PLAIN if capabilities is None else capabilities
        self.result = await self.request("initialize", {**params, "capabilities": capabilities, **more})
        self.notify("initialized", {})
        return self.result

    def open(self, name: str, text: str, language: str = "python", *, saved: bool = True) -> Buffer:
        buffer = Buffer(self.workspace / name, text)
        if saved:
            buffer.path.write_text(text)
        self.buffers[buffer.uri] = buffer
        item = {"uri": buffer.uri, "languageId": language, "version": 1, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": item})
        return buffer

    def change(self, buffer: Buffer, *changes: Json) -> None:
        for change in changes:
            if "range" in change:
                buffer.apply([{"range": change["range"], "newText": change["text"]}])
            else:
                buffer.text = change["text"]
        buffer.version += 1
        self._tell(buffer, list(changes))

    def _tell(self, buffer: Buffer, changes: list[Json]) -> None:
        document = {"uri": buffer.uri, "version": buffer.version}
        self.notify("textDocument/didChange", {"textDocument": document, "contentChanges": changes})

    def apply(self, params: Json) -> Json:
        """workspace/applyEdit, as an editor does it: refused where the version is not the document's."""
        for change in params["edit"]["documentChanges"]:
            buffer = self.buffers[change["textDocument"]["uri"]]
            if change["textDocument"]["version"] != buffer.version:
                return {"applied": False, "failureReason": "the document has changed"}
            buffer.apply(change["edits"])
            self._tell(buffer, [{"text": buffer.text}])
        return {"applied": True}

    async def actions(self, buffer: Buffer, *span: int, **context: object) -> list[Json]:
        """The code actions for a range: line, character, line, character."""
        params = {
            "textDocument": {"uri": buffer.uri},
            "range": spanned(*span),
            "context": {"diagnostics": [], "triggerKind": 1, **context},
        }
        found: list[Json] = await self.request("textDocument/codeAction", params)
        return found

    async def run(self, action: Json) -> Any:
        command = action["command"] if isinstance(action["command"], dict) else action
        return await self.request(
            "workspace/executeCommand", {"command": command["command"], "arguments": command["arguments"]}
        )

    async def command(self, name: str, *arguments: object) -> Any:
        return await self.request("workspace/executeCommand", {"command": name, "arguments": list(arguments)})

    def messages(self) -> list[str]:
        return [params["message"] for method, params in self.told if method == "window/showMessage"]

    def progress(self) -> list[Json]:
        return [params["value"] for method, params in self.told if method == "$/progress"]

    def asked_for(self, method: str) -> list[Json]:
        return [params for name, params in self.asked if name == method]

    def answer_with(self, *titles: str) -> None:
        """Pick these buttons, in order; the last one again and again."""
        left = list(titles)

        def pick(params: Json) -> Json:
            title = left.pop(0) if len(left) > 1 else left[0]
            found = [a for a in params["actions"] if a["title"].startswith(title)]
            assert found, (title, params["actions"])
            return dict(found[0])

        self.on["window/showMessageRequest"] = pick

    async def shut_down(self) -> int:
        await self.request("shutdown")
        self.send({"method": "exit"})
        return await self.ended()

    async def ended(self) -> int:
        return await asyncio.wait_for(self.process.wait(), SECONDS)

    async def close(self) -> None:
        with suppress(ProcessLookupError):
            self.process.kill()
        await self.process.wait()
        await self._reader
        for task in list(self._tasks):
            task.cancel()


def spanned(line: int, character: int, end_line: int, end_character: int) -> Json:
    start, end = {"line": line, "character": character}, {"line": end_line, "character": end_character}
    return {"start": start, "end": end}


def titled(actions: list[Json], title: str) -> Json:
    """The one action whose title has this in it."""
    found = [action for action in actions if title in action["title"]]
    assert len(found) == 1, (title, json.dumps(actions, indent=1))
    return found[0]


@asynccontextmanager
async def lsp(
    tmp_path: Path,
    *,
    env: Mapping[str, str] | None = None,
    base_url: str = "http://127.0.0.1:9",
    capabilities: Json | None = None,
    initialize: bool = True,
    arguments: tuple[str, ...] = ("lsp",),
) -> AsyncIterator[LspClient]:
    workspace, home = tmp_path / "workspace", tmp_path / "home"
    workspace.mkdir(exist_ok=True)
    home.mkdir(exist_ok=True)
    process = await asyncio.create_subprocess_exec(
        *ARGV,
        *arguments,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=workspace,
        env=environment(home, base_url, env),
    )
    client = LspClient(process, workspace)
    try:
        if initialize:
            await client.initialize(capabilities)
        yield client
    finally:
        await client.close()
        process._transport.close()  # else it warns when it is collected
