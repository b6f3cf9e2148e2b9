"""A streamable HTTP MCP server of the SDK, run as a program: `mcp_http.py PORT`.

Every request needs the header `x-token: let-me-in`.
"""

import asyncio
import os
import sys

import uvicorn
from mcp.server.mcpserver import Context, MCPServer
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

server = MCPServer("test")


@server.tool()
def add(a: int, b: int) -> int:
    """Adds."""
    return a + b


@server.tool()
async def slow(ctx: Context) -> str:
    """Reports progress, then never ends."""
    await ctx.report_progress(1, 2, "half way")
    await asyncio.Event().wait()
    return "never"


@server.tool()
def die() -> str:
    """Ends the server."""
    os._exit(5)


@server.tool()
def big() -> str:
    """More than the usual limit of an event."""
    return "B" * 2_000_000


class Door:
    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and (b"x-token", b"let-me-in") not in scope["headers"]:
            await PlainTextResponse("who are you", 401)(scope, receive, send)
        else:
            await self._app(scope, receive, send)


if __name__ == "__main__":
    app = server.streamable_http_app()
    app.user_middleware.append(Middleware(Door))
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="error")
