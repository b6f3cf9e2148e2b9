"""The commands of a session over real files, with a toolbox whose prompts a test chooses."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from attrs import define, field

from quillback.commands.session_commands import SessionCommands
from quillback.core.commands import CommandResult, Expand, Say
from quillback.core.message import Part, Text
from quillback.core.prompts import Prompt, PromptArgument, PromptError
from support.desks import FakeDesk
from support.fakes import FakeToolbox


@define
class FakePrompt:
    name: str
    arguments: tuple[PromptArgument, ...] = ()
    description: str = ""
    problem: str = ""

    async def parts(self, values: Mapping[str, str]) -> tuple[Part, ...]:
        if self.problem:
            raise PromptError(self.problem)
        return (Text(repr(dict(values))),)


class PromptBox(FakeToolbox):
    """`later` are prompts that come while it is waited for."""

    def __init__(self) -> None:
        super().__init__((), lambda _: None)
        self.now: list[Prompt] = []
        self.later: list[Prompt] = []
        self.changed: Callable[[], None] = lambda: None

    def prompts(self) -> Sequence[Prompt]:
        return self.now

    def on_prompts(self, changed: Callable[[], None]) -> None:
        self.changed = changed

    async def ready(self) -> None:
        self.now += self.later
        self.later = []


@define
class Room:
    commands: SessionCommands
    box: PromptBox
    directory: Path
    project: dict[str, bytes]
    untrusted: list[str]
    notices: list[str]
    desk: FakeDesk = field(factory=FakeDesk)

    def write(self, name: str, text: str | bytes) -> Path:
        path = self.directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def names(self) -> list[str]:
        return [info.name for info in self.commands.available()]

    async def run(self, name: str, argument: str = "") -> CommandResult | None:
        return await self.commands.run(name, argument, self.desk)

    async def said(self, name: str, argument: str = "") -> str:
        """The answer of a command that was carried out."""
        return await self._text(name, argument, refused=False)

    async def refused(self, name: str, argument: str = "") -> str:
        """The answer of one that was not."""
        return await self._text(name, argument, refused=True)

    async def _text(self, name: str, argument: str, *, refused: bool) -> str:
        result = await self.run(name, argument)
        assert isinstance(result, Say), result
        assert result.refused is refused, result
        return result.text

    async def sent(self, name: str, argument: str = "") -> str:
        """The text that the model gets."""
        result = await self.run(name, argument)
        assert isinstance(result, Expand), result
        (part,) = result.parts
        assert isinstance(part, Text)
        return part.text


async def healthy() -> str:
    return "Nothing to mend."


@pytest.fixture
def open_commands(tmp_path: Path) -> Callable[..., Room]:
    def make(**more: Any) -> Room:
        box, project, untrusted, notices = PromptBox(), dict[str, bytes](), list[str](), list[str]()
        directory = tmp_path / "commands"
        commands = SessionCommands(
            directory=directory,
            project=lambda: project,
            untrusted=lambda: untrusted,
            toolbox=box,
            doctor=healthy,
            notice=notices.append,
            **more,
        )
        return Room(commands, box, directory, project, untrusted, notices)

    return make


@pytest.fixture
async def room(open_commands: Callable[..., Room]) -> Room:
    return open_commands()


@pytest.fixture
def prompt() -> type[FakePrompt]:
    return FakePrompt
