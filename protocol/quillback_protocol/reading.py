"""Reading the wire: the structure hooks that `converter` registers. They raise WireError."""

import json
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from types import NoneType
from typing import Any, NoReturn, get_args

from cattrs import Converter

from quillback_protocol.acp.unions import Keyed, Tagged
from quillback_protocol.shape import SCALARS, Field, fields_of, is_tuple

Reader = Callable[[Any, Any], Any]

_MISSING = object()
_WIRE_NAMES = {
    NoneType: "null",
    bool: "boolean",
    int: "number",
    float: "number",
    str: "string",
    dict: "object",
    list: "array",
}


class WireError(ValueError):
    """A wire object does not fit its type. The text starts with the path and never repeats the whole input."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self._reason = reason
        self._path: list[str] = []

    def inside(self, part: str) -> "WireError":
        """The same error seen from one level up."""
        self._path.insert(0, part)
        return self

    def __str__(self) -> str:
        path = "".join(self._path).removeprefix(".")
        return f"{path}: {self._reason}" if path else self._reason


def _expected(what: str, got: object) -> NoReturn:
    raise WireError(f"expected {what}, got {_WIRE_NAMES.get(type(got), type(got).__name__)}")


def _one_of(names: Iterable[str]) -> str:
    return "one of " + ", ".join(json.dumps(name) for name in names)


def read_scalar(*kinds: type) -> Reader:
    """Exactly these types: no coercion, and a boolean is no integer."""
    what = " or ".join(SCALARS[kind] for kind in kinds)
    accepted = (*kinds, int) if float in kinds else kinds

    def read(obj: object, _: object) -> object:
        return obj if type(obj) in accepted else _expected(what, obj)

    return read


def read_scalar_union(kind: object) -> Reader:
    return read_scalar(*get_args(kind))


def read_enum(obj: object, kind: type[StrEnum]) -> StrEnum:
    if not isinstance(obj, str):
        _expected(_one_of(kind), obj)
    try:
        return kind(obj)
    except ValueError:
        raise WireError(f"expected {_one_of(kind)}") from None


def read_tuple(kind: object, converter: Converter) -> Reader:
    item_kind = get_args(kind)[0]
    read_item = converter.get_structure_hook(item_kind)

    def read(obj: object, _: object) -> tuple[object, ...]:
        if not isinstance(obj, list):
            _expected("an array", obj)
        return tuple(_read_at(f"[{index}]", read_item, item, item_kind) for index, item in enumerate(obj))

    return read


def _read_good_items(kind: object, converter: Converter) -> Reader:
    item_kind = get_args(kind)[0]
    read_item = converter.get_structure_hook(item_kind)

    def read(obj: object, _: object) -> tuple[object, ...]:
        if not isinstance(obj, list):
            _expected("an array", obj)
        found = []
        for item in obj:
            try:
                found.append(read_item(item, item_kind))
            except WireError:
                continue
        return tuple(found)

    return read


def read_mapping(kind: object, converter: Converter) -> Reader:
    value_kind = get_args(kind)[1]
    read_value = None if value_kind is Any else converter.get_structure_hook(value_kind)

    def read(obj: object, _: object) -> Mapping[str, object]:
        if not isinstance(obj, dict):
            _expected("an object", obj)
        if read_value is None:
            return obj
        return {key: _read_at(f"[{json.dumps(key[:40])}]", read_value, value, value_kind) for key, value in obj.items()}

    return read


def _read_at(part: str, read: Reader, obj: object, kind: object) -> object:
    try:
        return read(obj, kind)
    except WireError as error:
        raise error.inside(part) from None


def read_tagged(union: Tagged, converter: Converter) -> Reader:
    readers = {tag: (converter.get_structure_hook(member), member) for tag, member in union.members.items()}
    untagged = union.untagged and (converter.get_structure_hook(union.untagged), union.untagged)
    what = _one_of(union.members)

    def read(obj: object, _: object) -> object:
        if not isinstance(obj, dict):
            _expected("an object", obj)
        tag = obj.get(union.key)
        if tag is None and not untagged:
            raise WireError("required field is missing").inside(f".{union.key}")
        chosen = untagged if tag is None else readers.get(tag) if isinstance(tag, str) else None
        if not chosen:
            got = f", got {json.dumps(tag)}" if isinstance(tag, str) and len(tag) <= 40 else ""
            raise WireError(f"expected {what}{got}").inside(f".{union.key}")
        read_member, member = chosen
        return read_member(obj, member)

    return read


def read_keyed(union: Keyed, converter: Converter) -> Reader:
    readers = [(key, converter.get_structure_hook(member), member) for key, member in union.members.items()]

    def read(obj: object, _: object) -> object:
        if not isinstance(obj, dict):
            _expected("an object", obj)
        for key, read_member, member in readers:
            if obj.get(key) is not None:
                return read_member(obj, member)
        raise WireError("expected a field named " + " or ".join(union.members))

    return read


def read_class(cls: type, converter: Converter) -> Reader:
    readers = [(field, _field_reader(field, converter)) for field in fields_of(cls)]

    def read(obj: object, _: object) -> object:
        if not isinstance(obj, dict):
            _expected("an object", obj)
        values = {}
        for field, read_value in readers:
            if (value := _read_field(field, read_value, obj)) is not _MISSING:
                values[field.name] = value
        return cls(**values)

    return read


def _field_reader(field: Field, converter: Converter) -> Reader:
    if field.forgiving and is_tuple(field.kind):
        return _read_good_items(field.kind, converter)
    return converter.get_structure_hook(field.kind)


def _read_field(field: Field, read: Reader, obj: Mapping[str, object]) -> object:
    """The value, or _MISSING to take the default."""
    value = obj.get(field.wire_name, _MISSING)
    if field.optional and (value is None or value is _MISSING):
        return _MISSING
    if value is _MISSING:
        raise WireError("required field is missing").inside(f".{field.wire_name}")
    if value is None and field.nullable:
        return None
    try:
        return read(value, field.kind)
    except WireError as error:
        if field.forgiving:
            return _MISSING if field.optional else ()
        raise error.inside(f".{field.wire_name}") from None
