"""Frontend tools on the wire: declarations read, calls handed to the editor, their progress taken in."""

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import suppress

from quillback.core.frontend import FrontendAnswer, FrontendTool
from quillback.core.message import Image, JsonObject, Location, ResourceLink, ResultPart, Shown, Text, ToolKind
from quillback.core.ports import ToolProgress
from quillback_protocol import acp
from quillback_protocol.converter import structure
from quillback_protocol.extensions import (
    FrontendCallRequest,
    FrontendCallResponse,
    FrontendProgressNotification,
    FrontendToolDeclaration,
)
from quillback_protocol.jsonrpc import RpcError

NAME = re.compile(r"^[a-zA-Z0-9_-]{1,64}$")
PROGRESS_CHARACTERS = 16_000
UNFIT_ROOT = ("anyOf", "oneOf", "allOf", "$ref")
log = logging.getLogger(__name__)
Call = Callable[[FrontendCallRequest], Awaitable[object]]


def declared_tools(raw: Sequence[JsonObject]) -> tuple[tuple[FrontendTool, ...], tuple[str, ...]]:
    """The tools of a declaration that can be offered, and why others cannot; the first of a name counts."""
    tools: dict[str, FrontendTool] = {}
    problems: list[str] = []
    for n, item in enumerate(raw):
        try:
            tool = _tool(structure(FrontendToolDeclaration, item))
        except (RpcError, ValueError) as error:
            problems.append(f"frontendTools[{n}]: {error}")
            continue
        if tool.name in tools:
            problems.append(f"frontendTools[{n}]: the name {tool.name} comes twice")
        tools.setdefault(tool.name, tool)
    return tuple(tools.values()), tuple(problems)


def _tool(declaration: FrontendToolDeclaration) -> FrontendTool:
    if not NAME.match(declaration.name):
        raise ValueError(f"the name {declaration.name[:80]!r} must be 1 to 64 of a-z, A-Z, 0-9, _ and -")
    schema = dict(declaration.input_schema)
    if schema.setdefault("type", "object") != "object" or any(key in schema for key in UNFIT_ROOT):
        raise ValueError(f"inputSchema of {declaration.name} must be a plain object schema")
    return FrontendTool(
        name=declaration.name,
        description=declaration.description,
        input_schema=schema,
        title=declaration.title or "",
        kind=ToolKind(declaration.kind) if declaration.kind in set(ToolKind) else ToolKind.OTHER,
        read_only=declaration.read_only,
        replaces=declaration.replaces or "",
    )


class FrontendCalls:
    """The calls that are with the editor. `call` sends one; its progress comes in by `progressed`."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._open: dict[tuple[str, str], asyncio.Queue[FrontendProgressNotification]] = {}

    def progressed(self, notification: FrontendProgressNotification) -> None:
        """Progress of a call that has ended, or never was, is dropped."""
        queue = self._open.get((notification.session_id, notification.tool_call_id))
        if queue is not None:
            queue.put_nowait(notification)

    async def run(self, request: FrontendCallRequest) -> AsyncIterator[ToolProgress | FrontendAnswer]:
        """Progress as it comes, then the answer. Cancelling it withdraws the request; raises what `call` raises."""
        key = (request.session_id, request.tool_call_id)
        queue = self._open[key] = asyncio.Queue()
        answer = asyncio.ensure_future(self._call(request))
        waiting = asyncio.ensure_future(queue.get())
        try:
            while not answer.done():
                await asyncio.wait({answer, waiting}, return_when=asyncio.FIRST_COMPLETED)
                if waiting.done():
                    yield ToolProgress(_progress(waiting.result()))
                    waiting = asyncio.ensure_future(queue.get())
            yield _answer(answer.result())
        finally:
            self._open.pop(key, None)
            waiting.cancel()
            if not answer.done():
                answer.cancel()
                with suppress(asyncio.CancelledError, Exception):
                    await answer


def _progress(notification: FrontendProgressNotification) -> tuple[Shown, ...]:
    shown = _shown(notification.content or ())
    if notification.message:
        shown = (*shown, Text(notification.message))
    return tuple(Text(s.text[-PROGRESS_CHARACTERS:]) if isinstance(s, Text) else s for s in shown)


def _answer(raw: object) -> FrontendAnswer:
    """Raises RpcError for an answer without content."""
    response = structure(FrontendCallResponse, raw if raw is not None else {})
    structured = response.structured_content
    return FrontendAnswer(
        content=tuple(_model_part(b) for b in response.content),
        is_error=response.is_error,
        shown=_shown(response.content),
        structured=structured if isinstance(structured, Mapping) else None,
        locations=tuple(Location(loc.path, loc.line) for loc in response.locations if loc.path.startswith("/")),
    )


def _model_part(block: acp.ContentBlock) -> ResultPart:
    match block:
        case acp.TextContent(text=text):
            return Text(text)
        case acp.ImageContent(data=data, mime_type=mime_type, uri=uri):
            return Image(data, mime_type, uri or "")
        case acp.ResourceLink(name=name, uri=uri):
            return Text(f"{name}: {uri}")
        case acp.EmbeddedResource(resource=resource):
            text = resource.text if isinstance(resource, acp.TextResourceContents) else "(binary)"
            return Text(f"{resource.uri}:\n{text}")
        case acp.AudioContent():
            return Text("(audio, left out)")


def _shown(blocks: Sequence[acp.ContentBlock]) -> tuple[Shown, ...]:
    return tuple(ResourceLink(b.uri, b.name) if isinstance(b, acp.ResourceLink) else _model_part(b) for b in blocks)
