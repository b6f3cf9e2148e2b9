"""Reads config.toml and tells in which line a key stands, which the standard parser does not."""

import re
from functools import lru_cache
from pathlib import Path

from attrs import frozen

Table = dict[str, object]
_NOTHING = "the whole file is not used until this is mended"
_HEADER = re.compile(r"\s*(\[\[?[^\[\]]+\]?\])\s*(#.*)?")
_ASSIGNMENT = re.compile(r"""\s*((?:"(?:[^"\\]|\\.)*"|'[^']*'|[^"'=#\[\]])+?)\s*=""")


@frozen
class ConfigFile:
    """`problem` says why there are no values although there is a file."""

    path: Path
    values: Table
    text: str = ""
    problem: str = ""

    def place(self, *path: str) -> str:
        """Where the key is, as `file:line`; only the file if the line cannot be told."""
        number = self._number(path)
        return f"{self.path}:{number}" if number else str(self.path)

    def place_of_item(self, item: object, *path: str) -> str:
        """Where a text in the list of that key is; where the key is if that cannot be told."""
        number = self._number(path)
        quoted = (f'"{item}"', f"'{item}'")
        for line, text in enumerate(self.text.splitlines()[number - 1 :] if number else (), number):
            if any(form in text for form in quoted):
                return f"{self.path}:{line}"
            if line > number and any(line == other for other, _ in _keys(self.text)):
                break
        return self.place(*path)

    def _number(self, path: tuple[str, ...]) -> int:
        for number, here in _keys(self.text):
            if here[: len(path)] == path or (here and here == path[: len(here)] and _is_inline(self.text, number)):
                return number
        return 0


def read_config(path: Path) -> ConfigFile:
    """A file that is not there has no values and no problem."""
    try:
        data = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return ConfigFile(path, {})
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        return ConfigFile(path, {}, problem=f"{path}: cannot be read: {reason}; {_NOTHING}")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return ConfigFile(path, {}, problem=f"{path}:{line}: not valid TOML: the text is not UTF-8; {_NOTHING}")
    return _parse(path, text)


def _parse(path: Path, text: str) -> ConfigFile:
    import tomllib

    try:
        return ConfigFile(path, tomllib.loads(text), text)
    except tomllib.TOMLDecodeError as error:
        message, _, where = str(error).partition(" (at ")
        found = re.match(r"line (\d+)", where)
        line = int(found[1]) if found else text.rstrip().count("\n") + 1
        return ConfigFile(path, {}, problem=f"{path}:{line}: not valid TOML: {message}; {_NOTHING}")
    except RecursionError:
        return ConfigFile(path, {}, problem=f"{path}: not valid TOML: nested too deeply; {_NOTHING}")


@lru_cache(maxsize=2)
def _keys(text: str) -> tuple[tuple[int, tuple[str, ...]], ...]:
    """The full key of each line that is a table header or an assignment, with its line number.

    A line inside a multi-line string can be taken for one; that costs a wrong number in a message, no more.
    """
    keys: list[tuple[int, tuple[str, ...]]] = []
    table: tuple[str, ...] = ()
    for number, line in enumerate(text.splitlines(), 1):
        if header := _HEADER.fullmatch(line):
            table = _split(header[1])
            keys.append((number, table))
        elif assignment := _ASSIGNMENT.match(line):
            keys.append((number, table + _split(f"{assignment[1]} = 0")))
    return tuple(keys)


def _split(snippet: str) -> tuple[str, ...]:
    """The parts of the one key in a line of TOML."""
    import tomllib

    try:
        level: object = tomllib.loads(snippet)
    except tomllib.TOMLDecodeError:
        return ()
    parts: list[str] = []
    while isinstance(level, dict) and level:
        name, level = next(iter(level.items()))
        parts.append(name)
    return tuple(parts)


def _is_inline(text: str, number: int) -> bool:
    """Whether the line assigns an inline table, so that keys below its own are in it."""
    return re.search(r"=\s*\{", text.splitlines()[number - 1]) is not None
