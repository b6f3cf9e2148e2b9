"""_quillback/session/undo: puts the files of the latest turn back; the answer says what came of each."""

from quillback.core.ports import StoreError
from quillback.core.undo import undo_text
from quillback.edge.connection import Connection
from quillback.session.fork import ForkError
from quillback.session.undo import UndoBusyError, prompt_text
from quillback_protocol.extensions import LeftAlone, UndoRequest, UndoResponse
from quillback_protocol.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, RpcError


async def handle(connection: Connection, request: UndoRequest) -> UndoResponse:
    session = connection.session(request.session_id)
    try:
        report = await session.undo(request.after_message_id or "")
    except ForkError as error:
        raise RpcError(INVALID_PARAMS, f"afterMessageId: {error}") from None
    except UndoBusyError as error:
        raise RpcError(INVALID_REQUEST, str(error)) from None
    except StoreError as error:
        raise RpcError(INTERNAL_ERROR, str(error)) from None
    return UndoResponse(
        undo_text(report, session.record.cwd, prompt_text(session.history, report)),
        report.restored,
        report.removed,
        tuple(LeftAlone(path, reason) for path, reason in report.kept),
        report.prompt or None,
    )
