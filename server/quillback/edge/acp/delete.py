"""session/delete: idempotent."""

from quillback.core.ports import StoreError
from quillback.edge.connection import Connection
from quillback_protocol import acp
from quillback_protocol.jsonrpc import INTERNAL_ERROR, RpcError


async def handle(connection: Connection, request: acp.DeleteSessionRequest) -> acp.DeleteSessionResponse:
    connection.advertising.end(request.session_id)
    try:
        await connection.sessions.delete(request.session_id)
    except StoreError as error:
        raise RpcError(INTERNAL_ERROR, str(error)) from None
    connection.editor.forget(request.session_id)
    return acp.DeleteSessionResponse()
