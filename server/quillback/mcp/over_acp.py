"""Servers inside the editor, reached by requests over its own connection: stateless, MCP revision 2026-07-28 only."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn, Protocol

from quillback import __version__
from quillback.core.mcp_server import AcpServer
from quillback.core.message import JsonObject
from quillback.core.ports import EditorError
from quillback.core.prompts import PromptArgument
from quillback.mcp.link import (
    Connect,
    ConnectionLostError,
    Events,
    Found,
    FoundPrompt,
    FoundResource,
    Link,
    ServerError,
)
from quillback.mcp.questions import ROUNDS, further
from quillback.mcp.server import Secrets, Server
from quillback.mcp.text import one_line

VERSION = "2026-07-28"
UNAVAILABLE = -33001
"""The editor's code for a server that is not there any more."""

_META = "io.modelcontextprotocol/"
_PAGES = 50
_TOOLS = 1_000
_RESOURCES = 200
_PROMPTS = 200
_TEXT_LIMIT = 2_000
_PROGRESS_LIMIT = 300
_LISTS = ("tools", "resources", "prompts")
_CHANGES = tuple(f"notifications/{of}/list_changed" for of in _LISTS)

Heard = Callable[[str, JsonObject], None]


class Editor(Protocol):
    """What this needs of the editor; see `core.ports.Editor`."""

    def mcp_request(self, server_id: str, method: str, params: JsonObject, heard: Heard) -> Awaitable[JsonObject]: ...


async def opener(editor: Editor) -> Connect:
    """The function that opens connections through `editor`."""

    @asynccontextmanager
    async def connect(server: Server, cwd: Path, hidden: Secrets, events: Events) -> AsyncIterator[Link]:
        assert isinstance(server, AcpServer)
        link = AcpLink(editor, server.server_id, events)
        try:
            yield link
        finally:
            link.stop_following()

    return connect


