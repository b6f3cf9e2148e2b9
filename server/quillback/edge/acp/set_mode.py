"""session/set_mode; the mode is a config option too, and both stay the same."""

from quillback.core.ports import Mode
from quillback.edge.acp.options import config_options
from quillback.edge.connection import Connection
from quillback_protocol import acp
from quillback_protocol.jsonrpc import INVALID_PARAMS, RpcError


async def handle(connection: Connection, request: acp.SetSessionModeRequest) -> acp.SetSessionModeResponse:
    session = connection.session(request.session_id)
    try:
        mode = Mode(request.mode_id)
    except ValueError:
        known = ", ".join(m.value for m in Mode)
        raise RpcError(INVALID_PARAMS, f"modeId: there is no mode {request.mode_id!r}; the modes are {known}") from None
    session.set_mode(mode)
    await connection.show(
        request.session_id,
        [acp.CurrentModeUpdate(mode.value), acp.ConfigOptionUpdate(config_options(connection, session))],
    )
    return acp.SetSessionModeResponse()
