"""session/list, newest first. The cursor is opaque to clients: time and id of the last entry of the page before."""

import base64
import binascii
import json
from datetime import UTC, datetime
from pathlib import Path

from quillback.core.ports import SessionRecord, StoreError
from quillback.edge.connection import Connection
from quillback_protocol import acp
from quillback_protocol.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS, RpcError

PAGE = 50


async def handle(connection: Connection, request: acp.ListSessionsRequest) -> acp.ListSessionsResponse:
    if request.cwd is not None and not Path(request.cwd).is_absolute():
        raise RpcError(INVALID_PARAMS, f"cwd: {request.cwd!r} is not an absolute path")
    before = _decoded(request.cursor) if request.cursor is not None else None
    try:
        records = await connection.sessions.listed(cwd=request.cwd, before=before, limit=PAGE + 1)
    except StoreError as error:
        raise RpcError(INTERNAL_ERROR, str(error)) from None
    more = len(records) > PAGE
    page = records[:PAGE]
    return acp.ListSessionsResponse(tuple(map(_info, page)), _encoded(page[-1]) if more else None)


def _info(record: SessionRecord) -> acp.SessionInfo:
    return acp.SessionInfo(
        record.id,
        record.cwd,
        additional_directories=record.roots[1:],
        title=record.title or None,
        updated_at=datetime.fromtimestamp(record.updated_at / 1000, UTC).isoformat(timespec="milliseconds"),
    )


def _encoded(record: SessionRecord) -> str:
    return base64.urlsafe_b64encode(json.dumps([record.updated_at, record.id]).encode()).decode()


def _decoded(cursor: str) -> tuple[int, str]:
    try:
        match json.loads(base64.b64decode(cursor, altchars=b"-_", validate=True)):
            case [int(updated_at), str(session_id)] if 0 <= updated_at < 1 << 63:
                return updated_at, session_id
    except (ValueError, binascii.Error, RecursionError):
        pass
    raise RpcError(INVALID_PARAMS, "cursor: not one that session/list gave")
