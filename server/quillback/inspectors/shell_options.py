"""Tells the options of a program from its operands, as getopt does."""

import re
from collections.abc import Iterator, Sequence

from attrs import field, frozen

from quillback.inspectors.shell_script import Word, literal

_SHORT = re.compile(r"(.)(:{0,2})")


@frozen
class Spec:
    """The options of a program: `short` as for getopt (`a`, `b:` with a value, `c::` with an attached one), where `#`
    allows numbers (`-10`); `long` names apart by blanks, `=` after those with a value. `operands` come before the rest.
    With `permutes` options may follow operands.
    """

    short: str = ""
    long: str = ""
    operands: int = 0
    permutes: bool = False
    shorts: dict[str, str] = field(init=False, repr=False, eq=False)
    longs: dict[str, bool] = field(init=False, repr=False, eq=False)

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "shorts", {m[1]: m[2] for m in _SHORT.finditer(self.short)})
        object.__setattr__(self, "longs", {name.rstrip("="): name.endswith("=") for name in self.long.split()})

    def long_name(self, name: str) -> str:
        """The whole name of an option, of which a beginning that fits no other is enough; empty if there is none."""
        if name in self.longs:
            return name
        fitting = [known for known in self.longs if known.startswith(name)]
        return fitting[0] if len(fitting) == 1 else ""


@frozen
class Parsed:
    """`given` are the options by name with their values, `operands` those before the rest, `unclear` what stopped it.

    After something unclear the rest is a guess.
    """

    given: tuple[tuple[str, Word | None], ...]
    operands: tuple[Word, ...]
    rest: tuple[Word, ...]
    unclear: str = ""

    def value(self, *names: str) -> Word | None:
        return next((value for name, value in reversed(self.given) if name in names), None)

    def values(self, *names: str) -> list[Word]:
        return [value for name, value in self.given if name in names and value is not None]

    def has(self, *names: str) -> bool:
        return any(name in names for name, _ in self.given)


def parse(words: Sequence[Word], spec: Spec) -> Parsed:
    """Reads options up to the first operand that `spec` does not account for, or all of them where it permutes."""
    given: list[tuple[str, Word | None]] = []
    operands: list[Word] = []
    late: list[Word] = []
    unclear, index = "", 0
    while index < len(words):
        word = words[index]
        shape = word.shape
        if word.text == "--":
            index += 1
            break
        if word.may_be_option and word.text is None:
            unclear = unclear or f"an option is not known: {word.source}"
        if not shape.startswith("-") or shape == "-":
            if spec.permutes:
                late.append(word)
            elif len(operands) == spec.operands:
                break
            else:
                operands.append(word)
        else:
            for name, value, known in _options(word, spec):
                unclear = unclear or ("" if known else f"an option it does not know: {word.source}")
                if value is not None or not _needs_value(name, spec):
                    given.append((name, value))
                else:
                    index += 1
                    given.append((name, words[index] if index < len(words) else None))
        index += 1
    rest = [*late, *words[index:]]
    while len(operands) < spec.operands and rest:
        operands.append(rest.pop(0))
    return Parsed(tuple(given), tuple(operands), tuple(rest), unclear)


def _options(word: Word, spec: Spec) -> Iterator[tuple[str, Word | None, bool]]:
    """The options in one word: name, attached value, whether it is known."""
    shape = word.shape
    if shape.startswith("--"):
        name, equals, value = shape.partition("=")
        whole = spec.long_name(name[2:])
        yield f"--{whole}" if whole else name, _part(word, value) if equals else None, bool(whole)
        return
    if "#" in spec.shorts and shape[1:].isdigit():
        yield "-#", _part(word, shape[1:]), True
        return
    for position, letter in enumerate(shape[1:], 1):
        takes_value = spec.shorts.get(letter)
        if takes_value:
            attached = shape[position + 1 :]
            yield f"-{letter}", _part(word, attached) if attached else None, True
            return
        yield f"-{letter}", None, takes_value is not None


def _needs_value(name: str, spec: Spec) -> bool:
    if name.startswith("--"):
        return spec.longs.get(name[2:], False)
    return spec.shorts.get(name[1:]) == ":"


def _part(word: Word, text: str) -> Word:
    """The value inside an option's word."""
    return literal(text) if word.text is not None else Word(None, text, text, inner=word.inner)
