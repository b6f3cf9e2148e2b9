"""Whether the JSON schema of a final output can be used: valid, self-contained, of a bearable size."""

import json
from collections.abc import Iterator, Mapping

SIZE_LIMIT = 64_000
"""Characters of a whole schema, as JSON."""


def wrong_with_schema(schema: Mapping[str, object]) -> str:
    """What is wrong with it; empty for nothing."""
    from jsonschema.exceptions import SchemaError  # type: ignore[import-untyped]  # ships no types
    from jsonschema.validators import Draft202012Validator  # type: ignore[import-untyped]  # ships no types

    if len(json.dumps(schema)) > SIZE_LIMIT:
        return f"the schema has more than {SIZE_LIMIT:,} characters; make it smaller"
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        where = "".join(f".{part}" for part in error.absolute_path)
        return f"no valid JSON schema: {where.removeprefix('.') or 'it'}: {error.message[:200]}"
    if any(True for _ in _strings(schema, "$id")):
        return "$id would give the references another root; leave it out"
    for reference in (*_strings(schema, "$ref"), *_strings(schema, "$dynamicRef")):
        if not _leads_somewhere(schema, reference):
            return f"$ref: {reference!r} leads nowhere; it must begin with # and name a part of this schema"
    return ""


def _strings(value: object, key: str) -> Iterator[str]:
    """What stands behind `key` anywhere, where it is a text."""
    if isinstance(value, Mapping):
        if isinstance(found := value.get(key), str):
            yield found
        for inner in value.values():
            yield from _strings(inner, key)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner, key)


def _leads_somewhere(schema: object, reference: str) -> bool:
    """Only a path from the root is understood: names of anchors would change when the schema is wrapped."""
    pointer = reference.removeprefix("#")
    if not reference.startswith("#") or (pointer and not pointer.startswith("/")):
        return False
    here = schema
    for step in pointer.split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(here, Mapping) and name in here:
            here = here[name]
        elif isinstance(here, list) and name.isdecimal() and int(name) < len(here):
            here = here[int(name)]
        else:
            return False
    return isinstance(here, Mapping | bool)
