"""Holds what an agent sent against the ACP types, strictly: the converter forgives what a check has to tell."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from types import UnionType
from typing import Any, Union, get_args, get_origin

import attrs
from attrs import frozen

from quillback_protocol.acp.unions import KEYED, TAGGED, Keyed, Tagged
from quillback_protocol.shape import SCALARS, Field, fields_of, is_mapping, is_scalar_union, is_tuple


@frozen
class Breach:
    """`path` is where, in wire names. Breaches of the shape itself have neither `unknown` nor `null` set."""

    path: str
    what: str
    unknown: bool = False
    null: bool = False

    def __str__(self) -> str:
        return f"{self.path.removeprefix('.') or 'it'}: {self.what}"


def breaches(value: object, kind: Any, path: str = "") -> Iterator[Breach]:  # noqa: ANN401 - a class or a union
    """What is wrong with a wire value of an ACP class or union: misfits, unknown fields, and nulls for absent ones."""
    if (tagged := _find(TAGGED, kind)) is not None:
        yield from _tagged(value, tagged, path)
    elif (keyed := _find(KEYED, kind)) is not None:
        yield from _keyed(value, keyed, path)
    elif is_tuple(kind):
        yield from _items(value, get_args(kind)[0], path)
    elif is_mapping(kind):
        yield from _mapping(value, get_args(kind)[1], path)
    elif isinstance(kind, type) and attrs.has(kind):
        yield from _object(value, kind, path, ())
    elif kind is not Any:
        yield from _scalar(value, kind, path)


def misfits(value: object, kind: Any) -> list[str]:  # noqa: ANN401 - a class or a union
    """Only what the schema forbids, in words."""
    return [str(breach) for breach in breaches(value, kind) if not breach.unknown and not breach.null]


def _find(table: Sequence[Any], kind: object) -> Any:  # noqa: ANN401 - Tagged or Keyed
    if get_origin(kind) not in (Union, UnionType):
        return None
    return next((entry for entry in table if entry.union == kind), None)


def _object(value: object, cls: type, path: str, also: tuple[str, ...]) -> Iterator[Breach]:
    if not isinstance(value, dict):
        yield _expected("an object", value, path)
        return
    fields = fields_of(cls)
    for field in fields:
        yield from _field(value, field, f"{path}.{field.wire_name}")
    known = {field.wire_name for field in fields}.union(also)
    yield from (
        Breach(f"{path}.{key}", "a field that ACP does not have here", unknown=True)
        for key in value
        if key not in known
    )


def _field(value: Mapping[str, object], field: Field, path: str) -> Iterator[Breach]:
    if field.wire_name not in value:
        if not field.optional:
            yield Breach(path, "required field is missing")
        return
    item = value[field.wire_name]
    if item is None and field.optional:
        if field.kind is not Any:
            yield Breach(path, "null, where the field could be left out", null=True)
    elif not (item is None and field.nullable):
        yield from breaches(item, field.kind, path)


def _tagged(value: object, union: Tagged, path: str) -> Iterator[Breach]:
    if not isinstance(value, dict):
        yield _expected("an object", value, path)
        return
    tag = value.get(union.key)
    member = union.untagged if tag is None else union.members.get(tag) if isinstance(tag, str) else None
    if member is None:
        if tag is None:
            yield Breach(f"{path}.{union.key}", "required field is missing")
        else:
            yield Breach(f"{path}.{union.key}", f"expected one of {', '.join(union.members)}, got {tag!r:.60}")
        return
    yield from _object(value, member, path, (union.key,))


def _keyed(value: object, union: Keyed, path: str) -> Iterator[Breach]:
    if not isinstance(value, dict):
        yield _expected("an object", value, path)
        return
    for key, member in union.members.items():
        if value.get(key) is not None:
            yield from _object(value, member, path, ())
            return
    yield Breach(path, f"expected a field named {' or '.join(union.members)}")


def _items(value: object, kind: object, path: str) -> Iterator[Breach]:
    if not isinstance(value, list):
        yield _expected("an array", value, path)
        return
    for index, item in enumerate(value):
        yield from breaches(item, kind, f"{path}[{index}]")


def _mapping(value: object, kind: object, path: str) -> Iterator[Breach]:
    if not isinstance(value, dict):
        yield _expected("an object", value, path)
        return
    for key, item in value.items():
        yield from breaches(item, kind, f"{path}[{key!r:.40}]")


def _scalar(value: object, kind: Any, path: str) -> Iterator[Breach]:  # noqa: ANN401 - a type or a union of types
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        if value not in list(kind):
            yield Breach(path, f"expected one of {', '.join(kind)}, got {value!r:.60}")
        return
    kinds = get_args(kind) if is_scalar_union(kind) else (kind,)
    if not any(_is(value, each) for each in kinds):
        yield _expected(" or ".join(SCALARS[each] for each in kinds), value, path)


def _is(value: object, kind: type) -> bool:
    """A boolean is no number, and 2.0 is an integer."""
    checks: dict[type, Callable[[Any], bool]] = {
        int: lambda v: type(v) is int or (type(v) is float and v.is_integer()),
        float: lambda v: type(v) in (int, float),
    }
    return checks.get(kind, lambda v: type(v) is kind)(value)


def _expected(what: str, value: object, path: str) -> Breach:
    return Breach(path, f"expected {what}, got {value!r:.60}")
