"""Every stable ACP v1 method: who answers it, and what its params and its result are."""

from enum import Enum
from typing import Any

from attrs import frozen

from quillback_protocol.acp import client, config, elicitation, initialize, session, tool_call, update

CANCEL_REQUEST = "$/cancel_request"


class Direction(Enum):
    TO_AGENT = "to_agent"
    TO_CLIENT = "to_client"
    BOTH = "both"


class Kind(Enum):
    REQUEST = "request"
    NOTIFICATION = "notification"


@frozen
class Method:
    """`params` and `result` are ACP classes, or a union of them; a notification has no result."""

    name: str
    direction: Direction
    kind: Kind
    params: Any
    result: Any = None


def agent_request(name: str, params: object, result: object) -> Method:
    return Method(name, Direction.TO_AGENT, Kind.REQUEST, params, result)


def client_request(name: str, params: object, result: object) -> Method:
    return Method(name, Direction.TO_CLIENT, Kind.REQUEST, params, result)


def notification(name: str, direction: Direction, params: object) -> Method:
    return Method(name, direction, Kind.NOTIFICATION, params)


METHODS = {
    method.name: method
    for method in (
        agent_request("initialize", initialize.InitializeRequest, initialize.InitializeResponse),
        agent_request("authenticate", initialize.AuthenticateRequest, initialize.AuthenticateResponse),
        agent_request("logout", initialize.LogoutRequest, initialize.LogoutResponse),
        agent_request("session/new", session.NewSessionRequest, session.NewSessionResponse),
        agent_request("session/load", session.LoadSessionRequest, session.LoadSessionResponse),
        agent_request("session/resume", session.ResumeSessionRequest, session.ResumeSessionResponse),
        agent_request("session/list", session.ListSessionsRequest, session.ListSessionsResponse),
        agent_request("session/delete", session.DeleteSessionRequest, session.DeleteSessionResponse),
        agent_request("session/close", session.CloseSessionRequest, session.CloseSessionResponse),
        agent_request("session/set_mode", config.SetSessionModeRequest, config.SetSessionModeResponse),
        agent_request(
            "session/set_config_option", config.SetSessionConfigOptionRequest, config.SetSessionConfigOptionResponse
        ),
        agent_request("session/prompt", session.PromptRequest, session.PromptResponse),
        notification("session/cancel", Direction.TO_AGENT, session.CancelNotification),
        client_request("fs/read_text_file", client.ReadTextFileRequest, client.ReadTextFileResponse),
        client_request("fs/write_text_file", client.WriteTextFileRequest, client.WriteTextFileResponse),
        client_request(
            "session/request_permission", tool_call.RequestPermissionRequest, tool_call.RequestPermissionResponse
        ),
        client_request("terminal/create", client.CreateTerminalRequest, client.CreateTerminalResponse),
        client_request("terminal/output", client.TerminalOutputRequest, client.TerminalOutputResponse),
        client_request("terminal/release", client.ReleaseTerminalRequest, client.ReleaseTerminalResponse),
        client_request("terminal/wait_for_exit", client.WaitForTerminalExitRequest, client.WaitForTerminalExitResponse),
        client_request("terminal/kill", client.KillTerminalRequest, client.KillTerminalResponse),
        client_request(
            "elicitation/create", elicitation.CreateElicitationRequest, elicitation.CreateElicitationResponse
        ),
        notification("elicitation/complete", Direction.TO_CLIENT, elicitation.CompleteElicitationNotification),
        notification("session/update", Direction.TO_CLIENT, update.SessionNotification),
        notification(CANCEL_REQUEST, Direction.BOTH, session.CancelRequestNotification),
    )
}
