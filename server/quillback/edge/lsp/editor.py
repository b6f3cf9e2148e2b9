"""The editor behind an LSP connection: its open documents, and messages with buttons where it does not know ACP."""

import asyncio
import difflib
from collections.abc import Sequence
from itertools import islice

from quillback.core.message import Diff, JsonObject
from quillback.core.ports import (
    Choice,
    EditorCapabilities,
    EditorError,
    FormAnswer,
    PermissionAsk,
    ToolError,
)
from quillback.core.text import one_line
from quillback.edge.editor import AcpEditor, permission_options
from quillback.edge.lsp.answers import Answers
from quillback.edge.lsp.client import LspClient
from quillback.edge.lsp.documents import Document, Documents
from quillback.edge.lsp.edits import text_edits
from quillback.edge.lsp.questions import Questions
from quillback_protocol.peer import Peer

SETTLE_SECONDS = 2.0
"""How long the editor may take to tell of a change that it has applied: some gather changes for a while."""
INLINE_LINES = 40
TITLE_LENGTH = 200


class LspEditor(AcpEditor):
    """`knows_acp` is set for a client that declares ACP capabilities: it is asked in their way.

    Files that are open are read and written through document synchronisation in any case.
    """

    def __init__(self, peer: Peer, answers: Answers, frontend_seconds: float | None = None) -> None:
        super().__init__(peer, frontend_seconds)
        self.client = LspClient(peer)
        self.documents = Documents()
        self.answers = answers
        self.questions = Questions(self.client)
        self.knows_acp = False

    @property
    def capabilities(self) -> EditorCapabilities:
        acp = super().capabilities
        edits = self.client.can("workspace", "applyEdit")
        return EditorCapabilities(
            read_text=True,
            write_text=edits or acp.write_text,
            terminal=acp.terminal,
            questions=acp.questions if self.knows_acp else self.client.asks,
        )

    def retitled(self, session_id: str, title: str) -> None:
        if self.knows_acp:
            super().retitled(session_id, title)

    # ------------------------------------------------------------ files

    async def read_text(self, session_id: str, path: str) -> str:
        document = self.documents.at(path)
        if document is not None:
            return document.text
        if super().capabilities.read_text:
            return await super().read_text(session_id, path)
        raise EditorError(f"{path} is not open in the editor")

    async def write_text(self, session_id: str, path: str, content: str) -> None:
        """A file that is open is changed in the editor only, never under it: raises ToolError where that fails."""
        document = self.documents.at(path)
        if document is not None and self.client.can("workspace", "applyEdit"):
            await self._edit(document, content)
        elif super().capabilities.write_text:
            await super().write_text(session_id, path, content)
        else:
            raise EditorError(f"{path} is not open in the editor")

    async def _edit(self, document: Document, content: str) -> None:
        if document.text == content:
            return
        edits = text_edits(document, content)
        try:
            problem = await self.client.apply("Quillback", document.uri, document.version, edits)
        except EditorError as error:
            problem = str(error)
        if problem:
            raise ToolError(
                f"the editor did not take the change of {document.path}: {one_line(problem, TITLE_LENGTH)}. "
                "Read the file again, then redo this"
            )
        await self.documents.settled(document, content, SETTLE_SECONDS)

    # ------------------------------------------------------------ permission

    async def _ask_permission(self, session_id: str, ask: PermissionAsk) -> Choice:
        if self.knows_acp:
            return await super()._ask_permission(session_id, ask)
        short = one_line(ask.call.title or ask.call.name, TITLE_LENGTH)
        lines = [f"Quillback: {short}"]
        if ask.reason:
            lines.append(f"Asked because {ask.reason}.")
        diff = diff_text(ask)
        if diff and not await self._show_diff(short, diff):
            lines += islice(diff.splitlines(), INLINE_LINES)
        options = {option.name: option.option_id for option in permission_options(ask)}
        try:
            picked = await self.questions.ask("\n".join(lines), short, tuple(options))
        except EditorError:
            return Choice.REJECT_ONCE
        return Choice(options[picked]) if picked is not None else Choice.REJECT_ONCE

    async def _show_diff(self, title: str, diff: str) -> bool:
        if not self.client.shows_documents:
            return False
        try:
            path = await asyncio.to_thread(self.answers.write, title, ".diff", diff)
        except OSError:
            return False
        return await self.client.show(path, focus=False)

    async def ask_permission(self, session_id: str, ask: PermissionAsk) -> Choice:
        if self.knows_acp:
            return await super().ask_permission(session_id, ask)
        return await self._ask_permission(session_id, ask)

    # ------------------------------------------------------------ questions

    async def ask_user(self, session_id: str, call_id: str, question: str, choices: Sequence[str]) -> str | None:
        if self.knows_acp:
            return await super().ask_user(session_id, call_id, question, choices)
        if not choices:
            raise EditorError(
                "in this editor the user can only choose; ask again with choices, or say it in your answer"
            )
        return await self.questions.ask(f"Quillback asks: {question}", one_line(question, TITLE_LENGTH), choices)

    async def ask_form(self, session_id: str, message: str, fields: JsonObject) -> FormAnswer:
        """Only a form without fields that must be filled in: a question for a yes or no."""
        if self.knows_acp:
            return await super().ask_form(session_id, message, fields)
        if fields.get("required"):
            raise EditorError("in this editor the user cannot fill in a form")
        picked = await self.questions.ask(
            f"Quillback: {message}", one_line(message, TITLE_LENGTH), ("Accept", "Decline")
        )
        return FormAnswer("cancel" if picked is None else picked.lower(), {})


def diff_text(ask: PermissionAsk) -> str:
    """The changes that a question is about, as a unified diff; empty where there are none."""
    parts: list[str] = []
    for diff in ask.shown:
        if isinstance(diff, Diff):
            old, new = (diff.old or "").splitlines(), diff.new.splitlines()
            before = "/dev/null" if diff.old is None else diff.path
            parts += difflib.unified_diff(old, new, before, diff.path, lineterm="")
    return "\n".join(parts) + "\n" if parts else ""
