"""Messages, growth events and decisions as the JSON bytes of a row, and back, exactly.

Unions carry the class name under `type`. Keys this version does not know are ignored.
"""

import json
from collections.abc import Mapping
from typing import Any, TypeVar, cast

import orjson
from cattrs import Converter
from cattrs.gen import make_dict_unstructure_fn, override
from cattrs.strategies import configure_tagged_union

from quillback.core.audit import AuditRecord
from quillback.core.event import Grown
from quillback.core.message import JsonObject, Message, Part, ResultPart, Shown, ToolResult, ToolUse
from quillback.core.verdict import Verdict

T = TypeVar("T")


class DecodeError(ValueError):
    """Bytes that are not what this version or an older one wrote."""


def encode_message(message: Message) -> bytes:
    return dumps(_CONVERTER.unstructure(message, Message))


def decode_message(data: bytes) -> Message:
    """Raises DecodeError."""
    return cast("Message", _decode(data, Message))


def encode_growth(event: Grown) -> bytes:
    return dumps(_CONVERTER.unstructure(event, Grown))


def decode_growth(data: bytes) -> Grown:
    """Raises DecodeError."""
    return cast("Grown", _decode(data, Grown))


def encode_audit(record: AuditRecord) -> bytes:
    return dumps(_CONVERTER.unstructure(record, AuditRecord))


def decode_audit(data: bytes) -> AuditRecord:
    """Raises DecodeError."""
    return cast("AuditRecord", _decode(data, AuditRecord))


def dumps(value: object) -> bytes:
    """JSON in UTF-8. Lone surrogates become U+FFFD; what JSON has no word for becomes its `str`."""
    try:
        return orjson.dumps(value, default=_foreign)
    except TypeError:  # an int beyond 64 bits, a lone surrogate, deeper than orjson goes
        return clean(json.dumps(value, ensure_ascii=False, default=_foreign)).encode()


def loads(data: bytes) -> Any:  # noqa: ANN401 - any JSON value
    """Raises ValueError."""
    try:
        return json.loads(data)  # orjson reads ints beyond 64 bits as floats
    except RecursionError:
        return orjson.loads(data)


def clean(text: str) -> str:
    """`text` with every lone surrogate replaced, so that it can be written as UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def _decode(data: bytes, kind: Any) -> Any:  # noqa: ANN401 - a class or a union of classes
    try:
        return _CONVERTER.structure(loads(data), kind)
    except Exception as error:
        raise DecodeError(f"{type(error).__name__}: {error}") from error


def _foreign(value: object) -> object:
    return dict(value) if isinstance(value, Mapping) else str(value)


def _as_is(value: T, _: object = None) -> T:
    return value


def _make_converter() -> Converter:
    converter = Converter(detailed_validation=False)
    # Raw JSON is passed through untouched: walking it would cost a stack frame for each level of nesting.
    converter.register_structure_hook_func(lambda kind: kind == JsonObject, _as_is)
    raw = override(unstruct_hook=_as_is)
    for union in (ResultPart, Shown, Verdict):
        configure_tagged_union(union, converter, tag_name="type")
    converter.register_unstructure_hook(ToolUse, make_dict_unstructure_fn(ToolUse, converter, input=raw))
    converter.register_unstructure_hook(ToolResult, make_dict_unstructure_fn(ToolResult, converter, raw_output=raw))
    for union in (Part, Grown):
        configure_tagged_union(union, converter, tag_name="type")
    seldom = override(omit_if_default=True)
    lean = make_dict_unstructure_fn(Message, converter, thoughts_end=seldom, steered=seldom)
    converter.register_unstructure_hook(Message, lean)
    return converter


_CONVERTER = _make_converter()
