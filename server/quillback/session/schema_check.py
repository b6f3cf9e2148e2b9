"""What of a value does not fit a JSON schema.

Run as a program it reads both from standard input: a schema's pattern can keep Python's regular expressions busy for
years, and only another process can be ended then.
"""

import json
import resource
import sys
from collections.abc import Mapping
from typing import Any

PROBLEMS = 5
LENGTH = 300
CPU_SECONDS = 10
_SLOW = frozenset({"pattern", "patternProperties", "$ref", "$dynamicRef"})


def misfits(value: object, schema: Mapping[str, Any]) -> list[str]:
    """The first few faults, a line each; empty where it fits."""
    from jsonschema.validators import Draft202012Validator  # type: ignore[import-untyped]  # ships no types

    found: list[str] = []
    for error in Draft202012Validator(schema).iter_errors(value):
        where = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in error.absolute_path).removeprefix(".")
        text = error.message if len(error.message) <= LENGTH else f"{error.message[:LENGTH]}…"
        found.append(f"- {where or 'the output'}: {text}")
        if len(found) == PROBLEMS:
            break
    return found


def may_be_slow(schema: object) -> bool:
    """Whether there is a pattern anywhere in it, or a reference, which may lead round in circles."""
    if isinstance(schema, Mapping):
        return bool(_SLOW & schema.keys()) or any(map(may_be_slow, schema.values()))
    return isinstance(schema, list | tuple) and any(map(may_be_slow, schema))


if __name__ == "__main__":
    # also when the process that started this one is gone
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    given = json.load(sys.stdin)
    json.dump(misfits(given["value"], given["schema"]), sys.stdout)
