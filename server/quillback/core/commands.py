"""The port to slash commands: what a prompt that begins with `/name` stands for."""

import re
from collections.abc import Sequence
from typing import Protocol

from attrs import field, frozen

from quillback.core.audit import AuditRecord
from quillback.core.message import Part
from quillback.core.model import Model
from quillback.core.ports import Mode, SessionRecord
from quillback.core.turn_types import Recipe
from quillback.core.undo import UndoReport

PROJECT_FOLDERS = (".quillback/commands", ".claude/commands")
"""Where a project keeps commands; what is in the first counts before what is in the second."""

NAME_LIMIT = 200
"""Characters of a command's name."""

_COMMAND = re.compile(r"/(\w[\w:-]*)(?:\s+(.*))?", re.DOTALL)
_NAME = re.compile(r"[^\W_][\w-]*(?::[\w-]+)*")


@frozen
class CommandInfo:
    """As it is advertised. `hint` says what to type after the name; empty where nothing is expected. `origin` is the
    heading it has in /help."""

    name: str
    description: str
    hint: str = ""
    origin: str = ""


@frozen
class Say:
    """An answer for the user only; no model is asked. `refused` says that the command was not carried out, and the text
    why."""

    text: str
    refused: bool = False


def refusal(text: str) -> Say:
    return Say(text, refused=True)


@frozen
class Expand:
    """The prompt stands for `parts`, which the model gets in its place; `recipe` adds checks and a final output."""

    parts: tuple[Part, ...]
    recipe: Recipe = field(factory=Recipe)


@frozen
class Begin:
    """Start at once: `confirmation` is for the user, `kickoff` for the model."""

    confirmation: str
    kickoff: str
    goal: str = ""
    grind: bool = False


@frozen
class Compact:
    """Summarise the conversation now; `focus` is what the summary should keep above all."""

    focus: str = ""


@frozen
class Clear:
    """From now on the model sees nothing of what came before."""

    text: str


CommandResult = Say | Expand | Begin | Compact | Clear


class Desk(Protocol):
    """What a command may see of the session and do with it. Methods raise ValueError with a text for the user."""

    @property
    def record(self) -> SessionRecord: ...

    @property
    def model(self) -> Model: ...

    @property
    def context_used(self) -> int:
        """Tokens of the model's window that the conversation takes, as far as it is known."""
        ...

    def models(self) -> Sequence[str]:
        """The names of the models that can be chosen."""
        ...

    def set_mode(self, mode: Mode) -> None: ...

    def set_model(self, model: str) -> None: ...

    async def audits(self) -> Sequence[AuditRecord]: ...

    async def undo(self) -> tuple[UndoReport, str]:
        """What came of it, and the text of the prompt whose turn was undone."""
        ...

    async def fork(self) -> str:
        """The id of a new session that goes on from here."""
        ...


class CommandSource(Protocol):
    """Commands of one kind. Any of these methods may find some that have come, gone or changed."""

    def available(self) -> tuple[CommandInfo, ...]: ...

    async def run(self, name: str, argument: str, desk: Desk) -> CommandResult | None:
        """What `/name argument` stands for; None when there is no such command. Never raises for bad arguments: it
        says what is wrong."""
        ...


@frozen
class LeftOut:
    """A file that is no command, and why. `path` names it to the user; `name` is what the command would be called."""

    path: str
    name: str
    why: str


class FileSource(CommandSource, Protocol):
    """Commands that are files."""

    def left_out(self) -> Sequence[LeftOut]: ...


class Commands(CommandSource, Protocol):
    """The commands of one session. A prompt for which `run` gives None is an ordinary one."""

    async def changed(self) -> None:
        """Wait until there is a reason to look at `available` again."""
        ...


def parse(text: str) -> tuple[str, str] | None:
    """The name and the argument of a prompt that may be a command; None for any other prompt.

    A path such as `/usr/bin` is none: a name has no slash in it, nor anything else but letters, digits, `-`, `_`, `:`.
    Blanks before it do not count.
    """
    found = _COMMAND.fullmatch(text.strip())
    return (found[1], (found[2] or "").strip()) if found and is_name(found[1]) else None


def is_name(text: str) -> bool:
    """Whether a command may be called that."""
    return len(text) <= NAME_LIMIT and _NAME.fullmatch(text) is not None
