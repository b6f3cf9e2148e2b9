"""A tool of an MCP server as a tool of the session.

A server's claim that a tool only reads is a hint of a foreign program, so every call counts as one that may write.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

from attrs import evolve, frozen

from quillback.core.message import JsonObject, Location, Shown, Text, ToolKind
from quillback.core.model import Sketch, ToolSpec
from quillback.core.ports import Access, ToolOutcome, ToolProgress
from quillback.mcp.connection import Connection
from quillback.mcp.link import Found
from quillback.mcp.result import Reading
from quillback.mcp.text import Keep, one_line

_PROGRESS_PAUSE = 0.1
_TITLE_LIMIT = 120
_UNKNOWN = Access()


Request = Callable[[Callable[[str], None]], Awaitable[JsonObject]]


@frozen
class McpTool:
    """`found.name` is what the server calls it."""

    spec: ToolSpec
    found: Found
    connection: Connection
    keep: Keep

    def touches(self, arguments: JsonObject) -> frozenset[str]:
        return frozenset()

    async def prepare(self, call_id: str, arguments: JsonObject) -> "McpCall":
        """Nothing is known beforehand of what it will touch."""
        connection, name = self.connection, self.found.name
        reading = Reading(connection.hidden.in_result, self.keep)
        return McpCall(lambda told: connection.call(name, arguments, told), reading)


@frozen
class McpCall:
    """`request` gets what takes its progress, and gives an answer in the form of a result of tools/call."""

    request: Request
    reading: Reading
    access: Access = _UNKNOWN
    shown: tuple[Shown, ...] = ()
    locations: tuple[Location, ...] = ()

    async def run(self) -> AsyncIterator[ToolProgress | ToolOutcome]:
        told: list[str] = []
        news = asyncio.Event()

        def progressed(text: str) -> None:
            if text:
                told[:] = [text]  # only the latest counts
                news.set()

        call = asyncio.create_task(self._outcome(progressed))
        call.add_done_callback(lambda _: news.set())
        try:
            while not call.done():
                await news.wait()
                news.clear()
                if told and not call.done():
                    yield ToolProgress((Text(told.pop()),))
                    await asyncio.wait({call}, timeout=_PROGRESS_PAUSE)
            yield call.result()
        finally:
            call.cancel()

    async def _outcome(self, progressed: Callable[[str], None]) -> ToolOutcome:
        answer = await self.request(progressed)
        return await asyncio.to_thread(self.reading.outcome, answer)


def offer(found: Found, name: str, connection: Connection, keep: Keep, instructions: str = "") -> McpTool:
    """`found` under the name a model calls it by; `instructions` are the server's, for all its tools."""
    title = one_line(f"{connection.server.name}: {found.name}", _TITLE_LIMIT)
    description = found.description or f"The tool {title}, of an MCP server."
    if instructions:
        description += f"\n\nThe MCP server says of all its tools: {instructions}"
    spec = ToolSpec(
        name=name,
        description=description,
        input_schema=found.schema,
        kind=ToolKind.OTHER,
        describe=lambda _: Sketch(title),
    )
    return McpTool(spec, found, connection, evolve(keep, name=f"{keep.name}-{name}"))
