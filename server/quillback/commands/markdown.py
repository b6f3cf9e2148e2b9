"""A command in a Markdown file: optional front matter, then what the prompt stands for. Nothing of it is ever run."""

import re
from collections.abc import Mapping

from attrs import frozen

from quillback.commands.words import fill
from quillback.core.commands import CommandInfo, is_name
from quillback.core.text import one_line

SIZE_LIMIT = 100 * 1024
"""Bytes of one file."""

_FRONT_LIMIT = 8 * 1024
_ABOUT_LIMIT = 120
_HINT_LIMIT = 80
_FRONT = re.compile(r"---[ \t]*\n(.*?\n)??---[ \t]*(?:\n|\Z)", re.DOTALL)
_LINE = re.compile(r"^(description|argument-hint):[ \t]*(.*?)[ \t]*$", re.MULTILINE)


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
    name = below.removesuffix(".md").replace("/", ":")
    if not is_name(name):
        raise BadCommandError("a command's name has letters, digits, - and _ only, and begins with a letter or digit")
    if len(data) > SIZE_LIMIT:
        raise BadCommandError(f"it is larger than {SIZE_LIMIT // 1024} KB")
    try:
        text = data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise BadCommandError("it is not UTF-8 text") from None
    if "\0" in text:
        raise BadCommandError("it is not text")
    front, body = _parts(text)
    if not body:
        raise BadCommandError("it says nothing")
    told = _told(front)
    description = told.get("description") or body.lstrip("#").strip().partition("\n")[0]
    info = CommandInfo(name, one_line(description, _ABOUT_LIMIT), one_line(_hint(told, body), _HINT_LIMIT), origin)
    return MarkdownCommand(info, body)


def _parts(text: str) -> tuple[str, str]:
    """The front matter and the body. A line `---` that has no second one is no front matter."""
    found = _FRONT.match(text)
    if found is None:
        return "", text.strip()
    if len(found[0]) > _FRONT_LIMIT:
        raise BadCommandError(f"its front matter is larger than {_FRONT_LIMIT // 1024} KB")
    return found[1] or "", text[found.end() :].strip()


def _hint(told: Mapping[str, str], body: str) -> str:
    return told.get("argument-hint") or ("arguments" if "$ARGUMENTS" in body or "$1" in body else "")


def _told(front: str) -> dict[str, str]:
    """The keys that count. What is no YAML, such as `argument-hint: [file] [line]`, is read line by line."""
    if not front.strip():
        return {}
    import yaml  # takes a while, and most commands have no front matter

    try:
        whole = yaml.safe_load(front)
    except (yaml.YAMLError, ValueError, RecursionError):
        return dict(_LINE.findall(front))
    if not isinstance(whole, dict):
        return {}
    return {key: _plain(whole[key]) for key in ("description", "argument-hint") if key in whole}


def _plain(value: object) -> str:
    """YAML takes `[file]` for a list."""
    match value:
        case str():
            return value
        case int() | float():
            return str(value)
        case list() if all(isinstance(item, str) for item in value):
            return f"[{', '.join(value)}]"
        case _:
            return ""
