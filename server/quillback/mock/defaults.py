"""What the mock agent does where a script says nothing: the manners of a good agent, without a model behind them."""

from collections.abc import Callable
from pathlib import PurePosixPath
from typing import Any

from quillback import __version__
from quillback.mock.library import command_list
from quillback.mock.sessions import VALUES, Session, Sessions
from quillback_protocol import acp
from quillback_protocol.jsonrpc import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    RESOURCE_NOT_FOUND,
    JsonObject,
    RpcError,
)

Send = Callable[[str, JsonObject], None]
"""Sends an update: the session's id, the update."""

CAPABILITIES: JsonObject = {
    "loadSession": True,
    "promptCapabilities": {"image": True, "audio": True, "embeddedContext": True},
    "mcpCapabilities": {"http": True},
    "sessionCapabilities": {"list": {}, "delete": {}, "resume": {}, "close": {}, "additionalDirectories": {}},
}


class Defaults:
    """One method a request. Each gets its params as an ACP object and returns the result.

    `after` holds updates that go out behind the answer.
    """

    def __init__(self, sessions: Sessions, send: Send) -> None:
        self._sessions = sessions
        self._send = send
        self.initialized = False
        self.offered: JsonObject = {}
        self.after: list[tuple[str, JsonObject]] = []

    def offers(self, params: object) -> None:
        """Remember the capabilities in the params of initialize, as they came."""
        capabilities = params.get("clientCapabilities") if isinstance(params, dict) else None
        self.offered = capabilities if isinstance(capabilities, dict) else {}

    def handler(self, method: str) -> Callable[[Any], JsonObject]:
        """Raises RpcError for a method that is not served, or not yet."""
        if not self.initialized and method != "initialize":
            raise RpcError(INVALID_REQUEST, "initialize must be the first request")
        handlers: dict[str, Callable[[Any], JsonObject]] = {
            "initialize": self._initialize,
            "session/new": self._new,
            "session/load": self._load,
            "session/resume": self._resume,
            "session/list": self._list,
            "session/delete": self._delete,
            "session/close": self._close,
            "session/set_mode": self._set_mode,
            "session/set_config_option": self._set_config_option,
        }
        if method not in handlers:
            raise RpcError(METHOD_NOT_FOUND, f"there is no method {method}")
        return handlers[method]

    def session(self, session_id: str) -> Session:
        session = self._sessions.get(session_id)
        if session is None or not session.active:
            raise RpcError(RESOURCE_NOT_FOUND, "there is no such session", {"sessionId": session_id})
        return session

    def _initialize(self, request: acp.InitializeRequest) -> JsonObject:
        self.initialized = True
        declared = request.client_capabilities.session
        options = declared.config_options if declared else None
        self._sessions.boolean_options = options is not None and options.boolean is not None
        return {
            "protocolVersion": 1,
            "agentCapabilities": CAPABILITIES,
            "agentInfo": {"name": "quillback-mock-agent", "title": "Mock agent", "version": __version__},
            "authMethods": [],
        }

    def _new(self, request: acp.NewSessionRequest) -> JsonObject:
        _absolute("cwd", request.cwd)
        session = self._sessions.new(request.cwd)
        commands = {"sessionUpdate": "available_commands_update", "availableCommands": command_list()}
        self.after.append((session.id, commands))
        return {"sessionId": session.id, **session.setup()}

    def _known(self, session_id: str, cwd: str) -> Session:
        _absolute("cwd", cwd)
        session = self._sessions.get(session_id)
        if session is None:
            raise RpcError(RESOURCE_NOT_FOUND, "there is no such session", {"sessionId": session_id})
        session.active = True
        return session

    def _load(self, request: acp.LoadSessionRequest) -> JsonObject:
        session = self._known(request.session_id, request.cwd)
        for update in session.history:
            self._send(session.id, update)
        return session.setup()

    def _resume(self, request: acp.ResumeSessionRequest) -> JsonObject:
        return self._known(request.session_id, request.cwd).setup()

    def _list(self, request: acp.ListSessionsRequest) -> JsonObject:
        try:
            return self._sessions.page(request.cwd, request.cursor)
        except ValueError:
            raise RpcError(INVALID_PARAMS, "cursor: not one of this agent") from None

    def _delete(self, request: acp.DeleteSessionRequest) -> JsonObject:
        self._sessions.delete(request.session_id)
        return {}

    def _close(self, request: acp.CloseSessionRequest) -> JsonObject:
        self.session(request.session_id).active = False
        return {}

    def _set_mode(self, request: acp.SetSessionModeRequest) -> JsonObject:
        session = self.session(request.session_id)
        self._set(session, "mode", request.mode_id, "modeId")
        self.after.append((session.id, {"sessionUpdate": "config_option_update", "configOptions": session.options()}))
        return {}

    def _set_config_option(self, request: acp.SetSessionConfigOptionRequest) -> JsonObject:
        session = self.session(request.session_id)
        if request.config_id not in {option["id"] for option in session.options()}:
            raise RpcError(INVALID_PARAMS, f"configId: there is no option {request.config_id}")
        self._set(session, request.config_id, request.value, "value")
        if request.config_id == "mode":
            self.after.append((session.id, {"sessionUpdate": "current_mode_update", "currentModeId": request.value}))
        return {"configOptions": session.options()}

    def _set(self, session: Session, setting: str, value: object, field: str) -> None:
        # True == 1 in Python, and a boolean is no string
        if not any(value is known or (isinstance(value, str) and value == known) for known in VALUES[setting]):
            raise RpcError(INVALID_PARAMS, f"{field}: expected one of {', '.join(map(str, VALUES[setting]))}")
        session.settings[setting] = value


def _absolute(field: str, path: str) -> None:
    if not PurePosixPath(path).is_absolute():
        raise RpcError(INVALID_PARAMS, f"{field}: an absolute path is needed")
