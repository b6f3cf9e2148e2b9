"""_quillback/frontend_tools/set, _quillback/tool/progress, and the declarations in session setup."""

import logging

from quillback.edge.connection import Connection
from quillback.edge.frontend import declared_tools
from quillback_protocol.acp import JsonObject
from quillback_protocol.extensions import (
    SET_FRONTEND_TOOLS,
    FrontendProgressNotification,
    SetFrontendToolsNotification,
    client_declaration,
)
from quillback_protocol.jsonrpc import RpcError

log = logging.getLogger(__name__)


async def handle_set(connection: Connection, notification: SetFrontendToolsNotification) -> None:
    """The new list counts from the next step on; one for a session that is not open is dropped."""
    if notification.session_id is not None:
        try:
            connection.session(notification.session_id)
        except RpcError as error:
            log.warning("%s: %s", SET_FRONTEND_TOOLS, error.message)
            return
    declare(connection, notification.tools, notification.session_id)


async def handle_progress(connection: Connection, notification: FrontendProgressNotification) -> None:
    connection.editor.calls.progressed(notification)


def declare_in_setup(connection: Connection, session_id: str, meta: JsonObject | None) -> None:
    """Take the tools that session/new, load or resume declare for their session, if they declare any."""
    ours = (meta or {}).get("quillback.dev")
    if isinstance(ours, dict) and "frontendTools" in ours:
        declare(connection, client_declaration(meta).frontend_tools, session_id)


def declare(connection: Connection, raw: object, session_id: str | None = None) -> None:
    """A tool that cannot be offered is left out; the log says why."""
    tools, problems = declared_tools(raw)
    for problem in problems:
        log.warning("%s", problem)
    connection.editor.declare(tools, session_id)
