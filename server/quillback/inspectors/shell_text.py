"""The rules of quoting in bash, on plain text."""

import re
from collections.abc import Iterator
from itertools import pairwise

from attrs import frozen

_PAIR = re.compile(r"\\(\n|.)|([^\\]+)|\\$", re.DOTALL)
_LIVE = re.compile(r"(?s:\\.)|(`|\$[\w@*#?$!({\[-])", re.ASCII)
_ANSI = re.compile(
    r"\\(?:([abeEfnrtv\\'\"?])|([0-7]{1,3})|x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|c(.))",
    re.DOTALL,
)
_ANSI_NAMES = {
    "a": "\a",
    "b": "\b",
    "e": "\x1b",
    "E": "\x1b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
}


def unquoted(text: str) -> Iterator[tuple[str, bool]]:
    """Pieces of a word outside quotes, each with whether a backslash protects it."""
    for found in _PAIR.finditer(text):
        escaped, plain = found.groups()
        if plain:
            yield plain, False
        elif escaped is None:
            yield "\\", True
        elif escaped != "\n":
            yield escaped, True


def in_double_quotes(text: str, special: str = '$`"\\') -> str:
    """What literal text inside double quotes stands for."""
    return re.sub(r"\\(\n|.)", lambda m: _double(m[1], special), text, flags=re.DOTALL)


def in_here_document(text: str) -> str:
    return in_double_quotes(text, "$`\\")


def in_backticks(text: str, *, quoted: bool) -> str:
    """The command inside backticks, `quoted` when they stand in double quotes."""
    special = '$`\\"' if quoted else "$`\\"
    text = text.replace("\\\n", "")
    return re.sub(r"\\(.)", lambda m: m[1] if m[1] in special else m[0], text, flags=re.DOTALL)


def ansi_c(text: str) -> str | None:
    """What stands between $' and '; None for what bash itself reads in odd ways."""
    if not {"\\", "'"}.isdisjoint(_ANSI.sub("", text)):
        return None
    try:
        plain = _ANSI.sub(_ansi_char, text)
        plain.encode()
    except (ValueError, OverflowError):
        return None
    return None if "\0" in plain else plain


def is_live(text: str) -> bool:
    """Whether text that should be literal holds the start of an expansion that no backslash protects."""
    return any(found[1] for found in _LIVE.finditer(text))


def _double(char: str, special: str) -> str:
    if char == "\n":
        return ""
    return char if char in special else "\\" + char


def _ansi_char(found: re.Match[str]) -> str:
    name, octal, byte, short, long, control = found.groups()
    if name:
        return _ANSI_NAMES.get(name, name)
    if control:
        return chr(ord(control.upper()) & 0x1F)
    code = int(octal, 8) & 0xFF if octal else int(byte or short or long, 16)
    if code > 0x7F and (octal or byte):
        raise ValueError("a single byte of a longer character")
    return chr(code)


# ---------------------------------------------------------------- braces


@frozen
class Atom:
    """Some text of a word; braces and commas outside quotes stand alone. A hole has no text but its number."""

    char: str
    quoted: bool
    hole: int = -1


Atoms = tuple[Atom, ...]
WORDS_LIMIT = 64
_BRACES_LIMIT = 12
_ODD_BRACES = re.compile(r"\{.*(?:,|\.\.).*\}", re.DOTALL)


class UnclearBracesError(Exception):
    """A brace expansion gives many words, or such that depend on fine points."""


def expand_braces(atoms: Atoms) -> list[Atoms]:
    """`{a,b}` alternatives, in order. Raises UnclearBracesError, also for ranges such as {1..9}."""
    if sum(a.char == "{" and not a.quoted for a in atoms) > _BRACES_LIMIT:
        raise UnclearBracesError
    return _expand(atoms)


def _expand(atoms: Atoms) -> list[Atoms]:
    for start, atom in enumerate(atoms):
        if atom.char != "{" or atom.quoted or _is_expansion(atoms, start):
            continue
        inside = _inside(atoms, start)
        if inside is None:
            continue
        end, commas = inside
        if commas:
            return _alternatives(atoms, start, end, commas)
    if _ODD_BRACES.search("".join("" if a.quoted else a.char for a in atoms)):
        raise UnclearBracesError
    return [atoms]


def _alternatives(atoms: Atoms, start: int, end: int, commas: list[int]) -> list[Atoms]:
    cuts = [start, *commas, end]
    middles = [m for a, b in pairwise(cuts) for m in _expand(atoms[a + 1 : b])]
    tails = _expand(atoms[end + 1 :])
    if len(middles) * len(tails) > WORDS_LIMIT:
        raise UnclearBracesError
    return [atoms[:start] + middle + tail for middle in middles for tail in tails]


def _is_expansion(atoms: Atoms, start: int) -> bool:
    return start > 0 and atoms[start - 1].char.endswith("$") and not atoms[start - 1].quoted


def _inside(atoms: Atoms, start: int) -> tuple[int, list[int]] | None:
    """The closing brace of the one at `start` and the commas between them."""
    depth = 0
    commas: list[int] = []
    for index in range(start, len(atoms)):
        if atoms[index].quoted:
            continue
        match atoms[index].char:
            case "{":
                depth += 1
            case "}":
                depth -= 1
                if not depth:
                    return index, commas
            case "," if depth == 1:
                commas.append(index)
    return None
