"""Wire objects to ACP types and back: the one cattrs converter.

Scalars are strict (no coercion), keys are camelCase, hooks are built per class at its first use.
"""

from collections.abc import Callable
from enum import StrEnum
from functools import cache
from typing import Any, TypeVar

import attrs
from cattrs import Converter

from quillback_protocol import reading, shape, writing
from quillback_protocol.acp.unions import KEYED, TAGGED
from quillback_protocol.jsonrpc import InvalidParams
from quillback_protocol.reading import WireError

__all__ = ["WireError", "get_converter", "structure", "unstructure"]

T = TypeVar("T")
U = TypeVar("U")


def structure(cls: type[T], obj: object) -> T:
    """Params of a request as `cls`. Raises InvalidParams whose message names the wire path of the first problem."""
    try:
        return get_converter().structure(obj, cls)
    except WireError as error:
        raise InvalidParams(str(error)) from None


def unstructure(value: object, as_type: object = None) -> Any:  # noqa: ANN401 - JSON has no narrower type
    """The JSON value of an ACP object. `as_type` is the union it is a member of, where that has tags."""
    return get_converter().unstructure(value, unstructure_as=as_type)


@cache
def get_converter() -> Converter:
    """The one converter; its `structure` raises WireError."""
    converter = Converter(detailed_validation=False)
    for kind in (str, int, bool, float):
        converter.register_structure_hook(kind, reading.read_scalar(kind))
    converter.register_structure_hook(StrEnum, reading.read_enum)
    converter.register_structure_hook_factory(shape.is_tuple, reading.read_tuple)
    converter.register_structure_hook_factory(shape.is_mapping, reading.read_mapping)
    converter.register_structure_hook_factory(shape.is_scalar_union, reading.read_scalar_union)
    converter.register_structure_hook_factory(attrs.has, reading.read_class)
    converter.register_unstructure_hook(StrEnum, lambda member: member.value)
    converter.register_unstructure_hook_factory(shape.is_tuple, writing.write_tuple)
    converter.register_unstructure_hook_factory(shape.is_mapping, writing.write_mapping)
    converter.register_unstructure_hook_factory(attrs.has, writing.write_class)
    for tagged in TAGGED:
        converter.register_structure_hook_factory(_is(tagged.union), _about(tagged, reading.read_tagged))
        converter.register_unstructure_hook_factory(_is(tagged.union), _about(tagged, writing.write_tagged))
    for keyed in KEYED:
        converter.register_structure_hook_factory(_is(keyed.union), _about(keyed, reading.read_keyed))
        converter.register_unstructure_hook_factory(_is(keyed.union), _about(keyed, writing.write_keyed))
    return converter


def _is(union: object) -> Callable[[object], bool]:
    return lambda kind: bool(kind == union)


def _about(union: U, factory: Callable[[U, Converter], T]) -> Callable[[object, Converter], T]:
    """A hook factory that gets the union's description instead of the bare type."""

    def about(_: object, converter: Converter) -> T:
        return factory(union, converter)

    return about
