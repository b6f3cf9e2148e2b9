"""Frontend tools on the wire: declarations read, calls handed to the editor, their progress taken in."""

import asyncio
import re
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import suppress

from quillback.core.frontend import FrontendAnswer, FrontendTool
from quillback.core.message import Image, JsonObject, Location, ResourceLink, Text, ToolKind
from quillback.core.ports import EditorError, ToolProgress
from quillback.edge.frontend_schema import plain_schema
from quillback_protocol import acp
from quillback_protocol.converter import structure
from quillback_protocol.extensions import (
    FrontendCallRequest,
    FrontendCallResponse,
    FrontendProgressNotification,
    FrontendToolDeclaration,
)
from quillback_protocol.jsonrpc import RpcError

NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
DESCRIPTION_LENGTH = 8_000
Call = Callable[[FrontendCallRequest], Awaitable[object]]


def declared_tools(raw: object) -> tuple[tuple[FrontendTool, ...], tuple[str, ...]]:
    """The tools of a declaration that can be offered, and why others cannot; the first of a name counts."""
    if not isinstance(raw, list | tuple):
        return (), ("frontendTools: this is no list of tools",)
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
    name = declaration.name
    if not NAME.fullmatch(name):
        raise ValueError(f"the name {name[:80]!r} must be 1 to 64 of a-z, A-Z, 0-9, _ and -")
    try:
        schema = plain_schema(declaration.input_schema)
    except ValueError as error:
        raise ValueError(f"inputSchema of {name}: {error}") from None
    return FrontendTool(
        name=name,
        description=_valid(declaration.description)[:DESCRIPTION_LENGTH],
        input_schema=schema,
        title=_valid(declaration.title or ""),
        kind=ToolKind(declaration.kind) if declaration.kind in set(ToolKind) else ToolKind.OTHER,
        read_only=declaration.read_only,
        replaces=declaration.replaces or "",
    )


def _valid(text: str) -> str:
    """`text` without halves of characters."""
    return text.encode(errors="replace").decode()


class _Open:
    """A call that is with the editor. Only the latest progress counts, since each says all there is to show."""

    def __init__(self) -> None:
        self.latest: FrontendProgressNotification | None = None
        self.news = asyncio.Event()


class FrontendCalls:
    """The calls that are with the editor. `call` sends one; its progress comes in by `progressed`."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._open: dict[tuple[str, str], _Open] = {}

    def progressed(self, notification: FrontendProgressNotification) -> None:
        """Progress of a call that has ended, or never was, is dropped."""
        call = self._open.get((notification.session_id, notification.tool_call_id))
        if call is not None:
            call.latest = notification
            call.news.set()

    async def run(self, request: FrontendCallRequest) -> AsyncGenerator[ToolProgress | FrontendAnswer, None]:
        """Progress as it comes, then the answer. Raises EditorError. Cancelling it withdraws the request."""
        key = (request.session_id, request.tool_call_id)
        call = self._open[key] = _Open()
        answer = asyncio.ensure_future(self._call(request))
        answer.add_done_callback(lambda _: call.news.set())
        try:
            while not answer.done():
                await call.news.wait()
                call.news.clear()
                latest, call.latest = call.latest, None
                if latest is not None and not answer.done():
                    yield ToolProgress(_progress(latest))
            yield _answer(answer.result())
        finally:
            self._open.pop(key, None)
            if not answer.done():
                answer.cancel()
                with suppress(asyncio.CancelledError, Exception):
                    await answer


def _progress(notification: FrontendProgressNotification) -> tuple[Text | Image | ResourceLink, ...]:
    shown = tuple(map(_part, notification.content))
    return (*shown, Text(notification.message)) if notification.message else shown


def _answer(raw: object) -> FrontendAnswer:
    """Raises EditorError for an answer that cannot be read; it says nothing of what the call did."""
    try:
        response = structure(FrontendCallResponse, _forgiven(raw))
    except RpcError as error:
        text = f"its answer cannot be read ({error.message}); the call may have had effects"
        raise EditorError(text, error.code) from None
    return FrontendAnswer(
        content=tuple(map(_part, response.content)),
        is_error=response.is_error,
        structured=response.structured_content,
        locations=tuple(Location(loc.path, loc.line) for loc in response.locations if loc.path.startswith("/")),
    )


def _forgiven(raw: object) -> object:
    """Nothing and bare texts are taken for the objects they stand for."""
    if raw is None:
        return {}
    if isinstance(raw, str):
        return {"content": [_block(raw)]}
    if not isinstance(raw, dict):
        return raw
    content = raw.get("content")
    blocks = [content] if isinstance(content, str) else content
    if not isinstance(blocks, list):
        return raw
    return {**raw, "content": [_block(b) if isinstance(b, str) else b for b in blocks]}


def _block(text: str) -> JsonObject:
    return {"type": "text", "text": text}


def _part(block: acp.ContentBlock) -> Text | Image | ResourceLink:
    match block:
        case acp.TextContent(text=text):
            return Text(text)
        case acp.ImageContent(data=data, mime_type=mime_type, uri=uri):
            return Image(data, mime_type, uri or "")
        case acp.ResourceLink(name=name, uri=uri):
            return ResourceLink(uri, name)
        case acp.EmbeddedResource(resource=resource):
            text = resource.text if isinstance(resource, acp.TextResourceContents) else "(binary)"
            return Text(f"{resource.uri}:\n{text}")
        case acp.AudioContent():
            return Text("(audio, left out)")
