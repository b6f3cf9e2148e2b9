"""What is asked of and told to a plain LSP client; each only where the client can do it."""

import itertools
import logging
from collections.abc import Sequence
from pathlib import Path

from lsprotocol import types

from quillback.core.ports import EditorError
from quillback.edge.editor import asked
from quillback.edge.lsp.wire import plain, read
from quillback_protocol.jsonrpc import METHOD_NOT_FOUND, RpcError
from quillback_protocol.peer import Peer

SECONDS = 30.0
SHOW_SECONDS = 5.0
MESSAGE_LENGTH = 2_000
SILENT_SHOWERS = ("helix",)
"""Clients that show documents and did not always say so."""
log = logging.getLogger(__name__)


class LspClient:
    """`capabilities` (raw) and `name` are those of the client once it has initialized.

    `asks` is false once it turned out that it has no way to put a question."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer
        self._tokens = itertools.count(1)
        self.capabilities: object = {}
        self.name = ""
        self.asks = True

    # ------------------------------------------------------------ what it can do

    def can(self, *path: str) -> bool:
        """Whether the capability at `path` is there and not false. They are read as they came: one that is odd must
        not cost all the others."""
        found = self.capabilities
        for name in path:
            found = found.get(name) if isinstance(found, dict) else None
        return found is not None and found is not False

    @property
    def connected(self) -> bool:
        return self._peer.closed is None

    @property
    def shows_documents(self) -> bool:
        return self.can("window", "showDocument", "support") or self.name.lower() in SILENT_SHOWERS

    # ------------------------------------------------------------ messages

    def message(self, text: str, kind: types.MessageType = types.MessageType.Info) -> None:
        text = text if len(text) <= MESSAGE_LENGTH else text[: MESSAGE_LENGTH - 1] + "…"
        self._peer.notify("window/showMessage", plain(types.ShowMessageParams(kind, text)))

    async def choose(self, text: str, titles: Sequence[str]) -> str | None:
        """The title the user picked; None when they dismissed the question. Raises EditorError."""
        actions = [types.MessageActionItem(title) for title in titles]
        params = types.ShowMessageRequestParams(types.MessageType.Info, text, actions)
        try:
            raw = await self._request("window/showMessageRequest", plain(params), None)
        except EditorError as error:
            self.asks = self.asks and error.code != METHOD_NOT_FOUND
            raise
        picked = raw.get("title") if isinstance(raw, dict) else None
        return picked if picked in titles else None

    # ------------------------------------------------------------ documents

    async def show(self, path: Path, *, focus: bool) -> bool:
        """Open a file in the editor; whether it did."""
        if not self.shows_documents:
            return False
        params = types.ShowDocumentParams(path.as_uri(), external=False, take_focus=focus)
        try:
            raw = await self._request("window/showDocument", plain(params), SHOW_SECONDS)
        except EditorError as error:
            log.warning("%s", error)
            return False
        return not isinstance(raw, dict) or raw.get("success") is not False

    async def apply(self, label: str, uri: str, version: int | None, edits: Sequence[types.TextEdit]) -> str:
        """Have an open document edited; empty when it was, otherwise why not. Raises EditorError."""
        if self.can("workspace", "workspaceEdit", "documentChanges"):
            document = types.OptionalVersionedTextDocumentIdentifier(uri, version)
            edit = types.WorkspaceEdit(document_changes=[types.TextDocumentEdit(document, list(edits))])
        else:
            edit = types.WorkspaceEdit(changes={uri: list(edits)})
        raw = await self._request(
            "workspace/applyEdit", plain(types.ApplyWorkspaceEditParams(edit, label=label)), SECONDS
        )
        try:
            result = read(types.ApplyWorkspaceEditResult, raw)
        except RpcError:
            return "its answer cannot be read"
        return "" if result.applied else result.failure_reason or "it did not apply the edit"

    # ------------------------------------------------------------ progress

    async def begin(self, title: str) -> str:
        """Show that something has begun, with a way to cancel it; its token, empty where it is not shown."""
        if not self.can("window", "workDoneProgress"):
            return ""
        token = f"quillback-{next(self._tokens)}"
        try:
            params = plain(types.WorkDoneProgressCreateParams(token))
            await self._request("window/workDoneProgress/create", params, SHOW_SECONDS)
        except EditorError as error:
            log.warning("%s", error)
            return ""
        self._progress(token, types.WorkDoneProgressBegin(title, cancellable=True))
        return token

    def report(self, token: str, message: str) -> None:
        if token:
            self._progress(token, types.WorkDoneProgressReport(cancellable=True, message=message))

    def end(self, token: str, message: str) -> None:
        if token:
            self._progress(token, types.WorkDoneProgressEnd(message=message))

    def _progress(self, token: str, value: object) -> None:
        self._peer.notify("$/progress", {"token": token, "value": plain(value)})

    # ------------------------------------------------------------ requests

    async def _request(self, method: str, params: object, seconds: float | None) -> object:
        return await asked(self._peer, method, params, seconds)
