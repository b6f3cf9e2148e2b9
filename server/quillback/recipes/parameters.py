"""The parameters of a recipe: what each takes, and what `key=value` words make of them."""

from collections.abc import Mapping, Sequence
from enum import StrEnum

from attrs import frozen

from quillback.recipes.errors import RecipeError
from quillback.recipes.placeholders import allowed

_YES, _NO = ("true", "yes", "1"), ("false", "no", "0")


class Kind(StrEnum):
    """What values a parameter takes."""

    STRING = "string"
    NUMBER = "number"
    BOOLEAN = "boolean"
    CHOICE = "choice"


class BadValue(ValueError):
    """The text says what is allowed."""


@frozen
class Parameter:
    """`default` is None where a value must be given; empty where it may be left out."""

    key: str
    description: str = ""
    kind: Kind = Kind.STRING
    default: str | None = None
    choices: tuple[str, ...] = ()

    def read(self, text: str) -> str:
        """What stands for the placeholder. Raises BadValue."""
        match self.kind:
            case Kind.STRING:
                if "\0" in text:
                    raise BadValue("a text without NUL")
                return text
            case Kind.NUMBER:
                return _number(text)
            case Kind.BOOLEAN:
                if text.lower() in (*_YES, *_NO):
                    return "true" if text.lower() in _YES else "false"
                raise BadValue("true or false")
            case Kind.CHOICE:
                if text in self.choices:
                    return text
                raise BadValue(" or ".join(self.choices))

    @property
    def hint(self) -> str:
        """How it is written behind a command."""
        what = "|".join(self.choices) if self.choices else "..." if self.kind is Kind.STRING else self.kind.value
        return f"{self.key}={what}" if self.default is None else f"[{self.key}={what}]"


def values_of(parameters: Sequence[Parameter], words: Sequence[str]) -> Mapping[str, str]:
    """The value of every parameter. `words` are `key=value`. Raises RecipeError, which names all that is wrong."""
    known = {parameter.key: parameter for parameter in parameters}
    values: dict[str, str] = {}
    problems = []
    for word in words:
        key, equals, text = word.partition("=")
        if not equals:
            problems.append(f"{word!r} is not key=value; {allowed(known)}")
        elif key not in known:
            problems.append(f"{key}: no such parameter; {allowed(known)}")
        elif key in values:
            problems.append(f"{key}: given twice; leave one out")
        else:
            values[key] = _read(known[key], text, problems)
    for parameter in parameters:
        if parameter.key not in values and parameter.default is None:
            told = f" ({parameter.description})" if parameter.description else ""
            problems.append(f"{parameter.key}: missing{told}; add {parameter.hint}")
    if problems:
        raise RecipeError(problems)
    return {p.key: values.get(p.key, p.default or "") for p in parameters}


def _read(parameter: Parameter, text: str, problems: list[str]) -> str:
    try:
        return parameter.read(text)
    except BadValue as bad:
        problems.append(f"{parameter.key}: {text!r} is not allowed; use {bad}")
        return ""


def _number(text: str) -> str:
    """As it was written, so that 1.50 stays 1.50."""
    try:
        finite = abs(float(text)) != float("inf") and float(text) == float(text)
    except ValueError:
        finite = False
    if not finite or "_" in text:
        raise BadValue("a number")
    return text.strip()
