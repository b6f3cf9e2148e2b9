"""One open connection to an MCP server, through the SDK.

Importing this module takes about a second: see `link.load`.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
from mcp.client.session import ClientRequestContext, ElicitationFnT, IncomingMessage
from mcp.client.stdio import get_default_environment
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp.shared.message import SessionMessage
from mcp.shared.transport_context import TransportContext
from mcp.types import (
    INVALID_PARAMS,
    ElicitRequestFormParams,
    ElicitRequestParams,
    ElicitResult,
    ErrorData,
    Implementation,
    PromptListChangedNotification,
    ResourceListChangedNotification,
    ToolListChangedNotification,
)

from mcp import ClientSession
from quillback import __version__
from quillback.core.mcp_server import AcpServer, HttpServer, StdioServer
from quillback.mcp.link import Ask, Events, Link
from quillback.mcp.process import LINE_LIMIT, launch
from quillback.mcp.questions import answered
from quillback.mcp.sdk_link import Ending, SdkLink
from quillback.mcp.server import Secrets, Server
from quillback.mcp.wire import Stdin, TolerantDispatcher, pump

LISTS_CHANGED = (ToolListChangedNotification, ResourceListChangedNotification, PromptListChangedNotification)
_HTTP_TIMEOUT = httpx2.Timeout(30, read=300)
_GOODBYE = {"connect": 0.5, "read": 0.5, "write": 0.5, "pool": 0.5}


def _transport(
    server: Server, cwd: Path, hidden: Secrets, ending: Ending
) -> AbstractAsyncContextManager[JSONRPCDispatcher[TransportContext]]:
    match server:
        case StdioServer():
            return _over_stdio(server, cwd, hidden, ending)
        case HttpServer():
            return _over_http(server, ending)
        case AcpServer():
            raise ValueError("servers in the editor are reached through it")


@asynccontextmanager
async def _over_stdio(
    server: StdioServer, cwd: Path, hidden: Secrets, ending: Ending
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
async def _over_http(server: HttpServer, ending: Ending) -> AsyncIterator[JSONRPCDispatcher[TransportContext]]:
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


def _questions(ask: Ask | None) -> ElicitationFnT | None:
    if ask is None:
        return None

    async def elicit(  # the SDK knows the parameters by these names
        context: ClientRequestContext, params: ElicitRequestParams
    ) -> ElicitResult | ErrorData:
        if not isinstance(params, ElicitRequestFormParams):
            return ErrorData(code=INVALID_PARAMS, message="only forms can be shown")
        answer = await answered(ask, params.message, params.requested_schema)
        return ElicitResult.model_validate(answer)

    return elicit


@asynccontextmanager
async def connect(server: Server, cwd: Path, hidden: Secrets, events: Events) -> AsyncIterator[Link]:
    """Start or reach `server`; leaving the context ends it. To be entered and left by one task.

    Raises OSError, ValueError or, possibly inside exception groups, errors of the HTTP library.
    """

    async def heard(message: IncomingMessage) -> None:
        if isinstance(message, LISTS_CHANGED):
            events.changed()

    ending = Ending(events.ended)
    us = Implementation(name="quillback", version=__version__)
    async with _transport(server, cwd, hidden, ending) as inner:
        dispatcher = TolerantDispatcher(inner, events.left_out)
        async with ClientSession(
            dispatcher=dispatcher, message_handler=heard, elicitation_callback=_questions(events.ask), client_info=us
        ) as session:
            link = SdkLink(session, ending, hidden, events)
            try:
                yield link
            finally:
                link.stop_following()
