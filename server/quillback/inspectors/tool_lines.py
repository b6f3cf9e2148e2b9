"""The shell lines in a call, whichever tool it is for."""

import re
import shlex
from collections.abc import Iterator, Mapping

from quillback.core.ports import Inspection

_KEYS = frozenset(
    {
        *("command", "commands", "cmd", "cmds", "commandline", "cmdline", "shellcommand", "bashcommand", "shell"),
        *("script", "bash", "code", "exec", "execute", "program", "executable"),
    }
)
_PATH_KEY = re.compile(
    r"\w*(?:path|file|filename|paths|files|directory|folder|dir|destination|source|uri)", re.IGNORECASE
)
LINES_LIMIT = 20
_ARGUMENTS = ("args", "arguments", "argv", "parameters")


def shell_lines(inspection: Inspection) -> tuple[str, ...]:
    """The command line of the call, or what parameters named like one hold: `command`, `cmd`, `script`, `code` ...

    A list is a program and its arguments, or several lines. More than LINES_LIMIT are one too many to be looked at.
    """
    access = inspection.access
    if access.command:
        return (access.command,)
    if access.reads or access.writes:
        return ()
    found = (line for key, value, beside in _entries(inspection.call.input) for line in _lines(key, value, beside))
    return tuple(dict.fromkeys(found))


def named_paths(inspection: Inspection) -> tuple[str, ...]:
    """The values of parameters named like a path, of calls that do not tell themselves what they touch."""
    access = inspection.access
    if access.command or access.reads or access.writes:
        return ()
    found = [v for key, value, _ in _entries(inspection.call.input) if _PATH_KEY.fullmatch(key) for v in _texts(value)]
    return tuple(dict.fromkeys(text.removeprefix("file://") for text in found if "\0" not in text))


def _entries(arguments: Mapping[str, object]) -> Iterator[tuple[str, object, Mapping[str, object]]]:
    """Every key of the arguments, however deep, with its value and the object it stands in."""
    waiting: list[object] = [arguments]
    while waiting:
        value = waiting.pop()
        if isinstance(value, Mapping):
            yield from ((str(key), item, value) for key, item in value.items())
            waiting += value.values()
        elif isinstance(value, list | tuple):
            waiting += value


def _lines(key: str, value: object, beside: Mapping[str, object]) -> Iterator[str]:
    if re.sub(r"[^a-z]", "", key.lower()) not in _KEYS:
        return
    texts = _texts(value)
    if isinstance(value, str) and texts:
        words = next((_texts(beside[name]) for name in _ARGUMENTS if not isinstance(beside.get(name, ""), str)), [])
        yield f"{value} {shlex.join(words)}" if words else value
    elif len(texts) == 1 or (texts and (key.lower().endswith("s") or re.search(r"\s", texts[0]))):
        yield from texts
    elif texts:
        yield shlex.join(texts)


def _texts(value: object) -> list[str]:
    """A text, or the texts of a list; blank ones left out."""
    items = value if isinstance(value, list | tuple) else [value]
    return [item for item in items if isinstance(item, str) and item.strip()]
