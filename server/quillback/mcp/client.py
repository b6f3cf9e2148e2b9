"""One open connection to an MCP server, through the SDK.

Importing this module takes about a second: see `link.load`.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn

import anyio
import httpx2
from mcp.client.session import IncomingMessage
from mcp.client.stdio import get_default_environment
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import SubscriptionLost, listen
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp.shared.message import SessionMessage
from mcp.shared.transport_context import TransportContext
from mcp.types import (
    CONNECTION_CLOSED,
    METHOD_NOT_FOUND,
    UNSUPPORTED_PROTOCOL_VERSION,
    CallToolRequest,
    CallToolRequestParams,
    CallToolResult,
    Implementation,
    PaginatedRequestParams,
    ToolListChangedNotification,
)

from mcp import ClientSession, MCPError
from quillback import __version__
from quillback.core.mcp_server import HttpServer, StdioServer
from quillback.core.message import JsonObject
from quillback.mcp.link import ConnectionLostError, Events, Found, Link, ServerError
from quillback.mcp.process import LINE_LIMIT, launch
from quillback.mcp.server import Secrets, Server
from quillback.mcp.text import one_line
from quillback.mcp.wire import Stdin, TolerantDispatcher, pump

_PAGES = 50
_TOOLS = 1_000
_ERROR_LIMIT = 2_000
_PROGRESS_LIMIT = 300
_HTTP_TIMEOUT = httpx2.Timeout(30, read=300)
_GOODBYE = {"connect": 0.5, "read": 0.5, "write": 0.5, "pool": 0.5}
_LOST_TEXTS = ("Connection closed", "SSE stream", "Session terminated")


class _Ending:
    """Whether and how a connection ended, and what is known besides."""

    def __init__(self, told: Callable[[], None]) -> None:
        self._told = told
        self.over = False
        self.reason = ""
        self.hint: Callable[[], str] = str

    def end(self, reason: str) -> None:
        if not self.over:
            self.over, self.reason = True, reason
            self._told()


class SdkLink(Link):
    def __init__(self, session: ClientSession, ending: _Ending, hidden: Secrets, events: Events) -> None:
        self._session = session
        self._ending = ending
        self._hidden = hidden
        self._events = events
        self._follower: asyncio.Task[None] | None = None

    @property
    def over(self) -> bool:
        return self._ending.over

    @property
    def reason(self) -> str:
        return self._ending.reason

    def end(self, reason: str) -> None:
        self._ending.end(reason)

    def hint(self) -> str:
        return self._ending.hint()

    async def open(self) -> None:
        try:
            await self._session.initialize()
        except MCPError as error:
            if error.code not in (METHOD_NOT_FOUND, UNSUPPORTED_PROTOCOL_VERSION):
                self._fail(error)
            await self._discover()
        except (ValueError, RuntimeError) as error:
            self._fail(error)

    async def _discover(self) -> None:
        """The way of servers that know only the revisions without a handshake."""
        try:
            await self._session.discover()
        except (MCPError, ValueError, RuntimeError) as error:
            self._fail(error)
        capabilities = self._session.server_capabilities
        if capabilities and capabilities.tools and capabilities.tools.list_changed:
            self._follower = asyncio.create_task(self._follow())

    async def _follow(self) -> None:
        with suppress(MCPError, SubscriptionLost, TimeoutError):
            async with listen(self._session, tools_list_changed=True) as changes:
                async for _ in changes:
                    self._events.tools_changed()

    def stop_following(self) -> None:
        if self._follower:
            self._follower.cancel()

    async def tools(self) -> tuple[Found, ...]:
        found: dict[str, Found] = {}
        cursor: str | None = None
        for _ in range(_PAGES):
            params = PaginatedRequestParams(cursor=cursor) if cursor else None
            try:
                page = await self._session.list_tools(params=params)
            except MCPError as error:
                if error.code == METHOD_NOT_FOUND and not self.over:
                    return ()
                self._fail(error)
            except ValueError as error:
                self._fail(error)
            for tool in page.tools:
                found.setdefault(tool.name, Found(tool.name, tool.description or "", tool.input_schema))
            if not page.next_cursor or page.next_cursor == cursor or len(found) > _TOOLS:
                break
            cursor = page.next_cursor
        for name in list(found)[_TOOLS:]:
            self._events.left_out(name, f"the server has more than {_TOOLS:,} tools")
        return tuple(found.values())[:_TOOLS]

    async def call(self, name: str, arguments: JsonObject, on_progress: Callable[[str], None]) -> JsonObject:
        async def progressed(progress: float, total: float | None, message: str | None) -> None:
            amount = f"{progress:g}/{total:g}" if total else ""
            on_progress(self._hidden.in_result(one_line(f"{amount} {message or ''}", _PROGRESS_LIMIT)))

        request = CallToolRequest(params=CallToolRequestParams(name=name, arguments=dict(arguments)))
        try:
            result = await self._session.send_request(request, CallToolResult, progress_callback=progressed)
        except (MCPError, ValueError) as error:
            self._fail(error)
        answer: JsonObject = result.structured_content
        return answer

    def _fail(self, error: Exception) -> NoReturn:
        """Raise what the caller should know: the server said no, or is gone."""
        if isinstance(error, ValueError):
            raise ServerError("its answer does not follow the protocol") from None
        if isinstance(error, MCPError):
            gone = error.code == CONNECTION_CLOSED or error.message == _LOST_TEXTS[-1]
            if self.over or (gone and error.message.startswith(_LOST_TEXTS)):
                raise ConnectionLostError from None
        text = error.message if isinstance(error, MCPError) else str(error)
        raise ServerError(self._hidden.in_result(one_line(text, _ERROR_LIMIT)) or "an error without a text") from None


def _transport(
    server: Server, cwd: Path, hidden: Secrets, ending: _Ending
) -> AbstractAsyncContextManager[JSONRPCDispatcher[TransportContext]]:
    match server:
        case StdioServer():
            return _over_stdio(server, cwd, hidden, ending)
        case HttpServer():
            return _over_http(server, ending)


@asynccontextmanager
async def _over_stdio(
    server: StdioServer, cwd: Path, hidden: Secrets, ending: _Ending
) -> AsyncIterator[JSONRPCDispatcher[TransportContext]]:
    process = await launch(server, cwd, get_default_environment(), hidden)
    ending.hint = lambda: f"its last words: {said}" if (said := process.last_words()) else ""
    deliver, received = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    pumping = asyncio.create_task(pump(process, deliver, ending.end))
    try:
        yield JSONRPCDispatcher(received, Stdin(process))
    finally:
        pumping.cancel()
        deliver.close()
        received.close()
        await process.stop()


@asynccontextmanager
async def _over_http(server: HttpServer, ending: _Ending) -> AsyncIterator[JSONRPCDispatcher[TransportContext]]:
    async def before(request: httpx2.Request) -> None:
        if request.method == "DELETE":  # the goodbye; closing must not wait for a server that hangs
            request.extensions["timeout"] = _GOODBYE

    async def after(response: httpx2.Response) -> None:
        status = response.status_code
        ending.hint = (lambda: f"HTTP {status} {response.reason_phrase}") if status >= 400 else str

    hooks: dict[str, list[Callable[..., Any]]] = {"request": [before], "response": [after]}
    async with (
        httpx2.AsyncClient(headers=dict(server.headers), timeout=_HTTP_TIMEOUT, event_hooks=hooks) as http,
        streamable_http_client(server.url, http_client=http, max_sse_event_size=LINE_LIMIT) as (read, write),
    ):
        yield JSONRPCDispatcher(read, write)


@asynccontextmanager
async def connect(server: Server, cwd: Path, hidden: Secrets, events: Events) -> AsyncIterator[Link]:
    """Start or reach `server`; leaving the context ends it. To be entered and left by one task.

    Raises OSError, ValueError or, possibly inside exception groups, errors of the HTTP library.
    """

    async def heard(message: IncomingMessage) -> None:
        if isinstance(message, ToolListChangedNotification):
            events.tools_changed()

    ending = _Ending(events.ended)
    us = Implementation(name="quillback", version=__version__)
    async with _transport(server, cwd, hidden, ending) as inner:
        dispatcher = TolerantDispatcher(inner, events.left_out)
        async with ClientSession(dispatcher=dispatcher, message_handler=heard, client_info=us) as session:
            link = SdkLink(session, ending, hidden, events)
            try:
                yield link
            finally:
                link.stop_following()
