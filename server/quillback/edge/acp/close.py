"""session/close: what runs is cancelled and answered first."""

from quillback.edge.connection import Connection, unknown_session
from quillback.session.registry import UnknownSessionError
from quillback_protocol import acp


async def handle(connection: Connection, request: acp.CloseSessionRequest) -> acp.CloseSessionResponse:
    connection.advertising.end(request.session_id)
    try:
        await connection.sessions.close(request.session_id)
    except UnknownSessionError as error:
        raise unknown_session(error.session_id) from None
    connection.editor.forget(request.session_id)
    return acp.CloseSessionResponse()
