"""Takes the values out of a table of a recipe one by one; what is wrong with any of them is collected."""

from collections.abc import Sequence
from difflib import get_close_matches
from enum import StrEnum
from typing import TypeVar

from attrs import field, frozen

from quillback.core.text import number
from quillback.recipes.document import Document, Key

Member = TypeVar("Member", bound=StrEnum)


@frozen
class Table:
    """`path` is where it stands in the document. `problems` is shared by the tables of a document."""

    document: Document
    values: dict[str, object]
    path: Key = ()
    problems: list[str] = field(factory=list)

    def at(self, key: str, values: object, *index: int) -> "Table | None":
        """The table behind `key`, or that of a list's item; None with a problem for anything else."""
        path = (*self.path, key, *index)
        if isinstance(values, dict):
            return Table(self.document, values, path, self.problems)
        self.wrong(key, "must be a table of keys and values", *index)
        return None

    def wrong(self, key: str, what: str, *index: int) -> None:
        name = ".".join(str(p + 1) if isinstance(p, int) else p for p in (*self.path, key, *index))
        self.problems.append(f"{self.document.place(*self.path, key, *index)}: {name}: {what}")

    def only(self, allowed: Sequence[str]) -> None:
        """Every other key is a problem."""
        for key in self.values:
            if key not in allowed:
                close = get_close_matches(key, allowed, 1)
                told = f"did you mean {close[0]}?" if close else f"there are: {', '.join(allowed)}"
                self.wrong(key, f"no such key; {told}")

    def text(self, key: str) -> str:
        """Empty where it is not there."""
        value = self.values.get(key)
        if value is None or isinstance(value, str):
            return value or ""
        self.wrong(key, f"must be a text; put {_shown(value)} in quotes" if _is_scalar(value) else "must be a text")
        return ""

    def flag(self, key: str) -> bool:
        value = self.values.get(key)
        if isinstance(value, bool) or value is None:
            return bool(value)
        self.wrong(key, f"{_shown(value)} is not allowed; use true or false")
        return False

    def whole(self, key: str, low: int, high: int, default: int) -> int:
        value = self.values.get(key)
        if value is None:
            return default
        if isinstance(value, int) and not isinstance(value, bool) and low <= value <= high:
            return value
        self.wrong(key, f"{_shown(value)} is not allowed; use a whole number from {low} to {high}")
        return default

    def amount(self, key: str, high: float, unit: str) -> float | None:
        value = self.values.get(key)
        if value is None:
            return None
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= high:
            return float(value)
        self.wrong(key, f"{_shown(value)} is not allowed; use a number of {unit} above 0, at most {number(high)}")
        return None

    def choice(self, key: str, kind: type[Member]) -> Member | None:
        value = self.values.get(key)
        names = [member.value for member in kind]
        if value is None:
            return None
        if isinstance(value, str) and value in names:
            return kind(value)
        self.wrong(key, f"{_shown(value)} is not allowed; use {', '.join(names)}")
        return None

    def items(self, key: str) -> list[object]:
        value = self.values.get(key)
        if isinstance(value, list) or value is None:
            return value or []
        self.wrong(key, "must be a list; begin each item with a dash")
        return []


def _is_scalar(value: object) -> bool:
    return isinstance(value, bool | int | float)


def _shown(value: object) -> str:
    text = str(value).lower() if isinstance(value, bool) else repr(value)
    return text if len(text) <= 60 else text[:59] + "…"
