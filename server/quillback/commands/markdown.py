"""A command in a Markdown file: optional front matter, then what the prompt stands for. Nothing of it is ever run."""

from collections.abc import Mapping

from attrs import frozen

from quillback.commands.words import fill, has_places
from quillback.core.commands import CommandInfo, is_name
from quillback.core.text import one_line
from quillback.documents.front_matter import parted, values
from quillback.documents.reading import UnfitError, as_text

SIZE_LIMIT = 100 * 1024
"""Bytes of one file."""

_ABOUT_LIMIT = 120
_HINT_LIMIT = 80


class BadCommandError(ValueError):
    """The file is no command; the text says why."""


@frozen
class MarkdownCommand:
    info: CommandInfo
    body: str

    def text(self, argument: str) -> str:
        return fill(self.body, argument)


def read_command(below: str, data: bytes, origin: str) -> MarkdownCommand:
    """The command of a file. `below` is its path inside the directory of commands: `git/fix.md` is `git:fix`.

    Raises BadCommandError.
    """
    name = name_of(below)
    if not is_name(name):
        raise BadCommandError("a command's name has letters, digits, - and _ only, and begins with a letter or digit")
    if len(data) > SIZE_LIMIT:
        raise BadCommandError(f"it is larger than {SIZE_LIMIT // 1024} KB")
    try:
        front, body = parted(as_text(data))
    except UnfitError as unfit:
        raise BadCommandError(str(unfit)) from None
    if not body:
        raise BadCommandError("it says nothing")
    told = values(front, ("description", "argument-hint"))
    description = told.get("description") or body.lstrip("#").strip().partition("\n")[0]
    info = CommandInfo(name, one_line(description, _ABOUT_LIMIT), one_line(_hint(told, body), _HINT_LIMIT), origin)
    return MarkdownCommand(info, body)


def name_of(below: str) -> str:
    """What the file at a path inside a directory of commands is called, whether or not it may be."""
    return below.removesuffix(".md").replace("/", ":")


def _hint(told: Mapping[str, str], body: str) -> str:
    """Editors ask for words behind a command only where there is a hint."""
    return told.get("argument-hint") or ("[text]" if has_places(body) else "")
