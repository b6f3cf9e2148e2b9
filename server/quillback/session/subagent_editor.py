"""The parent's editor as a subagent has it: the editor knows the parent's session only, so all is asked under that."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence

from attrs import evolve, field, frozen

from quillback.core.frontend import FrontendAnswer, FrontendTool
from quillback.core.message import JsonObject
from quillback.core.ports import (
    Choice,
    Editor,
    EditorCapabilities,
    FormAnswer,
    PermissionAsk,
    TerminalOutput,
    ToolProgress,
)


@frozen
class ParentsEditor:
    """Implements the Editor port; the session ids that it is given do not count.

    `asking` is held while a question is open, so that the subagents of a session ask one after the other.
    """

    editor: Editor
    parent: str
    asking: asyncio.Lock = field(factory=asyncio.Lock)

    @property
    def capabilities(self) -> EditorCapabilities:
        return self.editor.capabilities

    async def ask_permission(self, session_id: str, ask: PermissionAsk) -> Choice:
        title = f"Subagent: {ask.call.title or ask.call.name}"
        reason = f"a subagent wants it{f'; {ask.reason}' if ask.reason else ''}"
        marked = evolve(ask, call=evolve(ask.call, title=title), reason=reason, subagent=True)
        async with self.asking:
            return await self.editor.ask_permission(self.parent, marked)

    def retitled(self, session_id: str, title: str) -> None:
        """Its session is shown nowhere."""

    async def ask_user(self, session_id: str, call_id: str, question: str, choices: Sequence[str]) -> str | None:
        async with self.asking:
            return await self.editor.ask_user(self.parent, call_id, question, choices)

    async def ask_form(self, session_id: str, message: str, fields: JsonObject) -> FormAnswer:
        async with self.asking:
            return await self.editor.ask_form(self.parent, message, fields)

    async def mcp_request(
        self, server_id: str, method: str, params: JsonObject, heard: Callable[[str, JsonObject], None]
    ) -> JsonObject:
        return await self.editor.mcp_request(server_id, method, params, heard)

    def frontend_tools(self, session_id: str) -> Sequence[FrontendTool]:
        return self.editor.frontend_tools(self.parent)

    def call_tool(
        self, session_id: str, call_id: str, message_id: str, name: str, arguments: JsonObject
    ) -> AsyncGenerator[ToolProgress | FrontendAnswer, None]:
        return self.editor.call_tool(self.parent, call_id, message_id, name, arguments)

    async def read_text(self, session_id: str, path: str) -> str:
        return await self.editor.read_text(self.parent, path)

    async def write_text(self, session_id: str, path: str, content: str) -> None:
        await self.editor.write_text(self.parent, path, content)

    async def create_terminal(
        self, session_id: str, command: str, cwd: str, env: Mapping[str, str], output_limit: int
    ) -> str:
        return await self.editor.create_terminal(self.parent, command, cwd, env, output_limit)

    async def terminal_output(self, session_id: str, terminal_id: str) -> TerminalOutput:
        return await self.editor.terminal_output(self.parent, terminal_id)

    async def wait_terminal(self, session_id: str, terminal_id: str) -> TerminalOutput:
        return await self.editor.wait_terminal(self.parent, terminal_id)

    def end_terminal(self, session_id: str, terminal_id: str, *, kill: bool) -> None:
        self.editor.end_terminal(self.parent, terminal_id, kill=kill)
