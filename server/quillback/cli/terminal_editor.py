"""The terminal as the session's editor: it has no files and terminals to offer, but a person to ask."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from typing import NoReturn

from attrs import define, frozen

from quillback.cli.keyboard import Keyboard
from quillback.cli.question import NO_MORE, keys, write_answer, write_keys, write_keys_again, write_question
from quillback.cli.screen import Screen
from quillback.cli.view import View
from quillback.core.frontend import FrontendAnswer, FrontendTool
from quillback.core.message import JsonObject
from quillback.core.ports import (
    Choice,
    EditorCapabilities,
    EditorError,
    FormAnswer,
    PermissionAsk,
    TerminalOutput,
    ToolProgress,
)
from quillback.session.pipe import EventPipe


@frozen
class Fixed:
    """An answer that is known beforehand; `note` says whose it is, `nobody` that there was nobody to ask."""

    choice: Choice
    note: str
    nobody: bool = False


GONE = Fixed(Choice.REJECT_ONCE, "the terminal is gone", nobody=True)
NO_TO_ALL = Fixed(Choice.REJECT_ONCE, "Ctrl-D: no to all that follows")


@define
class Person:
    """Somebody at a terminal. `elsewhere` says that the view does not show on `screen`, the one the person looks at;
    `copied` that the view then is to have the questions too."""

    keyboard: Keyboard
    screen: Screen
    elsewhere: bool
    copied: bool = True
    no_more: bool = False

    async def choice(self, ask: PermissionAsk) -> Fixed:
        if self.elsewhere:
            write_question(self.screen, ask, "")
        answer = NO_TO_ALL if self.no_more else await self._answer(ask)
        if self.elsewhere:
            write_answer(self.screen, answer.choice, answer.note)
            await self.screen.flush()
        return answer

    async def _answer(self, ask: PermissionAsk) -> Fixed:
        with self.keyboard.listening():
            write_keys(self.screen, ask)
            await self.screen.flush()
            choices = keys(ask)
            while (key := await self.keyboard.key()) not in choices:
                if not key:
                    return GONE
                if key == NO_MORE:
                    self.no_more = True
                    return NO_TO_ALL
                write_keys_again(self.screen, ask)
                await self.screen.flush()
        return Fixed(choices[key], "")


class TerminalEditor:
    """Implements the Editor port. `floor` is held while a question is open: what else happens is shown afterwards.

    `unasked` counts the calls that did not run since nobody was there to ask.
    """

    def __init__(self, view: View, answers: Fixed | Person) -> None:
        self.floor = asyncio.Lock()
        self.pipe: EventPipe | None = None
        self.unasked = 0
        self._view = view
        self._answers = answers

    @property
    def capabilities(self) -> EditorCapabilities:
        return EditorCapabilities()

    async def ask_permission(self, session_id: str, ask: PermissionAsk) -> Choice:
        """Raises EditorError, which the model reads, when nobody is there to ask."""
        if self.pipe is not None:
            await self.pipe.taken()
        async with self.floor:
            try:
                answer = await self._ask(ask)
            except BrokenPipeError:  # nobody reads the question
                return Choice.CANCELLED
        if answer.nobody:
            self.unasked += 1
            raise EditorError("nobody was there to ask")
        return answer.choice

    async def _ask(self, ask: PermissionAsk) -> Fixed:
        shown = isinstance(self._answers, Fixed) or not self._answers.elsewhere or self._answers.copied
        if shown:
            self._view.asked(ask)
        else:
            self._view.asked_elsewhere(ask)
        await self._view.flush()
        answer = self._answers if isinstance(self._answers, Fixed) else await self._answers.choice(ask)
        if shown:
            self._view.answered(ask, answer.choice, answer.note)
        await self._view.flush()
        return answer

    def retitled(self, session_id: str, title: str) -> None:
        """Only the one turn is shown."""

    # ------------------------------------------------------------ not offered

    async def ask_user(self, session_id: str, call_id: str, question: str, choices: Sequence[str]) -> str | None:
        _not_offered()

    async def ask_form(self, session_id: str, message: str, fields: JsonObject) -> FormAnswer:
        _not_offered()

    async def mcp_request(
        self, server_id: str, method: str, params: JsonObject, heard: Callable[[str, JsonObject], None]
    ) -> JsonObject:
        _not_offered()

    def frontend_tools(self, session_id: str) -> Sequence[FrontendTool]:
        return ()

    def call_tool(
        self, session_id: str, call_id: str, message_id: str, name: str, arguments: JsonObject
    ) -> AsyncGenerator[ToolProgress | FrontendAnswer, None]:
        _not_offered()

    async def read_text(self, session_id: str, path: str) -> str:
        _not_offered()

    async def write_text(self, session_id: str, path: str, content: str) -> None:
        _not_offered()

    async def create_terminal(
        self, session_id: str, command: str, cwd: str, env: Mapping[str, str], output_limit: int
    ) -> str:
        _not_offered()

    async def terminal_output(self, session_id: str, terminal_id: str) -> TerminalOutput:
        _not_offered()

    async def wait_terminal(self, session_id: str, terminal_id: str) -> TerminalOutput:
        _not_offered()

    def end_terminal(self, session_id: str, terminal_id: str, *, kill: bool) -> None:
        _not_offered()


def _not_offered() -> NoReturn:
    raise EditorError("the command line does not offer this")
