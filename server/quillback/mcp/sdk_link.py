"""The requests of an open connection to an MCP server, through the SDK."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import NoReturn

from mcp.client.subscriptions import SubscriptionLost, listen
from mcp.types import (
    CONNECTION_CLOSED,
    METHOD_NOT_FOUND,
    UNSUPPORTED_PROTOCOL_VERSION,
    CallToolRequest,
    CallToolRequestParams,
    CallToolResult,
    GetPromptRequest,
    GetPromptRequestParams,
    GetPromptResult,
    PaginatedRequestParams,
)

from mcp import ClientSession, MCPError
from quillback.core.message import JsonObject
from quillback.core.prompts import PromptArgument
from quillback.mcp.link import ConnectionLostError, Events, Found, FoundPrompt, FoundResource, Link, ServerError
from quillback.mcp.questions import ROUNDS, further
from quillback.mcp.server import Secrets
from quillback.mcp.text import one_line
from quillback.mcp.wire import WHOLE

PAGES = 50
TOOLS = 1_000
RESOURCES = 200
PROMPTS = 200
ERROR_LIMIT = 2_000
PROGRESS_LIMIT = 300
_LOST_TEXTS = ("Connection closed", "SSE stream", "Session terminated")


class Ending:
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
    def __init__(self, session: ClientSession, ending: Ending, hidden: Secrets, events: Events) -> None:
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
        lists = (capabilities.tools, capabilities.resources, capabilities.prompts) if capabilities else ()
        if any(listed and listed.list_changed for listed in lists):
            self._follower = asyncio.create_task(self._follow())

    async def _follow(self) -> None:
        with suppress(MCPError, SubscriptionLost, TimeoutError):
            async with listen(
                self._session, tools_list_changed=True, resources_list_changed=True, prompts_list_changed=True
            ) as changes:
                async for _ in changes:
                    self._events.changed()

    def stop_following(self) -> None:
        if self._follower:
            self._follower.cancel()

    async def tools(self) -> tuple[Found, ...]:
        found: dict[str, Found] = {}
        cursor: str | None = None
        for _ in range(PAGES):
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
            if not page.next_cursor or page.next_cursor == cursor or len(found) > TOOLS:
                break
            cursor = page.next_cursor
        for name in list(found)[TOOLS:]:
            self._events.left_out(name, f"the server has more than {TOOLS:,} tools")
        return tuple(found.values())[:TOOLS]

    async def call(self, name: str, arguments: JsonObject, on_progress: Callable[[str], None]) -> JsonObject:
        async def progressed(progress: float, total: float | None, message: str | None) -> None:
            amount = f"{progress:g}/{total:g}" if total else ""
            on_progress(self._hidden.in_result(one_line(f"{amount} {message or ''}", PROGRESS_LIMIT)))

        more: JsonObject | None = {}
        answer: JsonObject = {}
        for _ in range(ROUNDS):
            params = CallToolRequestParams.model_validate({"name": name, "arguments": dict(arguments), **(more or {})})
            try:
                result = await self._session.send_request(
                    CallToolRequest(params=params), CallToolResult, progress_callback=progressed
                )
            except (MCPError, ValueError) as error:
                self._fail(error)
            answer = result.structured_content
            more = await further(answer, self._events.ask)
            if more is None:
                break
        return answer

    @property
    def instructions(self) -> str:
        return self._session.instructions or ""

    async def resources(self) -> tuple[FoundResource, ...] | None:
        capabilities = self._session.server_capabilities
        if not capabilities or not capabilities.resources:
            return None
        found: dict[str, FoundResource] = {}
        cursor: str | None = None
        for _ in range(PAGES):
            params = PaginatedRequestParams(cursor=cursor) if cursor else None
            try:
                page = await self._session.list_resources(params=params)
            except (MCPError, ValueError) as error:
                if self.over:
                    self._fail(error)
                break
            for resource in page.resources:
                found.setdefault(resource.uri, FoundResource(resource.uri, resource.name))
            if not page.next_cursor or page.next_cursor == cursor or len(found) >= RESOURCES:
                break
            cursor = page.next_cursor
        return tuple(found.values())[:RESOURCES]

    async def read(self, uri: str) -> JsonObject:
        try:
            result = await self._session.read_resource(uri)
        except (MCPError, ValueError, RuntimeError) as error:
            self._fail(error)
        contents = [c.model_dump(by_alias=True, mode="json", exclude_none=True) for c in result.contents]
        return {"content": [{"type": "resource", "resource": c} for c in contents]}

    async def prompts(self) -> tuple[FoundPrompt, ...]:
        capabilities = self._session.server_capabilities
        if not capabilities or not capabilities.prompts:
            return ()
        found: dict[str, FoundPrompt] = {}
        cursor: str | None = None
        for _ in range(PAGES):
            params = PaginatedRequestParams(cursor=cursor) if cursor else None
            try:
                page = await self._session.list_prompts(params=params)
            except (MCPError, ValueError) as error:
                if self.over:
                    self._fail(error)
                break
            for prompt in page.prompts:
                arguments = (
                    PromptArgument(a.name, a.description or "", a.required is True) for a in prompt.arguments or ()
                )
                found.setdefault(prompt.name, FoundPrompt(prompt.name, prompt.description or "", tuple(arguments)))
            if not page.next_cursor or page.next_cursor == cursor or len(found) >= PROMPTS:
                break
            cursor = page.next_cursor
        return tuple(found.values())[:PROMPTS]

    async def prompt(self, name: str, arguments: Mapping[str, str]) -> JsonObject:
        more: JsonObject | None = {}
        answer: JsonObject = {}
        for _ in range(ROUNDS):
            params = GetPromptRequestParams.model_validate({"name": name, "arguments": dict(arguments), **(more or {})})
            try:
                result = await self._session.send_request(GetPromptRequest(params=params), GetPromptResult)
            except (MCPError, ValueError) as error:
                self._fail(error)
            answer = (result.meta or {})[WHOLE]
            more = await further(answer, self._events.ask)
            if more is None:
                break
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
        raise ServerError(self._hidden.in_result(one_line(text, ERROR_LIMIT)) or "an error without a text") from None