class AcpLink(Link):
    def __init__(self, editor: Editor, server_id: str, events: Events) -> None:
        self._editor = editor
        self._server_id = server_id
        self._events = events
        self._reason: str | None = None
        self._capabilities: JsonObject = {}
        self._instructions = ""
        self._follower: asyncio.Task[None] | None = None
        elicitation: JsonObject = {"elicitation": {"form": {}}} if events.ask else {}
        self._meta: dict[str, object] = {
            f"{_META}protocolVersion": VERSION,
            f"{_META}clientCapabilities": elicitation,
            f"{_META}clientInfo": {"name": "quillback", "version": __version__},
        }

    @property
    def over(self) -> bool:
        return self._reason is not None

    @property
    def reason(self) -> str:
        return self._reason or ""

    @property
    def instructions(self) -> str:
        return self._instructions

    def end(self, reason: str) -> None:
        if self._reason is None:
            self._reason = reason
            self._events.ended()

    def hint(self) -> str:
        return ""

    async def open(self) -> None:
        """A server need not know discovery; then it has tools, and never says that they changed."""
        try:
            about = await self._ask("server/discover", {})
        except ServerError:
            return
        capabilities, instructions = about.get("capabilities"), about.get("instructions")
        self._capabilities = capabilities if isinstance(capabilities, dict) else {}
        self._instructions = instructions if isinstance(instructions, str) else ""
        if any(isinstance(o, dict) and o.get("listChanged") is True for o in self._capabilities.values()):
            self._follower = asyncio.create_task(self._follow())

    def stop_following(self) -> None:
        if self._follower:
            self._follower.cancel()

    async def _follow(self) -> None:
        def heard(method: str, _: JsonObject) -> None:
            if method in _CHANGES:
                self._events.changed()

        wanted = {"notifications": {f"{of}ListChanged": True for of in _LISTS}}
        with suppress(ServerError, ConnectionLostError):
            await self._ask("subscriptions/listen", wanted, heard)

    # ------------------------------------------------------------ lists

    async def tools(self) -> tuple[Found, ...]:
        from quillback.mcp.mend import mend_tools  # brings in a large library

        listed = await self._pages("tools/list", "tools", _TOOLS)
        tools, refused = await asyncio.to_thread(mend_tools, listed)
        for name, why in refused:
            self._events.left_out(name, why)
        found = {tool["name"]: Found(tool["name"], tool["description"], tool["inputSchema"]) for tool in tools}
        return tuple(found.values())

    async def resources(self) -> tuple[FoundResource, ...] | None:
        from quillback.mcp.mend import mend_resources

        if not isinstance(self._capabilities.get("resources"), dict):
            return None
        try:
            listed = await self._pages("resources/list", "resources", _RESOURCES)
        except ServerError:
            return ()
        return tuple(FoundResource(r["uri"], r["name"]) for r in mend_resources(listed))

    async def prompts(self) -> tuple[FoundPrompt, ...]:
        from quillback.mcp.mend import mend_prompts

        if not isinstance(self._capabilities.get("prompts"), dict):
            return ()
        try:
            listed = await self._pages("prompts/list", "prompts", _PROMPTS)
        except ServerError:
            return ()
        found = {
            p["name"]: FoundPrompt(p["name"], p["description"], tuple(PromptArgument(**a) for a in p["arguments"]))
            for p in mend_prompts(listed)
        }
        return tuple(found.values())

    async def _pages(self, method: str, key: str, limit: int) -> list[object]:
        items: list[object] = []
        cursor: object = None
        for _ in range(_PAGES):
            page = await self._ask(method, {"cursor": cursor} if cursor else {})
            more = page.get(key)
            items += more if isinstance(more, list) else []
            before, cursor = cursor, page.get("nextCursor")
            if not isinstance(cursor, str) or not cursor or cursor == before or len(items) >= limit:
                break
        return items[:limit]

    # ------------------------------------------------------------ calls

    async def call(self, name: str, arguments: JsonObject, on_progress: Callable[[str], None]) -> JsonObject:
        def heard(method: str, params: JsonObject) -> None:
            if method == "notifications/progress":
                on_progress(_amount(params))

        return await self._in_rounds("tools/call", {"name": name, "arguments": dict(arguments)}, heard)

    async def prompt(self, name: str, arguments: Mapping[str, str]) -> JsonObject:
        return await self._in_rounds("prompts/get", {"name": name, "arguments": dict(arguments)})

    async def _in_rounds(self, method: str, params: dict[str, Any], heard: Heard = lambda _, __: None) -> JsonObject:
        """Ask again, with the user's answers, as long as the server wants to know something first."""
        more: JsonObject | None = {}
        answer: JsonObject = {}
        for _ in range(ROUNDS):
            answer = await self._ask(method, {**params, **(more or {})}, heard)
            more = await further(answer, self._events.ask)
            if more is None:
                break
        return answer

    async def read(self, uri: str) -> JsonObject:
        from quillback.mcp.mend import mend_contents

        contents = mend_contents((await self._ask("resources/read", {"uri": uri})).get("contents"))
        return {"content": [{"type": "resource", "resource": c} for c in contents]}

    async def _ask(self, method: str, params: dict[str, Any], heard: Heard = lambda _, __: None) -> JsonObject:
        if self.over:
            raise ConnectionLostError
        try:
            return await self._editor.mcp_request(self._server_id, method, {**params, "_meta": self._meta}, heard)
        except EditorError as error:
            self._fail(error)

    def _fail(self, error: EditorError) -> NoReturn:
        text = one_line(str(error), _TEXT_LIMIT)
        if error.code == UNAVAILABLE:
            self.end(text)
            raise ConnectionLostError from None
        raise ServerError(text or "an error without a text") from None


def _amount(params: JsonObject) -> str:
    progress, total, message = params.get("progress"), params.get("total"), params.get("message")
    amount = f"{progress}/{total}" if isinstance(progress, int | float) and isinstance(total, int | float) else ""
    return one_line(f"{amount} {message if isinstance(message, str) else ''}", _PROGRESS_LIMIT)
