"""Fills `${name}` into the texts and JSON of a script, and merges patches."""

import json
import re
from collections.abc import Mapping
from typing import Any

_NAME = re.compile(r"\$\{([\w.]+)\}")
MISSING = object()


def lookup(path: str, names: Mapping[str, Any]) -> Any:  # noqa: ANN401 - JSON has no narrower type
    """What a path such as `params.prompt.0.text` leads to, or MISSING."""
    found: Any = names
    for part in path.split("."):
        if isinstance(found, Mapping) and part in found:
            found = found[part]
        elif isinstance(found, list) and part.isdigit() and int(part) < len(found):
            found = found[int(part)]
        else:
            return MISSING
    return found


def expand(value: Any, names: Mapping[str, Any]) -> Any:  # noqa: ANN401 - JSON has no narrower type
    """`value` with its placeholders filled in. A string that is one placeholder becomes the value, of whatever type."""
    match value:
        case str():
            whole = _NAME.fullmatch(value)
            if whole and (found := lookup(whole[1], names)) is not MISSING:
                return found
            return _NAME.sub(lambda m: m[0] if (f := lookup(m[1], names)) is MISSING else as_text(f), value)
        case dict():
            return {key: expand(item, names) for key, item in value.items()}
        case list():
            return [expand(item, names) for item in value]
        case _:
            return value


def as_text(value: object) -> str:
    """Text as it is, other values as JSON, MISSING as nothing."""
    if value is MISSING:
        return ""
    return value if isinstance(value, str) else json.dumps(value)


def merged(value: Any, patch: Any) -> Any:  # noqa: ANN401 - JSON has no narrower type
    """`value` after a JSON merge patch (RFC 7386)."""
    if not isinstance(patch, dict):
        return patch
    result = dict(value) if isinstance(value, dict) else {}
    for key, item in patch.items():
        if item is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), item)
    return result
