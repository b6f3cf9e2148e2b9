"""session/set_config_option: mode, model, thinking."""

from quillback.core.model import Thinking
from quillback.core.ports import Mode
from quillback.edge.acp.options import config_options
from quillback.edge.connection import Connection
from quillback_protocol import acp
from quillback_protocol.jsonrpc import INVALID_PARAMS, RpcError


async def handle(
    connection: Connection, request: acp.SetSessionConfigOptionRequest
) -> acp.SetSessionConfigOptionResponse:
    session = connection.session(request.session_id)
    value = _allowed(request, config_options(connection, session))
    match request.config_id:
        case "mode":
            session.set_mode(Mode(value))
            await connection.show(request.session_id, [acp.CurrentModeUpdate(value)])
        case "model":
            session.set_model(value)
        case _:
            session.set_thinking(Thinking(value))
    return acp.SetSessionConfigOptionResponse(config_options(connection, session))


def _allowed(request: acp.SetSessionConfigOptionRequest, options: tuple[acp.SessionConfigOption, ...]) -> str:
    option = next((o for o in options if o.id == request.config_id), None)
    if not isinstance(option, acp.SelectConfigOption):
        known = ", ".join(o.id for o in options)
        raise RpcError(INVALID_PARAMS, f"configId: there is no option {request.config_id!r}; the options are {known}")
    values = [o.value for o in option.options if isinstance(o, acp.SessionConfigSelectOption)]
    if request.value not in values or not isinstance(request.value, str):
        raise RpcError(INVALID_PARAMS, f"value: {request.config_id} can be {', '.join(values)}")
    return request.value
