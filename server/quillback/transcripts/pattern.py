"""What a message of a transcript may look like: JSON with names, patterns and open ends, as a closed union."""

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from attrs import frozen

NAME = re.compile(r"\$(CWD\b|[a-z]\w*)")
"""Others, such as $HOME, are text."""
CWD = "CWD"
"""The name of the directory that a transcript runs in. It has a value from the beginning."""


class Kind(StrEnum):
    """Any value of a kind, written `<int>`."""

    ANY = "any"
    STRING = "string"
    INT = "int"
    NUMBER = "number"
    BOOL = "bool"
    OBJECT = "object"
    ARRAY = "array"


@frozen
class Name:
    """`$name`: the first message with it gives it its value, later ones must have the same."""

    name: str


@frozen
class Regex:
    """`/.../`: a string that it matches from end to end; `.` is any character, a line break too."""

    source: str

    def fits(self, value: object) -> bool:
        return isinstance(value, str) and re.fullmatch(self.source, value, re.DOTALL) is not None


@frozen
class Words:
    """A string; the names in it stand for their values as soon as they have one."""

    pieces: tuple[str | Name, ...]

    def text(self, names: Mapping[str, object]) -> str:
        return "".join(piece if isinstance(piece, str) else _said(piece, names) for piece in self.pieces)


@frozen
class Scalar:
    """A number, true, false or null."""

    value: Any


@frozen
class Obj:
    """`rest` says that other keys may be there as well."""

    fields: tuple[tuple[str, "Pattern"], ...]
    rest: bool = False

    def get(self, key: str) -> "Pattern | None":
        return next((pattern for name, pattern in self.fields if name == key), None)


@frozen
class Arr:
    """`rest` says that other items may follow."""

    items: tuple["Pattern", ...]
    rest: bool = False


Pattern = Name | Kind | Regex | Words | Scalar | Obj | Arr


class UnknownNameError(LookupError):
    """A message to be sent has a name without a value, or a pattern."""


def fill(pattern: Pattern, names: Mapping[str, object]) -> object:
    """The JSON value that is sent. Raises UnknownNameError where it is not said what to send."""
    match pattern:
        case Name(name=name) if name in names:
            return names[name]
        case Name(name=name):
            raise UnknownNameError(f"${name} has no value yet: no message before this line gave it one")
        case Words():
            return pattern.text(names)
        case Scalar(value=value):
            return value
        case Obj(rest=False):
            return {key: fill(item, names) for key, item in pattern.fields}
        case Arr(rest=False):
            return [fill(item, names) for item in pattern.items]
        case _:
            raise UnknownNameError("`...`, <kinds> and /patterns/ are for what comes; say here what to send")


def fits(pattern: Pattern, value: object, names: Mapping[str, object]) -> dict[str, object] | None:
    """The names with those that `value` gave a value, or None where it does not fit."""
    found = dict(names)
    return found if _fits(pattern, value, found) else None


def _fits(pattern: Pattern, value: object, names: dict[str, object]) -> bool:
    match pattern:
        case Name(name=name):
            return same(names.setdefault(name, value), value)
        case Kind():
            return is_of(pattern, value)
        case Regex():
            return pattern.fits(value)
        case Words():
            return isinstance(value, str) and pattern.text(names) == value
        case Scalar(value=wanted):
            return same(wanted, value)
        case Obj(fields=fields, rest=rest):
            if not isinstance(value, dict) or not (rest or len(value) == len(fields)):
                return False
            return all(key in value and _fits(item, value[key], names) for key, item in fields)
        case Arr(items=items, rest=rest):
            if not isinstance(value, list) or len(value) < len(items) or not (rest or len(value) == len(items)):
                return False
            return all(_fits(item, found, names) for item, found in zip(items, value, strict=False))


def is_of(kind: Kind, value: object) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    match kind:
        case Kind.ANY:
            return True
        case Kind.STRING:
            return isinstance(value, str)
        case Kind.INT:
            return number and isinstance(value, int)
        case Kind.NUMBER:
            return number
        case Kind.BOOL:
            return isinstance(value, bool)
        case Kind.OBJECT:
            return isinstance(value, dict)
        case Kind.ARRAY:
            return isinstance(value, list)


def same(one: object, other: object) -> bool:
    """Equal as JSON: true is not 1, and 1 is 1.0."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other


def _said(name: Name, names: Mapping[str, object]) -> str:
    return str(names[name.name]) if name.name in names else f"${name.name}"
