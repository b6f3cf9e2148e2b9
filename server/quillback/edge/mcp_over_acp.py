"""MCP servers inside the editor: requests to them over the editor's own connection, and what belongs to these."""

import itertools
from collections.abc import Awaitable, Callable

from quillback.core.message import JsonObject
from quillback.core.ports import EditorError
from quillback_protocol.extensions import McpMessage

Heard = Callable[[str, JsonObject], None]


class McpMessages:
    """`send` makes the request of the connection and returns its raw result; it raises EditorError."""

    def __init__(self, send: Callable[[McpMessage], Awaitable[object]]) -> None:
        self._send = send
        self._ids = itertools.count(1)
        self._open: dict[tuple[str, str], Heard] = {}

    def heard(self, message: McpMessage) -> None:
        """A notification; one of a request that has ended, or never was, is dropped."""
        heard = self._open.get((message.server_id, message.request_id))
        if heard is not None:
            heard(message.method, message.params or {})

    async def request(self, server_id: str, method: str, params: JsonObject, heard: Heard) -> JsonObject:
        """The server's result. Raises EditorError, with its code where the server answered with an error."""
        request_id = f"mcp-{next(self._ids)}"
        params = {**params, "_meta": {**params.get("_meta", {}), "progressToken": request_id}}
        self._open[server_id, request_id] = heard
        try:
            answer = await self._send(McpMessage(server_id, request_id, method, params))
        finally:
            del self._open[server_id, request_id]
        match answer:
            case {"result": dict() as result}:
                return result
            case {"error": {"code": int() as code, "message": str() as text}}:
                raise EditorError(text, code)
            case _:
                raise EditorError(f"its answer to {method} has neither a result nor an error")
