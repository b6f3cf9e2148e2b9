"""final_output: the tool by which a turn brings the JSON that its recipe asks for."""

import asyncio
import json
import re
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from typing import Any

from attrs import Factory, field, frozen

from quillback.core.message import JsonObject, Location, Shown, Text, ToolKind
from quillback.core.model import Sketch, ToolSpec
from quillback.core.ports import Access, ToolError, ToolOutcome, ToolProgress
from quillback.core.text import HIDDEN
from quillback.session import schema_check
from quillback.session.schema_check import may_be_slow, misfits

NAME = "final_output"
RECORDED = "recorded"
DESCRIPTION = """Give the final output of the work, in exactly the form of the parameters. Call it once everything \
else is done: it ends the work. A program reads it, so text beside it is not part of the answer."""

_VALUE = "value"
_NOT_AT_ROOT = frozenset({"$ref", "$dynamicRef", "oneOf", "anyOf", "allOf", "not", "if", "enum", "const"})
_KEY = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
_DATA = frozenset({"enum", "const", "default", "examples"})
_HIDDEN = re.compile(rf"[\x7f-\x9f{HIDDEN}]")
CHECK_SECONDS = 5.0


@frozen
class FinalOutput:
    """Implements the Tool port. `schema` is a valid JSON schema without `$id` whose references stay inside it; one that
    is no plain object is offered to the model as the property `value` of one."""

    schema: JsonObject
    wrapped: bool = field(init=False, default=Factory(lambda self: not _is_plain(self.schema), takes_self=True))

    @property
    def spec(self) -> ToolSpec:
        return ToolSpec(
            name=NAME,
            description=DESCRIPTION,
            input_schema=_wrapped(self.schema) if self.wrapped else self.schema,
            kind=ToolKind.OTHER,
            describe=lambda _: Sketch("Give the final output"),
            read_only=True,
            polling=True,  # after failed checks the same output may be right again
        )

    def touches(self, arguments: JsonObject) -> frozenset[str]:
        return frozenset()

    async def prepare(self, call_id: str, arguments: JsonObject) -> "_Prepared":
        if self.wrapped and _VALUE not in arguments:
            raise ToolError(f"missing required parameter: {_VALUE}")
        output = arguments[_VALUE] if self.wrapped else dict(arguments)
        if problems := await _checked(output, self.schema):
            raise ToolError("the output does not fit its schema:\n" + "\n".join(problems))
        return _Prepared(compact(output))


@frozen
class _Prepared:
    """Implements the PreparedCall port."""

    text: str
    access: Access = field(factory=Access)
    shown: tuple[Shown, ...] = ()
    locations: tuple[Location, ...] = ()

    async def run(self) -> AsyncIterator[ToolProgress | ToolOutcome]:
        yield ToolOutcome(content=(Text(RECORDED),), final=self.text)


def compact(value: object) -> str:
    """JSON on one line, with what a terminal would obey or not show as escapes."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return _HIDDEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


async def _checked(value: object, schema: JsonObject) -> list[str]:
    """What does not fit. One with patterns or references is checked by another process, ended after CHECK_SECONDS."""
    if not may_be_slow(schema):
        return misfits(value, schema)
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", schema_check.__file__),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env={},
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(CHECK_SECONDS):
            out, _ = await child.communicate(json.dumps({"value": value, "schema": schema}).encode())
        return [str(line) for line in json.loads(out)]
    except TimeoutError:
        return [
            f"- the check took longer than {CHECK_SECONDS:g} s, because of a pattern of the schema; give shorter texts"
        ]
    except ValueError:
        return ["- the check of the output failed inside"]
    finally:
        if child.returncode is None:
            with suppress(ProcessLookupError):
                child.kill()
            await child.wait()


# ---------------------------------------------------------------- the schema as the model gets it


def _is_plain(schema: JsonObject) -> bool:
    """Whether model services take it as a tool's parameters."""
    properties = schema.get("properties", {})
    return schema.get("type") == "object" and not _NOT_AT_ROOT & schema.keys() and all(map(_KEY.fullmatch, properties))


def _wrapped(schema: JsonObject) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {_VALUE: _moved(schema)},
        "required": [_VALUE],
        "additionalProperties": False,
    }


def _moved(value: object) -> object:
    """References from the root lead to where the root is now. Data that looks like a reference stays."""
    if isinstance(value, Mapping):
        return {key: inner if key in _DATA else _moved_entry(key, inner) for key, inner in value.items()}
    return [_moved(item) for item in value] if isinstance(value, list) else value


def _moved_entry(key: str, value: object) -> object:
    if key in ("$ref", "$dynamicRef") and isinstance(value, str) and value.startswith("#"):
        return f"#/properties/{_VALUE}{value[1:]}"
    return _moved(value)
