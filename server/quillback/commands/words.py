"""Splits what stands behind a command's name, and puts it into a text. Nothing that a person types is an error."""

import re
from collections.abc import Sequence

from attrs import frozen

_WORD = re.compile(
    r"""(?P<key>[^\s"'=]+=)?(?P<quote>["'])(?P<inside>(?:\\.|(?!(?P=quote))[^\\])*)(?P=quote)(?=\s|$)"""
    r"|(?P<plain>(?:\\\s|\S)+)",
    re.DOTALL,
)
_PLACE = re.compile(r"\$(?:ARGUMENTS\b|([1-9])(?!\d))")


@frozen
class Word:
    """`at` is where it begins in the text it was split from."""

    text: str
    at: int


def split(text: str) -> list[Word]:
    """The words, much as a shell has them: quotes hold a word together, a backslash keeps a space.

    A quote counts where a word begins, or behind `=`, and has its end before a space; so `don't` is a word.
    """
    return [Word(_value(found), found.start()) for found in _WORD.finditer(text)]


def _value(found: re.Match[str]) -> str:
    if found["plain"] is not None:
        return re.sub(r"\\(\s)", r"\1", found["plain"])
    inside = found["inside"]
    if found["quote"] == '"':
        inside = re.sub(r'\\(["\\])', r"\1", inside)
    return (found["key"] or "") + inside


def has_places(body: str) -> bool:
    """Whether there is anything for `fill` to replace."""
    return _PLACE.search(body) is not None


def fill(body: str, argument: str) -> str:
    """`body` with `$ARGUMENTS` and `$1` to `$9` replaced; behind a body without any of these comes the argument."""
    words: Sequence[str] = [word.text for word in split(argument)]

    def value(found: re.Match[str]) -> str:
        if found[1] is None:
            return argument
        number = int(found[1])
        return words[number - 1] if number <= len(words) else ""

    filled, places = _PLACE.subn(value, body)
    return filled if places or not argument else f"{filled}\n\n{argument}"


def deal(text: str, count: int) -> list[str]:
    """The words of `text` as at most `count` values; the last takes the rest as it was typed."""
    words = split(text)
    if len(words) <= count:
        return [word.text for word in words]
    return [*(word.text for word in words[: count - 1]), text[words[count - 1].at :].strip()] if count else []
