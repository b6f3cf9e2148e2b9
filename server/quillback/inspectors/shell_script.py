"""What a shell line would do, as values: its commands, their words and redirections, and what stays unknown."""

import re
import shlex
from collections.abc import Iterable

from attrs import Factory, field, frozen

UNKNOWN = "\0"
"""Stands in `Word.shape` for text that only an expansion will tell; no real word can hold it."""

_PROGRAM_DIRS = re.compile(r"(?:/usr)?(?:/local)?/s?bin|/opt/(?:homebrew|local)/s?bin")
_HARMLESS_FILES = re.compile(r"/dev/(?:null|stdin|stdout|stderr|tty|fd/\d+)")


@frozen
class Word:
    """One word of a command.

    `text` is what it will be, None when that depends on an expansion, a wild card or the home directory. `shape` is the
    text as far as it is known: UNKNOWN for holes, wild cards as they stand, `~` in front where `home` is set. `source`
    is how it was written. `splits`: it may become several words or none. `inner` are the programs whose output it takes
    in, or that read what is written to it.
    """

    text: str | None
    shape: str
    source: str
    wild: bool = False
    home: bool = False
    splits: bool = False
    inner: tuple[str, ...] = ()

    @property
    def may_be_option(self) -> bool:
        """Whether a program may take it for an option, or for more than one word that could be one."""
        return self.splits or self.shape[:1] in ("-", "+", UNKNOWN, "*", "?", "[")


def literal(text: str) -> Word:
    return Word(text, text, shlex.quote(text))


def hole(source: str = "", *, splits: bool = True, inner: tuple[str, ...] = ()) -> Word:
    """A word of which nothing is known."""
    return Word(None, UNKNOWN, source or "?", splits=splits, inner=inner)


def joined(words: Iterable[Word], separator: str = " ") -> Word:
    """`words` as the one word that a program makes of them; unknown when one of them is."""
    parts = list(words)
    texts = [w.text for w in parts if w.text is not None]
    return Word(
        separator.join(texts) if len(texts) == len(parts) else None,
        separator.join(w.shape for w in parts),
        separator.join(w.source for w in parts),
        inner=tuple(name for w in parts for name in w.inner),
    )


@frozen
class Assignment:
    """`value` is None for arrays and where a loop or a builtin sets the variable."""

    name: str
    value: Word | None


@frozen
class Redirect:
    """`target` is the file, or the whole text that a here-document or here-string gives."""

    operator: str
    target: Word
    descriptor: str = ""

    @property
    def feeds(self) -> bool:
        """Whether it decides what standard input is."""
        return self.operator.startswith("<") and self.descriptor in ("", "0")

    @property
    def gives_text(self) -> bool:
        return self.operator.startswith("<<")

    @property
    def writes(self) -> bool:
        """Whether a file is made or changed by it."""
        if self.operator in (">&", "&>-") and re.fullmatch(r"\d*-?", self.target.shape):
            return False
        return ">" in self.operator and not _HARMLESS_FILES.fullmatch(self.target.shape)


@frozen
class Command:
    """A command that a line would run.

    `via` are the wrappers it is reached through, outermost first; `remote` when it runs on another machine or in a
    container. `upstream` are the programs whose output it reads through pipes, `piped` that very output where it is
    known. `functions` are the function bodies it stands in. A `wrapper` does nothing but run commands that are listed
    too. `source` is the text of pseudo commands such as `x=1` or `[[ -f x ]]`, which have no words.
    """

    words: tuple[Word, ...]
    assignments: tuple[Assignment, ...] = ()
    redirects: tuple[Redirect, ...] = ()
    via: tuple[str, ...] = ()
    privileged: bool = False
    remote: bool = False
    upstream: tuple[str, ...] = ()
    piped: Word | None = None
    functions: tuple[str, ...] = ()
    background: bool = False
    wrapper: bool = False
    source: str = ""
    name: str | None = field(init=False, default=Factory(lambda self: _name(self.words), takes_self=True))

    @property
    def args(self) -> tuple[Word, ...]:
        return self.words[1:]

    @property
    def texts(self) -> tuple[str, ...]:
        """The arguments as far as they are known, see `Word.shape`."""
        return tuple(w.shape for w in self.args)

    @property
    def text(self) -> str:
        """It as one normal text: known words quoted where needed, the others as they were written."""
        if not self.words:
            return self.source
        first = program(self.words[0])
        words = [w.source if w.text is None else shlex.quote(w.text) for w in self.args]
        return " ".join([first.source if first.text is None else shlex.quote(first.text), *words])


@frozen
class Script:
    """A parsed line. `unresolved` says, for the user, what could not be understood; then the line must be asked about.

    `commands` come in the order of the text, a wrapper before what it runs.
    """

    line: str
    commands: tuple[Command, ...]
    unresolved: tuple[str, ...] = ()


def _name(words: tuple[Word, ...]) -> str | None:
    """The program without its directory; None when unknown, empty for pseudo commands."""
    if not words:
        return ""
    first = words[0]
    known = first.text is not None or not (first.wild or first.splits or UNKNOWN in first.shape)
    return first.shape.rpartition("/")[2] if known else None


def program(word: Word) -> Word:
    """A command's first word without the directory, where that is one of the system's."""
    folder, slash, name = (word.text or "").rpartition("/")
    return literal(name) if slash and _PROGRAM_DIRS.fullmatch(folder) else word
