"""initialize"""

from quillback.edge.connection import Connection
from quillback.edge.handshake import Json, initialize_result
from quillback_protocol import acp
from quillback_protocol.converter import unstructure
from quillback_protocol.jsonrpc import INVALID_REQUEST, RpcError


async def handle(connection: Connection, request: acp.InitializeRequest) -> Json:
    if connection.initialized:
        raise RpcError(INVALID_REQUEST, "initialize was answered before; it comes once in a connection")
    connection.offered(request)
    return initialize_result(unstructure(request))
