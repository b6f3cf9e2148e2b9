"""Tools for models that have none: they are described in the system prompt, and calls are written as text.

The stream is rewritten as it comes: what lies between the marks of a call becomes a call, everything else stays text.
"""

import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, nullcontext

from attrs import evolve, frozen

from quillback.core.message import Part, Text, ToolResult, ToolUse
from quillback.core.model import ModelRequest, ProviderEvent, RequestMessage, ToolSpec
from quillback.core.ports import Provider
from quillback.providers.text_calls import CLOSE, OPEN, RESULT, Rewriter

HOW = f"""\
# Tools

You work with tools. To call one, write exactly this, with the arguments as one JSON object:

{OPEN}
{{"name": "TOOL", "arguments": {{"PARAMETER": "VALUE"}}}}
{CLOSE}

You may write several of these. After them stop and write nothing more: the results come in the next message, as \
{RESULT}...</tool_result>. Never write a result yourself.

The tools, each with the JSON schema of its arguments:
"""


@frozen
class TextTools:
    """Implements the Provider port around another one, which `inner` is."""

    inner: Provider

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ProviderEvent, None]:
        rewriter = Rewriter() if request.tools else None
        stream = self.inner.stream(as_text(request))
        async with aclosing(stream) if isinstance(stream, AsyncGenerator) else nullcontext():
            async for event in stream:
                for new in [event] if rewriter is None else rewriter.feed(event):
                    yield new

    async def close(self) -> None:
        await self.inner.close()


def as_text(request: ModelRequest) -> ModelRequest:
    """The request without any tool in it; every part keeps its place, so that the cache marks still fit."""
    names: dict[str, str] = {}
    messages = tuple(RequestMessage(m.role, tuple(_part(p, names) for p in m.parts)) for m in request.messages)
    system = f"{request.system}\n\n{describe(request.tools)}" if request.tools else request.system
    return evolve(request, system=system, messages=messages, tools=())


def describe(tools: Sequence[ToolSpec]) -> str:
    lines = [
        f"## {tool.name}\n{tool.description}\n{json.dumps(tool.input_schema, ensure_ascii=False, default=str)}"
        for tool in tools
    ]
    return HOW + "\n" + "\n\n".join(lines)


def call_text(name: str, arguments: object) -> str:
    return f"{OPEN}\n{json.dumps({'name': name, 'arguments': arguments}, ensure_ascii=False, default=str)}\n{CLOSE}"


def _part(part: Part, names: dict[str, str]) -> Part:
    match part:
        case ToolUse(id=call_id, name=name, input=given, raw=raw, problem=problem):
            names[call_id] = name
            return Text(f"{OPEN}\n{raw}\n{CLOSE}" if problem and raw else call_text(name, dict(given)))
        case ToolResult(call_id=call_id, is_error=is_error, content=content):
            text = "".join(c.text if isinstance(c, Text) else "(an image)" for c in content)
            how = ' status="error"' if is_error else ""
            return Text(f'{RESULT[:-1]} name="{names.get(call_id, "")}"{how}>\n{text}\n</tool_result>')
        case _:
            return part
