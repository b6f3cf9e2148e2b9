"""Makes the input schema of a foreign tool one that every model service takes: an object, valid, self-contained."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from attrs import frozen
from jsonschema.exceptions import ValidationError  # type: ignore[import-untyped]  # ships no types
from jsonschema.validators import Draft202012Validator  # type: ignore[import-untyped]  # ships no types

from quillback.mcp.combine import Combiner, TooComplexError, is_object, resolve

SIZE_LIMIT = 64_000
"""Characters of a whole schema, as JSON."""

DEPTH_LIMIT = 100
"""Objects and lists inside each other."""

_META = Draft202012Validator(Draft202012Validator.META_SCHEMA)
_KEY = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
_DATA = frozenset({"enum", "const", "default", "examples"})
_NAMED = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
_OUTWARD = ("$dynamicRef", "$recursiveRef", "$id", "$schema", "$anchor", "$dynamicAnchor")
_NOT_AT_ROOT = ("$ref", "enum", "const", "not", "if", "then", "else", "unevaluatedProperties")
_CONDITIONS = frozenset({"not", "if"})
_ROUNDS = 5


class UnfitSchemaError(ValueError):
    """The schema cannot be offered to a model; the text says why."""


@frozen
class Adapted:
    """`note` is for the tool's description: what the schema no longer says."""

    schema: dict[str, Any]
    note: str = ""


def adapt(schema: object) -> Adapted:
    """An equivalent or looser schema whose root is a plain object. Raises UnfitSchemaError."""
    try:
        return _adapt(_copied(schema))
    except LookupError as error:
        raise UnfitSchemaError(f"its input schema is broken: {error}") from None
    except (RecursionError, TooComplexError):
        raise UnfitSchemaError("its input schema is too complex") from None


def _copied(schema: object) -> dict[str, Any]:
    if schema is None or schema is True:
        return {}
    if not isinstance(schema, Mapping):
        raise UnfitSchemaError("its input schema is not an object")
    try:
        text = json.dumps(schema, allow_nan=False)
    except (TypeError, ValueError):
        raise UnfitSchemaError("its input schema is not JSON") from None
    if len(text) > SIZE_LIMIT:
        raise UnfitSchemaError(f"its input schema has more than {SIZE_LIMIT:,} characters")
    copy: dict[str, Any] = json.loads(text)
    if _depth(copy) > DEPTH_LIMIT:
        raise UnfitSchemaError(f"its input schema is nested more than {DEPTH_LIMIT} levels deep")
    return copy


def _depth(value: object) -> int:
    """How deep objects and lists are nested."""
    depth, level = 0, [value]
    while level:
        depth += 1
        inner = (i for v in level for i in (v.values() if isinstance(v, dict) else v if isinstance(v, list) else ()))
        level = [i for i in inner if isinstance(i, dict | list)]
    return depth


def _adapt(given: dict[str, Any]) -> Adapted:
    combiner = Combiner(given)
    root, notes = combiner.fold(), combiner.notes
    if not is_object(root.get("type")):
        raise UnfitSchemaError("its arguments are not an object")
    if _CONDITIONS & root.keys():
        notes.append("The server may refuse some combinations of parameters.")
    for keyword in _NOT_AT_ROOT:
        root.pop(keyword, None)
    root["type"] = "object"
    _tidy_properties(root, notes)
    _drop_bad_keywords(root)
    _prune(root)
    return Adapted(root, " ".join(notes))


def _tidy_properties(root: dict[str, Any], notes: list[str]) -> None:
    """Leaves only properties whose names a model service takes, and a `required` that is a list of names."""
    properties, required = root.get("properties"), root.get("required")
    properties = properties if isinstance(properties, dict) else {}
    required = list(dict.fromkeys(n for n in required if isinstance(n, str))) if isinstance(required, list) else []
    unfit = [name for name in dict.fromkeys([*properties, *required]) if not _KEY.fullmatch(name)]
    if needed := next((name for name in unfit if name in required), None):
        raise UnfitSchemaError(f"its parameter {json.dumps(needed)[:80]} has a name that cannot be sent")
    if unfit:
        notes.append("Parameters with unusual names were left out.")
    root["properties"] = {name: value for name, value in properties.items() if name not in unfit}
    root.pop("required", None)
    if required:
        root["required"] = required


def _drop_bad_keywords(root: dict[str, Any]) -> None:
    """A reference out of the schema or to nowhere then allows anything, and so does a broken pattern."""
    for node in list(_nodes(root)):
        for keyword in _OUTWARD:
            node.pop(keyword, None)
        if isinstance(target := node.get("$ref"), str) and not _leads_somewhere(target, root):
            del node["$ref"]
        if isinstance(pattern := node.get("pattern"), str) and not _compiles(pattern):
            del node["pattern"]


def _leads_somewhere(target: str, root: Mapping[str, Any]) -> bool:
    try:
        resolve({"$ref": target}, root)
    except LookupError:
        return False
    return True


def _compiles(pattern: str) -> bool:
    try:
        re.compile(pattern)
    except (re.error, OverflowError):
        return False
    return True


def _nodes(value: object, *, named: bool = False) -> Iterator[dict[str, Any]]:
    """Every schema in `value`, without the data it quotes; `named` when its keys are names and no keywords."""
    if isinstance(value, dict):
        if not named:
            yield value
        for key, item in value.items():
            if named or key not in _DATA:
                yield from _nodes(item, named=not named and key in _NAMED)
    elif isinstance(value, list):
        for item in value:
            yield from _nodes(item)


def _prune(root: dict[str, Any]) -> None:
    """Takes out what breaks the rules of JSON schema 2020-12: limits of draft 4, `required: true` and the like."""
    for _ in range(_ROUNDS):
        faults = _faults(root)
        if not faults:
            return
        for path in faults:
            _remove(root, path)
    raise UnfitSchemaError("its input schema is not valid")


def _faults(root: Mapping[str, Any]) -> list[tuple[str | int, ...]]:
    errors: Iterable[ValidationError] = _META.iter_errors(root)
    return sorted({tuple(error.absolute_path) for error in errors}, key=len, reverse=True)


def _remove(root: dict[str, Any], path: tuple[str | int, ...]) -> None:
    """Remove the keyword at `path`; an item of a list goes with its list."""
    node: Any = root
    holder, keyword = root, ""
    for step in path:
        if isinstance(node, dict) and isinstance(step, str):
            if step not in node:
                return
            holder, keyword = node, step
        node = node[step]
    if holder is root and keyword in ("", "type", "properties"):
        raise UnfitSchemaError("its input schema is not valid")
    holder.pop(keyword, None)
