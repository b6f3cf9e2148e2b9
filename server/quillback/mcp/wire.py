"""What lies between the SDK's session and a server: messages over the process's pipes, and answers made bearable.

The SDK refuses a whole tool list for one bad schema and a whole result for one odd block; here each stands alone.
"""

import asyncio
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Self

import anyio
from anyio.streams.memory import MemoryObjectSendStream
from mcp.shared.dispatcher import CallOptions, Dispatcher, OnNotify, OnNotifyIntercept, OnRequest
from mcp.shared.message import SessionMessage
from mcp.shared.transport_context import TransportContext
from mcp.types import CLIENT_CAPABILITIES_META_KEY

from quillback.mcp.mend import mend_contents, mend_prompts, mend_resources, mend_tools
from quillback.mcp.parse import mended, parse
from quillback.mcp.process import ServerProcess

WHOLE = "quillback.dev/whole"
"""Where a prompt is inside the one that the SDK sees."""


async def pump(
    process: ServerProcess, session: MemoryObjectSendStream[SessionMessage | Exception], ended: Callable[[str], None]
) -> None:
    """Hand over what the server says until it ends; then tell `ended` how, and let the session's open requests fail."""
    async with session:
        async for line in process.lines():
            if message := parse(line) or await asyncio.to_thread(mended, line):
                await session.send(SessionMessage(message))
        ended(process.ending())


class Stdin:
    """The SDK's write stream. Does not wait for a server which does not read, so that none can hold up a cancel."""

    def __init__(self, process: ServerProcess) -> None:
        self._process = process

    async def send(self, item: SessionMessage, /) -> None:
        line = item.message.model_dump_json(by_alias=True, exclude_unset=True).encode("utf-8", "replace")
        if not self._process.write(line):
            await self._process.over()  # so that the reason is known before the request fails
            raise anyio.BrokenResourceError

    async def aclose(self) -> None:
        """The process is ended by its owner."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None


class TolerantDispatcher(Dispatcher[TransportContext]):
    """Passes everything to `inner`, but mends the answers with tools and resources before the SDK judges them."""

    def __init__(self, inner: Dispatcher[TransportContext], left_out: Callable[[str, str], None]) -> None:
        self._inner = inner
        self._left_out = left_out

    async def run(
        self,
        on_request: OnRequest,
        on_notify: OnNotify,
        on_notify_intercept: OnNotifyIntercept | None = None,
        *,
        task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED,
    ) -> None:
        await self._inner.run(on_request, on_notify, on_notify_intercept, task_status=task_status)

    async def notify(self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None) -> None:
        await self._inner.notify(method, params, opts)

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> dict[str, Any]:
        answer = await self._inner.send_raw_request(method, without_url_forms(params), opts)
        match method:
            case "tools/list":
                tools, refused = await asyncio.to_thread(mend_tools, answer.get("tools"))
                for name, why in refused:
                    self._left_out(name, why)
                return {**answer, "tools": tools}
            case "tools/call":
                return wrap_result(answer)
            case "resources/list":
                return {**answer, "resources": mend_resources(answer.get("resources"))}
            case "prompts/list":
                return {**answer, "prompts": mend_prompts(answer.get("prompts"))}
            case "prompts/get":
                return wrap_prompt(answer)
            case "resources/read":
                return {**answer, "contents": mend_contents(answer.get("contents"))}
            case _:
                return answer


def wrap_result(answer: dict[str, Any]) -> dict[str, Any]:
    """A result the SDK lets through, with the whole answer in the one field whose content is free."""
    return {"resultType": "complete", "content": [], "structuredContent": answer}


def wrap_prompt(answer: dict[str, Any]) -> dict[str, Any]:
    """As `wrap_result`, for an answer of prompts/get."""
    return {"resultType": "complete", "messages": [], "_meta": {WHOLE: answer}}


def without_url_forms(params: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """`params` without the promise, which the SDK makes for whoever can fill in forms, to open addresses as well."""
    if params is None:
        return None
    params = dict(params)
    for holder, key in ((params, "capabilities"), (params.get("_meta"), CLIENT_CAPABILITIES_META_KEY)):
        if isinstance(holder, dict) and isinstance(offered := holder.get(key), dict):
            holder[key] = {**offered, "elicitation": {"form": {}}} if offered.get("elicitation") else offered
    return params
