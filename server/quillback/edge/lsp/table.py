"""The methods of LSP that are served, a line each; those of ACP are served beside them."""

from collections.abc import Awaitable, Callable, Mapping

from quillback.edge.lsp import actions, commands, lifecycle, sync
from quillback.edge.lsp.front import Front

EXECUTE = "workspace/executeCommand"

REQUESTS: Mapping[str, Callable[[Front, object], Awaitable[object]]] = {
    "initialize": lifecycle.initialize,
    "shutdown": lifecycle.shutdown,
    "textDocument/codeAction": actions.handle,
    EXECUTE: commands.handle,
}

NOTIFICATIONS: Mapping[str, Callable[[Front, object], Awaitable[None]]] = {
    "initialized": lifecycle.initialized,
    "textDocument/didOpen": sync.opened,
    "textDocument/didChange": sync.changed,
    "textDocument/didClose": sync.closed,
    "workspace/didChangeWorkspaceFolders": lifecycle.folders_changed,
    "window/workDoneProgress/cancel": lifecycle.progress_cancelled,
}

CANCELS: Mapping[str, Callable[[Front, object], None]] = {
    EXECUTE: commands.withdraw,
}
