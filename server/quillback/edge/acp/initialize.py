"""initialize"""

from quillback.edge.connection import Connection
from quillback.edge.handshake import Json, initialize_result
from quillback_protocol import acp
from quillback_protocol.converter import unstructure


async def handle(connection: Connection, request: acp.InitializeRequest) -> Json:
    connection.offered(request)
    return initialize_result(unstructure(request))
