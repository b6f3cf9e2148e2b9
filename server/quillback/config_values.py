"""What each kind of setting accepts. A parser takes a TOML value and returns the typed one or refuses it."""

import re
from collections.abc import Callable
from enum import StrEnum

from quillback.core.rules import EXAMPLES, parse_pattern

Parser = Callable[[object], object]


class Refused(Exception):
    """The value is not allowed; the text says what is."""


class PartlyRefused(Exception):
    """Some of the value is not allowed: `kept` is what is left of it, `faults` say what is wrong with the rest."""

    def __init__(self, kept: object, faults: list[str]) -> None:
        super().__init__("; ".join(faults))
        self.kept = kept
        self.faults = faults


def choice(kind: type[StrEnum], note: str = "") -> Parser:
    members = [member.value for member in kind]
    *others, last = members
    allowed = (f"{', '.join(others)} or {last}" if others else last) + note

    def parse(value: object) -> object:
        if isinstance(value, str) and value in members:
            return kind(value)
        raise Refused(allowed)

    return parse


def whole(low: int, high: int) -> Parser:
    def parse(value: object) -> object:
        if isinstance(value, int) and not isinstance(value, bool) and low <= value <= high:
            return value
        raise Refused(f"a whole number from {low} to {high}")

    return parse


def positive(high: int, unit: str) -> Parser:
    """A number above 0. Infinity and NaN fail the comparison."""

    def parse(value: object) -> object:
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= high:
            return float(value)
        raise Refused(f"a number of {unit} above 0, at most {high}")

    return parse


def ratio(value: object) -> object:
    """A share; from 1 on, and at 0, it means never."""
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 100:
        return float(value)
    raise Refused("a share of the context window such as 0.8; 0 or 1 for never")


def flag(value: object) -> object:
    if isinstance(value, bool):
        return value
    raise Refused("true or false")


def line(value: object) -> object:
    """A text without line breaks or other control characters; blank means not set."""
    if isinstance(value, str) and (value.isprintable() or not value.strip()):
        return value.strip()
    raise Refused("one line of text")


def variables(value: object) -> object:
    """Good names count although there is a bad one beside them: they keep secrets."""
    if not isinstance(value, list):
        raise Refused("a list of names of environment variables")
    good = [name for name in value if isinstance(name, str) and re.fullmatch(r"[A-Za-z_]\w*", name)]
    faults = [f"{describe(name)} is not the name of a variable" for name in value if name not in good]
    if faults:
        raise PartlyRefused(frozenset(good), faults)
    return frozenset(good)


def rules(value: object) -> object:
    """Permission rules in the language of `core.rules`."""
    if isinstance(value, list) and all(isinstance(text, str) for text in value):
        for text in value:
            try:
                parse_pattern(text)
            except ValueError as error:
                raise Refused(f"a list of rules: {error}") from None
        return tuple(text.strip() for text in value)
    raise Refused(f"a list of rules such as {EXAMPLES}")


def hosts(value: object) -> object:
    """Host patterns."""
    if isinstance(value, list) and all(isinstance(text, str) and text.strip() for text in value):
        return tuple(text.strip() for text in value)
    raise Refused('a list of hosts such as ["*.example.com", "registry:npm"]')


def secret(value: object) -> object:
    """Something that fits into an HTTP header."""
    if isinstance(value, str) and is_header_word(value.strip()):
        return value.strip()
    raise Refused("a text of printable ASCII characters without spaces")


def is_header_word(text: str) -> bool:
    return text.isascii() and text.isprintable() and " " not in text


def api_version(value: object) -> object:
    if isinstance(value, str) and re.fullmatch(r"(\d{4}-\d{2}-\d{2})?", value.strip(), re.ASCII):
        return value.strip()
    raise Refused("a date in quotes such as '2023-06-01'")


def web_address(value: object) -> object:
    if isinstance(value, str) and _is_web_address(value.strip()):
        return value.strip()
    raise Refused("an address such as https://host:port/path, without query")


def _is_web_address(text: str) -> bool:
    return web_address_with_query(text) and not any(mark in text for mark in "?#")


def web_address_with_query(text: str) -> bool:
    """Whether it is an HTTP address, perhaps with a query."""
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(text)
        fits = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
    return fits and text.isprintable() and " " not in text


def number_of(text: str) -> object:
    """The number an environment variable spells, or the text as it is."""
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return text


def describe(value: object) -> str:
    """A value as an error message may show it."""
    match value:
        case bool():
            return str(value).lower()
        case str() | int() | float():
            shown = repr(value) if not isinstance(value, int) or abs(value) < 10**30 else "a huge number"
            return shown if len(shown) <= 60 else f"{shown[:57]}..."
        case dict():
            return "a table"
        case list():
            return "a list"
        case _:
            return "a date or time"
