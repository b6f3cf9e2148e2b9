"""_quillback/session/steer: a user message for the turn that runs; it is shown when the model gets it."""

from quillback.core.ports import StoreError
from quillback.edge.connection import Connection
from quillback.edge.convert import prompt_parts
from quillback.session.session import ClosedError, NotRunningError
from quillback_protocol.extensions import SteerRequest, SteerResponse
from quillback_protocol.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, RpcError


async def handle(connection: Connection, request: SteerRequest) -> SteerResponse:
    session = connection.session(request.session_id)
    try:
        return SteerResponse(await session.steer(prompt_parts(request.prompt)))
    except ValueError as error:
        raise RpcError(INVALID_PARAMS, f"prompt: {error}") from None
    except (NotRunningError, ClosedError) as error:
        raise RpcError(INVALID_REQUEST, str(error)) from None
    except StoreError as error:
        raise RpcError(INTERNAL_ERROR, str(error)) from None
