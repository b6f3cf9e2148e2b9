"""An MCP server inside the editor, as a client of MCP over ACP has it: stateless, revision 2026-07-28."""

import asyncio
from typing import Any

from quillback_protocol.jsonrpc import RpcError
from support.agent import Agent

Json = dict[str, Any]
METHOD = "mcp/message"
OFFER = {"_meta": {"quillback.dev": {"mcpOverAcp": True}}}
PREFIX = "io.modelcontextprotocol/"
OBJECT = {"type": "object", "properties": {"q": {"type": "string"}}}
FORM = {"type": "object", "properties": {"colour": {"type": "string"}}, "required": ["colour"]}


class InnerServer:
    """`messages` are the requests it got. `gone` makes it unavailable; calls of `wait` never end."""

    def __init__(self, a: Agent, server_id: str = "editor-1", name: str = "editor") -> None:
        self.setup = {"type": "acp", "name": name, "serverId": server_id}
        self.messages: list[Json] = []
        self.tools = ["echo", "wait", "odd name", "fail", "refuse", "ask"]
        self.gone = False
        self.cancelled: list[str] = []
        self.discovers = True
        self._a = a
        self._listening: Json = {}
        a.client.on_request(METHOD, self._message)

    def methods(self) -> list[str]:
        return [m["method"] for m in self.messages]

    def tell(self, request: Json, method: str, **params: object) -> None:
        """A notification that belongs to one of its requests."""
        told = {key: request[key] for key in ("serverId", "requestId")}
        self._a.client.notify(METHOD, {**told, "method": method, "params": params})

    def change(self, *tools: str) -> None:
        self.tools = list(tools)
        self.tell(self._listening, "notifications/tools/list_changed")

    async def _message(self, message: Json) -> object:
        self.messages.append(message)
        if self.gone:
            raise RpcError(-33001, "the server was closed")
        meta = message["params"]["_meta"]
        if meta[f"{PREFIX}protocolVersion"] != "2026-07-28" or f"{PREFIX}clientCapabilities" not in meta:
            return {"error": {"code": -32022, "message": "unsupported version"}}
        try:
            return await self._answer(message, message["params"])
        except asyncio.CancelledError:
            self.cancelled.append(message["method"])
            raise

    async def _answer(self, message: Json, params: Json) -> Json:
        match message["method"]:
            case "server/discover" if self.discovers:
                offers = {"tools": {"listChanged": True}, "resources": {}}
                return {"result": {"capabilities": offers, "instructions": "The editor's own."}}
            case "subscriptions/listen":
                self._listening = message
                await asyncio.Event().wait()
            case "tools/list":
                return {"result": {"tools": [{"name": name, "inputSchema": OBJECT} for name in self.tools] + [5]}}
            case "resources/list":
                return {"result": {"resources": [{"uri": "buffer://1", "name": "main.c"}]}}
            case "resources/read":
                return {"result": {"contents": [{"uri": params["uri"], "text": "int main;"}]}}
            case "tools/call":
                return await self._call(message, params)
        return {"error": {"code": -32601, "message": "no such method"}}

    async def _call(self, message: Json, params: Json) -> Json:
        match params["name"]:
            case "wait":
                self.tell(message, "notifications/progress", progress=1, total=2, message="half way")
                await asyncio.Event().wait()
            case "fail":
                return {"error": {"code": -32000, "message": "it does not work"}}
            case "refuse":
                raise RpcError(-33002, "the backend failed")
            case "ask" if "inputResponses" not in params:
                form = {"mode": "form", "message": "Which colour?", "requestedSchema": FORM}
                asked = {"a": {"method": "elicitation/create", "params": form}}
                return {"result": {"resultType": "input_required", "inputRequests": asked, "requestState": "s1"}}
        told = params.get("inputResponses") or f"{params['name']} {params['arguments'].get('q', '')}"
        return {"result": {"resultType": "complete", "content": [{"type": "text", "text": str(told)}]}}
