"""The client of pygls, written by others, against our server: their types must be able to read all that we send."""

import asyncio
import sys

import pytest
from lsprotocol import types
from pygls.lsp.client import LanguageClient

from support.agent import environment, scripted

pytestmark = pytest.mark.anyio
SCRIPT = """
call: read_file {"path": "a.py"}
---
call: edit_file {"path": "a.py", "old_text": "x = 1", "new_text": "x = 2"}
---
text: Two now.
"""


async def test_a_whole_turn(tmp_path):
    (tmp_path / "home").mkdir()
    file = tmp_path / "a.py"
    file.write_text("x = 1\n")
    client = LanguageClient("trial", "1")
    messages: asyncio.Queue[str] = asyncio.Queue()
    edits: list[types.ApplyWorkspaceEditParams] = []

    @client.feature(types.WINDOW_SHOW_MESSAGE_REQUEST)
    def _ask(params: types.ShowMessageRequestParams) -> types.MessageActionItem:
        assert params.actions
        return params.actions[0]

    @client.feature(types.WINDOW_SHOW_MESSAGE)
    def _message(params: types.ShowMessageParams) -> None:
        messages.put_nowait(params.message)

    @client.feature(types.WINDOW_SHOW_DOCUMENT)
    def _show(params: types.ShowDocumentParams) -> types.ShowDocumentResult:
        return types.ShowDocumentResult(success=True)

    @client.feature(types.WINDOW_WORK_DONE_PROGRESS_CREATE)
    def _progress(params: types.WorkDoneProgressCreateParams) -> None:
        return None

    @client.feature(types.WORKSPACE_APPLY_EDIT)
    def _apply(params: types.ApplyWorkspaceEditParams) -> types.ApplyWorkspaceEditResult:
        edits.append(params)
        document = types.VersionedTextDocumentIdentifier(uri=file.as_uri(), version=2)
        whole = types.TextDocumentContentChangeWholeDocument(text="x = 2\n")
        client.text_document_did_change(types.DidChangeTextDocumentParams(document, [whole]))
        return types.ApplyWorkspaceEditResult(applied=True)

    env = environment(tmp_path / "home", "http://127.0.0.1:9", scripted(tmp_path, SCRIPT))
    await client.start_io(sys.executable, "-m", "quillback", "lsp", env=env, cwd=tmp_path)
    try:
        window = types.WindowClientCapabilities(
            work_done_progress=True, show_document=types.ShowDocumentClientCapabilities(support=True)
        )
        edit = types.WorkspaceEditClientCapabilities(document_changes=True)
        workspace = types.WorkspaceClientCapabilities(apply_edit=True, workspace_edit=edit)
        params = types.InitializeParams(
            types.ClientCapabilities(window=window, workspace=workspace), root_uri=tmp_path.as_uri()
        )
        result = await client.initialize_async(params)
        assert result.server_info
        assert result.server_info.name == "quillback"
        client.initialized(types.InitializedParams())
        item = types.TextDocumentItem(file.as_uri(), "python", 1, "x = 1\n")
        client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        span = types.Range(types.Position(0, 0), types.Position(0, 5))
        context = types.CodeActionContext([], trigger_kind=types.CodeActionTriggerKind.Invoked)
        asked = types.CodeActionParams(types.TextDocumentIdentifier(file.as_uri()), span, context)
        actions = await client.text_document_code_action_async(asked)
        assert actions
        [refactor] = [a for a in actions if a.title == "Quillback: Refactor"]
        command = refactor if isinstance(refactor, types.Command) else refactor.command
        assert isinstance(command, types.Command)
        run = types.ExecuteCommandParams(command.command, command.arguments)
        assert await client.workspace_execute_command_async(run) is None
        assert (await asyncio.wait_for(messages.get(), 20)).startswith("Quillback: Two now.")
        assert len(edits) == 1
        assert await client.shutdown_async(None) is None
        client.exit(None)
        assert client._server
        assert await asyncio.wait_for(client._server.wait(), 10) == 0
    finally:
        await client.stop()
