"""The methods served, a line each."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from quillback.edge.acp import (
    audit,
    authenticate,
    cancel,
    close,
    delete,
    fork,
    frontend_tools,
    initialize,
    list_sessions,
    load,
    mcp_message,
    new,
    prompt,
    resume,
    set_config_option,
    set_mode,
    steer,
    undo,
)
from quillback.edge.connection import Connection
from quillback_protocol.extensions import (
    AUDIT,
    FORK,
    FRONTEND_PROGRESS,
    MCP_MESSAGE,
    SET_FRONTEND_TOOLS,
    STEER,
    UNDO,
)

REQUESTS: Mapping[str, Callable[[Connection, Any], Awaitable[object]]] = {
    "initialize": initialize.handle,
    "authenticate": authenticate.handle,
    "session/new": new.handle,
    "session/load": load.handle,
    "session/resume": resume.handle,
    "session/list": list_sessions.handle,
    "session/close": close.handle,
    "session/delete": delete.handle,
    "session/set_mode": set_mode.handle,
    "session/set_config_option": set_config_option.handle,
    "session/prompt": prompt.handle,
    AUDIT: audit.handle,
    STEER: steer.handle,
    UNDO: undo.handle,
    FORK: fork.handle,
}

NOTIFICATIONS: Mapping[str, Callable[[Connection, Any], Awaitable[None]]] = {
    "session/cancel": cancel.handle,
    SET_FRONTEND_TOOLS: frontend_tools.handle_set,
    FRONTEND_PROGRESS: frontend_tools.handle_progress,
    MCP_MESSAGE: mcp_message.handle,
}

CANCELS: Mapping[str, Callable[[Connection, Any], None]] = {
    "session/prompt": prompt.withdraw,
}
