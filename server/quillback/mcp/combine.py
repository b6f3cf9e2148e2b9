"""Folds the combinators at the root of a schema (`$ref`, `allOf`, `anyOf`, `oneOf`) into one plain object schema.

Model services refuse them there; deeper down they are allowed and stay.
"""

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote

_HOPS = 10
_DEPTH = 8
_BRANCHES = 300
_SHOWN = 8
_NOTE_LIMIT = 600


class TooComplexError(ValueError):
    """The combinators lead to more branches than a schema for a model can have."""


def is_object(kind: object) -> bool:
    """Whether a schema's `type` lets objects through."""
    return kind in (None, "object") or (isinstance(kind, list) and "object" in kind)


def resolve(schema: Mapping[str, Any], root: Mapping[str, Any]) -> dict[str, Any]:
    """`schema` with the references it begins with followed inside `root`. Raises LookupError."""
    for _ in range(_HOPS):
        target = schema.get("$ref")
        if not isinstance(target, str):
            return dict(schema)
        rest = {key: value for key, value in schema.items() if key != "$ref"}
        schema = {**_target(target, root), **rest}
    raise LookupError("a reference leads in a circle")


def _target(pointer: str, root: Mapping[str, Any]) -> Mapping[str, Any]:
    if pointer != "#" and not pointer.startswith("#/"):
        raise LookupError(f"{pointer} is outside of the schema")
    node: object = root
    for step in pointer[2:].split("/") if len(pointer) > 1 else ():
        name = unquote(step).replace("~1", "/").replace("~0", "~")
        if isinstance(node, Mapping) and name in node:
            node = node[name]
        elif isinstance(node, list) and name.isdecimal() and int(name) < len(node):
            node = node[int(name)]
        else:
            raise LookupError(f"{pointer} leads nowhere")
    if node is True:
        return {}
    if not isinstance(node, Mapping):
        raise LookupError(f"{pointer} is not a schema")
    return node


class Combiner:
    """Folds one schema. `notes` says in words what the result no longer says."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._left = _BRANCHES
        self.notes: list[str] = []

    def fold(self) -> dict[str, Any]:
        """Raises LookupError for a root that is a broken reference, and TooComplexError."""
        return self._fold(resolve(self._root, self._root), 0)

    def _fold(self, schema: dict[str, Any], depth: int) -> dict[str, Any]:
        merged = dict(schema)
        for branch in self._branches(merged.pop("allOf", None), depth):
            _merge(merged, branch, "allOf")
            merged["required"] = [*_required(merged), *_required(branch)]
        for keyword in ("anyOf", "oneOf"):
            options = list(self._branches(merged.pop(keyword, None), depth))
            options = [option for option in options if is_object(option.get("type"))] or options
            if options:
                self._choose(merged, options)
        return merged

    def _choose(self, merged: dict[str, Any], options: list[dict[str, Any]]) -> None:
        """Let `merged` allow what any of `options` allows; only what all of them require is required."""
        gathered: dict[str, Any] = {}
        for option in options:
            _merge(gathered, option, "anyOf")
        _merge(merged, gathered, "allOf")
        always = [name for name in _required(options[0]) if all(name in _required(option) for option in options)]
        merged["required"] = [*_required(merged), *always]
        if (note := _choice(options)) and note not in self.notes:
            self.notes.append(note)

    def _branches(self, value: object, depth: int) -> Iterator[dict[str, Any]]:
        """Each alternative, folded itself; what cannot be followed counts as one that says nothing."""
        for item in value if isinstance(value, list) and depth < _DEPTH else ():
            self._left -= 1
            if self._left < 0:
                raise TooComplexError
            try:
                yield self._fold(resolve(item, self._root), depth + 1) if isinstance(item, Mapping) else {}
            except LookupError:
                yield {}


def _merge(into: dict[str, Any], branch: Mapping[str, Any], keyword: str) -> None:
    """Merge type and properties; where two say different things of one name, both are kept under `keyword`."""
    merged = dict(_properties(into))
    for name, value in _properties(branch).items():
        before = merged.get(name, value)
        if before == value:
            merged[name] = value
        elif isinstance(before, Mapping) and before.keys() == {keyword} and isinstance(before[keyword], list):
            merged[name] = {keyword: before[keyword] if value in before[keyword] else [*before[keyword], value]}
        else:
            merged[name] = {keyword: [before, value]}
    into["properties"] = merged
    if "type" in branch:
        into.setdefault("type", branch["type"])


def _properties(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    properties = schema.get("properties")
    return properties if isinstance(properties, Mapping) else {}


def _required(schema: Mapping[str, Any]) -> list[str]:
    names = schema.get("required")
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []


def _choice(options: list[dict[str, Any]]) -> str:
    """Which parameters go together, in words; empty when there is no choice."""
    sets = list(dict.fromkeys(", ".join(_required(option) or _properties(option)) for option in options))
    if len(sets) < 2:
        return ""
    shown = " or ".join(f"({names})" if names else "(none)" for names in sets[:_SHOWN])
    more = f" or {len(sets) - _SHOWN} more" if len(sets) > _SHOWN else ""
    return f"Give the parameters of one of these sets: {shown}{more}."[:_NOTE_LIMIT]
