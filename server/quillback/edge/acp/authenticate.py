"""authenticate: there is nothing to do over the wire; the login in a terminal is the client's to run."""

from quillback.edge.connection import Connection
from quillback_protocol import acp
from quillback_protocol.jsonrpc import INVALID_PARAMS, RpcError


async def handle(connection: Connection, request: acp.AuthenticateRequest) -> acp.AuthenticateResponse:
    raise RpcError(
        INVALID_PARAMS,
        f"There is no authentication method {request.method_id!r} to call; run `quillback login` in a terminal.",
    )
