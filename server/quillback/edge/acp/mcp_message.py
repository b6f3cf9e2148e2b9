"""mcp/message as a notification: what a server inside the editor says while a request to it is open."""

from quillback.edge.connection import Connection
from quillback_protocol.extensions import McpMessage


async def handle(connection: Connection, notification: McpMessage) -> None:
    connection.editor.mcp.heard(notification)
