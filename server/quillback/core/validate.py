"""Checks a tool call's arguments against the tool's JSON schema, in words a model can act on.

Knows the keywords that tool schemas use: type, properties, required, additionalProperties, items, enum, minimum,
maximum. Others are left to the tool.
"""

import json
from collections.abc import Callable, Mapping
from typing import NoReturn

from quillback.core.message import JsonObject

_TYPES: Mapping[str, Callable[[object], bool]] = {
    "object": lambda v: isinstance(v, Mapping),
    "array": lambda v: isinstance(v, list | tuple),
    "string": lambda v: isinstance(v, str),
    "integer": lambda v: (isinstance(v, int) and not isinstance(v, bool)) or (isinstance(v, float) and v.is_integer()),
    "number": lambda v: isinstance(v, int | float) and not isinstance(v, bool),
    "boolean": lambda v: isinstance(v, bool),
    "null": lambda v: v is None,
}

DEEPEST = 200


class InputError(ValueError):
    """The text says what is wrong with the input."""


def _is_flat(value: object, levels: int) -> bool:
    """Whether `value` nests at most `levels` deep."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return levels > 0 and all(_is_flat(v, levels - 1) for v in inner)


def _reject_constant(name: str) -> NoReturn:
    raise InputError(f"{name} is not valid JSON")


def parse_input(raw: str) -> dict[str, object]:
    """The JSON object in `raw`; nothing at all is an empty object. Raises InputError."""
    if not raw.strip():
        return {}
    try:
        value = json.loads(raw, parse_constant=_reject_constant)
    except InputError:
        raise
    except (ValueError, RecursionError) as error:
        raise InputError(f"the input is not valid JSON: {error}") from None
    if not isinstance(value, dict):
        raise InputError(f"the input must be a JSON object, not {_name(value)}")
    if not _is_flat(value, DEEPEST):
        raise InputError(f"the input is nested more than {DEEPEST} levels deep")
    try:
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError:
        raise InputError("the input holds half of a character (a lone surrogate)") from None
    except ValueError:
        raise InputError("the input holds a number that is too large") from None
    return value


def as_json(value: JsonObject) -> str:
    """`value` as a model would have streamed it. Raises InputError for what has no JSON form."""
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"the input is not valid JSON: {error}") from None


def check(value: object, schema: JsonObject, path: str = "") -> str:
    """The first way in which `value` does not fit `schema`, or an empty string. Odd schemas ask nothing."""
    problem = _check_type(value, schema, path) or _check_limits(value, schema, path)
    if problem:
        return problem
    if isinstance(value, Mapping):
        return _check_object(value, schema, path)
    if isinstance(value, list | tuple) and isinstance(schema.get("items"), Mapping):
        return next((p for i, v in enumerate(value) if (p := check(v, schema["items"], f"{path}[{i}]"))), "")
    return ""


def _check_type(value: object, schema: JsonObject, path: str) -> str:
    wanted = schema.get("type")
    names = [wanted] if isinstance(wanted, str) else _strings(wanted)
    known = [n for n in names if n in _TYPES]
    if known and not any(_TYPES[n](value) for n in known):
        return f"{path or 'the input'} must be {' or '.join(known)}, not {_name(value)}"
    return ""


def _check_limits(value: object, schema: JsonObject, path: str) -> str:
    allowed = schema.get("enum")
    if isinstance(allowed, list | tuple) and value not in allowed:
        return f"{path or 'the input'} must be one of {', '.join(json.dumps(a) for a in allowed)}"
    if isinstance(value, int | float) and not isinstance(value, bool):
        low, high = schema.get("minimum"), schema.get("maximum")
        if isinstance(low, int | float) and value < low:
            return f"{path} must be at least {low}, not {value}"
        if isinstance(high, int | float) and value > high:
            return f"{path} must be at most {high}, not {value}"
    return ""


def _check_object(value: JsonObject, schema: JsonObject, path: str) -> str:
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        properties = {}
    missing = [name for name in _strings(schema.get("required")) if name not in value]
    if missing:
        return (
            f"missing required parameter{'s' if len(missing) > 1 else ''}: {', '.join(_join(path, m) for m in missing)}"
        )
    if schema.get("additionalProperties") is False:
        unknown = [name for name in value if name not in properties]
        if unknown:
            return f"unknown parameter {_join(path, unknown[0])}; known: {', '.join(properties) or 'none'}"
    for name, item in value.items():
        if isinstance(properties.get(name), Mapping) and (problem := check(item, properties[name], _join(path, name))):
            return problem
    return ""


def _strings(names: object) -> list[str]:
    return [n for n in names if isinstance(n, str)] if isinstance(names, list | tuple) else []


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _name(value: object) -> str:
    return next((n for n, fits in _TYPES.items() if fits(value)), type(value).__name__)
