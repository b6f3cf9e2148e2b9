"""The one reading of options behind every table that names some: clusters, attached values and shortened long names."""

from collections.abc import Sequence
from functools import lru_cache

from attrs import field, frozen

from quillback.inspectors.shell_script import Word


@frozen
class Grammar:
    """How a program reads its options.

    `valued` are the short ones with a value, which ends a cluster; `plain` are whole long names that only look like a
    beginning of others. With `words` it knows no clusters: `-out x`, `-exec=x`, or `-ox` with `attached` too.
    """

    valued: str = ""
    plain: frozenset[str] = frozenset()
    words: bool = False
    attached: bool = False


ANY = Grammar()


@frozen
class Given:
    """An option as it was given: the value is what is attached to it, or the word that follows. `after` comes next."""

    option: str
    value: Word | None
    attached: bool
    after: tuple[Word, ...]


@frozen
class Options:
    """The options of a program that matter: `-o`, `--output`, or `-out` of those with one dash for all."""

    names: tuple[str, ...]
    grammar: Grammar = ANY
    letters: frozenset[str] = field(init=False, repr=False)
    longs: tuple[str, ...] = field(init=False, repr=False)
    single: frozenset[str] = field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "letters", frozenset(n[1] for n in self.names if len(n) == 2))
        object.__setattr__(self, "longs", tuple(n for n in self.names if n.startswith("--")))
        single = frozenset(n for n in self.names if len(n) > 2 and not n.startswith("--"))
        object.__setattr__(self, "single", single)


@lru_cache(maxsize=512)
def options(names: tuple[str, ...], grammar: Grammar = ANY) -> Options:
    return Options(names, grammar)


def given(words: Sequence[Word], wanted: Options) -> list[Given]:
    """Every use of the wanted options in `words`; doubts count as a use.

    `--` ends the options, unless it may be the value of one.
    """
    found: list[Given] = []
    for index, word in enumerate(words):
        shape = word.shape
        if shape[:1] != "-" or shape == "-":
            continue
        if shape == "--":
            if index and _may_take_value(words[index - 1].shape):
                continue
            break
        match = _long(shape, wanted) if shape.startswith("--") else _short(shape, wanted)
        if match is None:
            continue
        option, start = match
        attached = start > 0
        value = part(word, start) if attached else next(iter(words[index + 1 : index + 2]), None)
        found.append(Given(option, value, attached, tuple(words[index + (1 if attached else 2) :])))
    return found


def values(words: Sequence[Word], wanted: Options) -> list[Word]:
    """What stands after any of the wanted options, attached or not."""
    if not wanted.names:
        return []
    return [g.value for g in given(words, wanted) if g.value is not None]


def has(words: Sequence[Word], wanted: Options) -> bool:
    return bool(given(words, wanted))


def part(word: Word, start: int) -> Word:
    """A word's text from `start` on."""
    shape = word.shape[start:]
    known = word.text is not None
    home = known and shape.startswith("~/") and start > 0
    return Word(
        shape if known and not home else None,
        shape,
        word.source,
        wild=word.wild,
        home=home or (word.home and not start),
        inner=word.inner,
    )


def _long(shape: str, wanted: Options) -> tuple[str, int] | None:
    """The option, and where its attached value begins (0 without one)."""
    name, equals, _ = shape.partition("=")
    start = len(name) + 1 if equals else 0
    if name in wanted.longs or name[1:] in wanted.single:
        return name, start
    if len(name) < 3 or name in wanted.grammar.plain:
        return None
    fitting = next((long for long in wanted.longs if long.startswith(name)), None)
    return (fitting, start) if fitting else None


def _short(shape: str, wanted: Options) -> tuple[str, int] | None:
    name, equals, _ = shape.partition("=")
    if name in wanted.single:
        return name, len(name) + 1 if equals else 0
    grammar = wanted.grammar
    if grammar.words:
        if shape[1] not in wanted.letters or not (len(name) == 2 or grammar.attached):
            return None
        return shape[:2], 0 if len(shape) == 2 else 3 if equals and len(name) == 2 else 2
    for index, letter in enumerate(shape[1:], 1):
        if letter in wanted.letters:
            return f"-{letter}", index + 1 if index + 1 < len(shape) else 0
        if letter in grammar.valued or not (letter.isalnum() or letter in "#@:?"):
            return None
    return None


def _may_take_value(shape: str) -> bool:
    return len(shape) > 1 and shape.startswith("-") and "=" not in shape and shape != "--"
