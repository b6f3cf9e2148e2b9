"""What each kind of setting accepts. A parser takes a TOML value and returns the typed one or refuses it."""

import re
from collections.abc import Callable, Collection, Iterable
from enum import StrEnum

from quillback.config_tools import misspelled
from quillback.core.rules import EXAMPLES, parse_pattern

Parser = Callable[[object], object]
_HOSTS = '"*.example.com", "registry:npm"'


class Refused(Exception):
    """The value is not allowed; the text says what is."""


class PartlyRefused(Exception):
    """Some items of a list are not allowed: `kept` is what is left, `faults` are the others with what is wrong."""

    def __init__(self, kept: object, faults: list[tuple[object, str]]) -> None:
        super().__init__("; ".join(says for _, says in faults))
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
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1:
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


def side_model(value: object) -> object:
    """A model that answers questions of ours; a script says what it says, whatever it is asked."""
    text = line(value)
    if isinstance(text, str) and text.startswith("scripted:"):
        raise Refused("the id of a real model: a script cannot judge calls")
    return text


def variables(value: object) -> object:
    """Good names count although there is a bad one beside them: they keep secrets."""
    if not isinstance(value, list):
        raise Refused("a list of names of environment variables")
    return _each(value, _variable, frozenset)


def rules(value: object) -> object:
    """Permission rules in the language of `core.rules`, about tools that there may be."""
    if not isinstance(value, list):
        raise Refused(f"a list of rules such as {EXAMPLES}")
    return _each(value, check_rule)


def hosts(value: object) -> object:
    """Host patterns."""
    if not isinstance(value, list):
        raise Refused(f"a list of hosts such as [{_HOSTS}]")
    return _each(value, _host)


def check_rule(text: object) -> str:
    """A rule without the blanks around it. Raises ValueError that says what is wrong with it."""
    if not isinstance(text, str):
        raise ValueError(f"{describe(text)} is not a rule; write {EXAMPLES}")
    if wrong := misspelled(parse_pattern(text).tool):
        raise ValueError(f"{describe(text)}: {wrong}")
    return text.strip()


def _each(
    items: list[object], read: Callable[[object], str], kind: Callable[[Iterable[str]], Collection[str]] = tuple
) -> Collection[str]:
    """What `read` makes of each item. Raises PartlyRefused if it raises ValueError for some."""
    good: list[str] = []
    faults: list[tuple[object, str]] = []
    for item in items:
        try:
            good.append(read(item))
        except ValueError as error:
            faults.append((item, str(error)))
    if faults:
        raise PartlyRefused(kind(good), faults)
    return kind(good)


def _variable(item: object) -> str:
    if isinstance(item, str) and re.fullmatch(r"[A-Za-z_]\w*", item):
        return item
    raise ValueError(f"{describe(item)} is not the name of a variable")


def _host(item: object) -> str:
    """Schemes of the web, paths and ports are in no destination, so a pattern with one would never match."""
    text = item.strip() if isinstance(item, str) else ""
    scheme, mark, rest = text.rpartition("://")
    bad = not rest or "/" in rest or " " in text or not text.isprintable() or scheme in ("http", "https", "ssh", "git")
    if bad or (not mark and re.fullmatch(r"[^:]*:\d+", text)):
        raise ValueError(f"{describe(item)} is not a host; write it without scheme, port and path, such as {_HOSTS}")
    return text


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
