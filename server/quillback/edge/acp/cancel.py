"""session/cancel; nothing for sessions that are idle or unknown."""

from quillback.edge.connection import Connection
from quillback_protocol import acp
from quillback_protocol.jsonrpc import RpcError


async def handle(connection: Connection, notification: acp.CancelNotification) -> None:
    try:
        session = connection.session(notification.session_id)
    except RpcError:
        return
    session.cancel()
