"""What cattrs hooks need to know of a type: predicates, and the facts of a field that follow from its declaration."""

from collections.abc import Mapping
from functools import reduce
from operator import or_
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

import attrs
from attrs import frozen

SCALARS = {str: "a string", int: "an integer", bool: "a boolean", float: "a number", NoneType: "null"}


def is_tuple(kind: object) -> bool:
    return get_origin(kind) is tuple


def is_mapping(kind: object) -> bool:
    return get_origin(kind) in (dict, Mapping)


def _is_union(kind: object) -> bool:
    return get_origin(kind) in (Union, UnionType)


def is_scalar_union(kind: object) -> bool:
    return _is_union(kind) and all(member in SCALARS for member in get_args(kind))


def _without_none(kind: object) -> object:
    if not _is_union(kind):
        return kind
    return reduce(or_, (member for member in get_args(kind) if member is not NoneType))


@frozen
class Field:
    """One field of an ACP class; see `acp.base` for the rules.

    `kind` is its type without None. `omitted`: not written while it has its default. `forgiving`: a bad value reads as
    the default, or as an empty list where there is none.
    """

    name: str
    wire_name: str
    kind: Any
    nullable: bool
    optional: bool
    omitted: bool
    forgiving: bool
    default: object


def fields_of(cls: type) -> list[Field]:
    return [_field(attribute) for attribute in attrs.fields(cls)]


def _field(attribute: "attrs.Attribute[Any]") -> Field:
    kind = _without_none(attribute.type)
    optional = attribute.default is not attrs.NOTHING
    marks = attribute.metadata
    return Field(
        name=attribute.name,
        wire_name=_wire_name(attribute.name),
        kind=kind,
        nullable=kind != attribute.type,
        optional=optional,
        omitted=optional and "written" not in marks,
        forgiving="lenient" in marks or (optional and "strict" not in marks),
        default=_default(attribute),
    )


def _wire_name(name: str) -> str:
    first, *rest = name.split("_")
    return "_meta" if name == "meta" else first + "".join(word.title() for word in rest)


def _default(attribute: "attrs.Attribute[Any]") -> object:
    # `attrs.Factory` is a function to the type checker; its instances have `factory`.
    factory = getattr(attribute.default, "factory", None)
    return factory() if factory else attribute.default
