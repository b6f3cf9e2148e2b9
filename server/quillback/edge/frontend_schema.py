"""Checks the input schema of a declared tool: one bad schema would have the model's service refuse every request."""

import json
import re
from collections.abc import Callable, Iterator, Mapping

from quillback_protocol.acp import JsonObject

SIZE_LIMIT = 64_000
"""Characters of a whole schema, as JSON."""

DEEPEST = 30
_TYPES = frozenset({"object", "array", "string", "integer", "number", "boolean", "null"})
_KEY = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
_UNFIT_ROOT = ("anyOf", "oneOf", "allOf", "$ref", "enum", "not", "if")
_NAMED = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
_LISTED = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
_NESTED = frozenset(
    {"items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames"}
    | {"unevaluatedItems", "unevaluatedProperties"}
)


def plain_schema(schema: JsonObject) -> JsonObject:
    """`schema` as a plain object schema. Raises ValueError that says what is wrong with it."""
    try:
        text = json.dumps(schema, allow_nan=False, ensure_ascii=False)
        text.encode()
    except (ValueError, RecursionError):
        raise ValueError("it cannot be written as JSON") from None
    if len(text) > SIZE_LIMIT:
        raise ValueError(f"it has more than {SIZE_LIMIT:,} characters")
    root = {"type": "object", **schema}
    if root["type"] != "object" or any(key in root for key in _UNFIT_ROOT):
        raise ValueError(f"its root must be of type object, without {', '.join(_UNFIT_ROOT)}")
    if not isinstance(root.setdefault("properties", {}), Mapping):
        raise ValueError("properties must be an object")
    unfit = next((name for name in root["properties"] if not _KEY.fullmatch(name)), None)
    if unfit is not None:
        raise ValueError(f"the parameter name {unfit[:80]!r} must be 1 to 64 of a-z, A-Z, 0-9, _, . and -")
    problem = next(_problems(root, "", DEEPEST), "")
    if problem:
        raise ValueError(problem)
    return root


def _problems(schema: object, path: str, levels: int) -> Iterator[str]:
    if isinstance(schema, bool):
        return
    if not isinstance(schema, Mapping) or not levels:
        yield f"{path or 'it'} must be a schema" if levels else "it is nested too deeply"
        return
    for keyword, value in schema.items():
        at = f"{path}.{keyword}" if path else keyword
        if keyword in _KEYWORDS and not _KEYWORDS[keyword](value):
            yield f"{at} has a value that is not allowed"
        elif keyword in _NAMED:
            inner = value.items() if isinstance(value, Mapping) else [("", value)]
            for name, item in inner:
                yield from _problems(item, f"{at}.{name}", levels - 1)
        elif keyword in _LISTED:
            for item in value if isinstance(value, list) and value else [None]:
                yield from _problems(item, f"{at}[]", levels - 1)
        elif keyword in _NESTED:
            yield from _problems(value, at, levels - 1)


def _is_type(value: object) -> bool:
    names = value if isinstance(value, list) and value else [value]
    return all(isinstance(n, str) and n in _TYPES for n in names) and len(names) == len(set(names))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _are_names(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(n, str) for n in value) and len(value) == len(set(value))


def _is_pattern(value: object) -> bool:
    try:
        return isinstance(value, str) and bool(re.compile(value))
    except (re.error, OverflowError):
        return False


_KEYWORDS: Mapping[str, Callable[[object], bool]] = {
    "type": _is_type,
    "required": _are_names,
    "enum": lambda value: isinstance(value, list),
    "pattern": _is_pattern,
    **dict.fromkeys(("title", "description", "format", "$ref", "$schema", "$id"), lambda value: isinstance(value, str)),
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"), _is_number),
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"), _is_count),
    "uniqueItems": lambda value: isinstance(value, bool),
}
