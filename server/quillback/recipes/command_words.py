"""Which words of a command may be values: those that its program takes for data, as far as that is known."""

import re
import shlex
from collections.abc import Sequence

from attrs import frozen


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


EVALUATES = _names(
    ". alias bind bg compgen complete coproc declare emacs enable eval ex expect export fc fg gdb getopts gmake hash "
    "history let local make mapfile mysql nvim parallel psql read readarray readonly rsh set source sqlite ssh su "
    "tclsh trap typeset unalias unset vi vim wait watch"
)
"""What they get may be code for them, or the name of a variable, whose subscript the shell computes."""
KEEPS = _names(": [ break builtin cd command continue echo exec exit printf return shift test times")
"""Built in: what is assigned before one may stay in the shell, which could evaluate it later."""
_RUNS = _names(
    "builtin busybox chroot command doas docker env exec find flock ionice nice nohup podman script setsid stdbuf "
    "strace sudo taskset time timeout toybox unshare xargs"
)
_SHELLS = _names("ash bash dash fish ksh mksh rbash sh zsh")
_CODE = {
    **dict.fromkeys(_SHELLS, re.compile(r"-[a-z]*c|--command")),
    **dict.fromkeys(("python", "pypy"), re.compile(r"-[A-Za-z]*[cm]")),
    **dict.fromkeys(("perl", "ruby", "lua", "osascript"), re.compile(r"-[a-z]*e")),
    **dict.fromkeys(("node", "deno", "bun", "Rscript"), re.compile(r"-e|-p|--eval|--print")),
    **dict.fromkeys(("awk", "gawk", "mawk", "nawk", "sed", "php"), re.compile(r"-f|-e|-r")),
}
_FLAGS = {
    **dict.fromkeys(_SHELLS, re.compile(r"-[eux]+")),
    **dict.fromkeys(("python", "pypy"), re.compile(r"-[BEIOPsSu]+")),
    "sed": re.compile(r"-[nrEsz]+"),
}
"""Options without a word of their own."""
_NEVER = re.compile(r"(?!)")
_INNER = (EVALUATES | _CODE.keys() | _RUNS | {"test", "printf"}) - {"."}
_NUMBERED = re.compile(r"[\d.]+[\w.-]*$")
_COMPARES = _names("= == != < > -eq -ne -lt -le -gt -ge -nt -ot -ef")
_ASKS = frozenset(f"-{letter}" for letter in "abcdefghknprstuwxzGLNOS")


@frozen
class Word:
    """`text` without its quotes; None where the shell makes something of it. `marked` where a value is in it."""

    text: str | None
    marked: bool = False

    @property
    def plain(self) -> str:
        return "" if self.text is None or self.marked else self.text


class RefusedError(ValueError):
    """The text says why."""


def word_of(text: str, mark: str) -> Word:
    """A word as it stands in the command."""
    marked = mark in text
    if re.search(r"[$`*?~{}]", text.replace(mark, "") if not text.startswith("'") else ""):
        return Word(None, marked)
    try:
        parts = shlex.split(text)
    except ValueError:
        parts = []
    return Word(parts[0] if len(parts) == 1 else None, marked)


def words_in(text: str, mark: str) -> list[Word]:
    """Those of a test in brackets. Raises RefusedError."""
    try:
        parts = shlex.split(text)
    except ValueError:
        raise RefusedError("a placeholder cannot stand in this test") from None
    inner = mark.strip("'")
    return [Word(part, inner in part) for part in parts]


def base(word: Word) -> str:
    """A program's name: without its directory, and without the number of a version."""
    name = word.plain.rpartition("/")[2]
    return re.sub(r"(?<=[a-z])[\d.]+$", "", name) if name else ""


def look_at_command(words: Sequence[Word]) -> None:
    """Raises RefusedError where a value is no data. The first word is the command's name."""
    name, rest = base(words[0]), words[1:]
    if words[0].marked or not name:
        raise RefusedError("a placeholder cannot go to a command whose name is not written out")
    if not any(word.marked for word in rest):
        return
    if name in EVALUATES:
        raise RefusedError(f"a placeholder cannot stand behind {name}")
    if name == "test":
        look_at_test(rest)
    elif name == "printf" and rest[0].plain == "--":
        _look_at_format(rest[1:])
    elif name == "printf":
        _look_at_format(rest)
    elif name in _CODE:
        _look_at_code(name, rest)
    elif name in _RUNS:
        _look_at_inner(name, rest)


def _look_at_format(rest: Sequence[Word]) -> None:
    if not rest or not rest[0].text or rest[0].marked or rest[0].text.startswith("-"):
        raise RefusedError("with placeholders, the first word behind printf must be a format without one")


def look_at_test(words: Sequence[Word]) -> None:
    """Only the forms that are what they seem whatever the value is: `-v` evaluates, and a value may be `-v`."""
    asked = words[1:] if words and words[0].text == "!" and not words[0].marked else words
    match list(asked):
        case [_]:
            return
        case [sign, _] if sign.plain in _ASKS:
            return
        case [_, sign, _] if sign.plain in _COMPARES:
            return
    raise RefusedError("with placeholders, a test must be `-f {{ key }}`, `A = B` or the like, without -v, -a and -o")


def _look_at_code(name: str, rest: Sequence[Word]) -> None:
    """What runs code: the code, or the name of its file, is written out, and values come behind it."""
    before = [word.plain for word in rest]
    if any(w.marked and _CODE[name].fullmatch(text) for text, w in zip(before, rest[1:], strict=False)):
        raise RefusedError(f"a placeholder cannot be code for {name}")
    if name == "sed" and "--" not in before[: next((i for i, w in enumerate(rest) if w.marked), 0)]:
        raise RefusedError("behind sed, which takes options in every place, -- must stand before a placeholder")
    for i, word in enumerate(rest):
        text = word.text or ""
        if word.marked:
            break
        if _CODE[name].fullmatch(text):
            if i + 1 < len(rest) and not rest[i + 1].marked:
                return
            break
        if _FLAGS.get(name, _NEVER).fullmatch(text):
            continue
        if text.startswith(("-", "+")):
            break
        return
    raise RefusedError(f"behind {name}, its code or script must be written out before the first placeholder")


def _look_at_inner(name: str, rest: Sequence[Word]) -> None:
    """What runs another command: that one is written out before the first placeholder, and is looked at too."""
    first = next(i for i, word in enumerate(rest) if word.marked)
    inner = [i for i, word in enumerate(rest[:first]) if not _is_option(word)]
    if name != "find" and (not inner or rest[inner[0]].text is None):
        raise RefusedError(f"behind {name}, the command must be written out before the first placeholder")
    for i, word in enumerate(rest):
        if base(word) in _INNER:
            if i > first:
                raise RefusedError(f"a placeholder cannot stand between {name} and {word.text}")
            look_at_command(rest[i:])


def _is_option(word: Word) -> bool:
    text = word.text or ""
    return text.startswith("-") or bool(_NUMBERED.match(text)) or bool(re.match(r"\w+=", text))
