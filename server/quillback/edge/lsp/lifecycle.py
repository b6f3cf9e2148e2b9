"""initialize, shutdown and what else there is about the connection as a whole."""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls.workspace import PositionCodec

from quillback import __version__
from quillback.edge.handshake import PROTOCOL_VERSION, initialize_result
from quillback.edge.lsp.actions import KINDS
from quillback.edge.lsp.commands import COMMANDS
from quillback.edge.lsp.documents import real_path
from quillback.edge.lsp.front import Front, Stage
from quillback.edge.lsp.wire import plain, read
from quillback_protocol import acp
from quillback_protocol.converter import structure
from quillback_protocol.jsonrpc import INVALID_REQUEST, InvalidParams, RpcError

EXPERIMENTAL = "quillback"
ENCODINGS = frozenset(kind.value for kind in types.PositionEncodingKind)
log = logging.getLogger(__name__)


async def initialize(front: Front, params: object) -> object:
    """The client's capabilities are read one by one, so that an odd one does not cost the connection."""
    if front.stage is not Stage.NEW:
        raise RpcError(INVALID_REQUEST, "initialize came before")
    if not isinstance(params, dict) or not isinstance(params.get("capabilities"), dict):
        raise InvalidParams("capabilities must be an object")
    client = params["capabilities"]
    info = params.get("clientInfo")
    front.client.capabilities = client
    front.client.name = str(info.get("name") or "") if isinstance(info, dict) else ""
    encoding = _encoding(client)
    front.documents.codec = PositionCodec(encoding)
    front.folders = _folders(params)
    declared = _declared(client)
    if declared is not None:
        front.editor.knows_acp = True
        try:
            request = structure(
                acp.InitializeRequest, {"protocolVersion": PROTOCOL_VERSION, "clientCapabilities": declared}
            )
            front.connection.offered(request)
        except RpcError as error:
            log.warning("experimental.quillback: %s; nothing is asked of this client", error.message)
    front.stage = Stage.INITIALIZED
    offered = initialize_result({"clientCapabilities": declared or {}})["agentCapabilities"]
    return plain(_result(encoding, offered))


def _result(encoding: types.PositionEncodingKind, offered: object) -> types.InitializeResult:
    sync = types.TextDocumentSyncOptions(open_close=True, change=types.TextDocumentSyncKind.Incremental)
    folders = types.WorkspaceFoldersServerCapabilities(supported=True, change_notifications=True)
    capabilities = types.ServerCapabilities(
        position_encoding=encoding,
        text_document_sync=sync,
        code_action_provider=types.CodeActionOptions(code_action_kinds=list(KINDS)),
        execute_command_provider=types.ExecuteCommandOptions(commands=list(COMMANDS)),
        workspace=types.WorkspaceOptions(workspace_folders=folders),
        experimental={EXPERIMENTAL: offered},
    )
    return types.InitializeResult(capabilities, types.ServerInfo("quillback", __version__))


def _encoding(client: Mapping[str, Any]) -> types.PositionEncodingKind:
    """The first that the client names and we know."""
    general = client.get("general")
    named = general.get("positionEncodings") if isinstance(general, dict) else None
    for name in named if isinstance(named, list) else ():
        if isinstance(name, str) and name in ENCODINGS:
            return types.PositionEncodingKind(name)
    return types.PositionEncodingKind.Utf16


def _declared(client: Mapping[str, Any]) -> dict[str, Any] | None:
    """The capabilities of an ACP client, where it says that it is one."""
    experimental = client.get("experimental")
    found = experimental.get(EXPERIMENTAL) if isinstance(experimental, dict) else None
    return found if isinstance(found, dict) else None


def _folders(params: Mapping[str, Any]) -> list[str]:
    folders = params.get("workspaceFolders")
    uris = [f.get("uri") for f in folders if isinstance(f, dict)] if isinstance(folders, list) else []
    if not uris:
        uris = [params.get("rootUri")]
    paths = [real_path(uri) for uri in uris if isinstance(uri, str)]
    root = params.get("rootPath")
    if not any(paths) and isinstance(root, str) and Path(root).is_absolute():
        paths = [root]
    return [path for path in dict.fromkeys(paths) if path]


async def initialized(front: Front, params: object) -> None:
    """Nothing is left to do then."""


async def shutdown(front: Front, params: object) -> None:
    """What runs is cancelled; nothing but `exit` is taken from now on."""
    front.stage = Stage.SHUT_DOWN
    front.turns.cancel()


async def folders_changed(front: Front, params: object) -> None:
    event = read(types.DidChangeWorkspaceFoldersParams, params).event
    gone = {real_path(folder.uri) for folder in event.removed}
    come = [path for folder in event.added if (path := real_path(folder.uri))]
    front.folders = list(dict.fromkeys([*(f for f in front.folders if f not in gone), *come]))


async def progress_cancelled(front: Front, params: object) -> None:
    token = read(types.WorkDoneProgressCancelParams, params).token
    front.turns.withdraw(str(token))
