"""Writing the wire: the unstructure hooks that `converter` registers."""

from collections.abc import Callable
from typing import Any, get_args

from cattrs import Converter

from quillback_protocol.acp.unions import Keyed, Tagged
from quillback_protocol.shape import Field, fields_of

Writer = Callable[[Any], Any]


def write_tuple(kind: object, converter: Converter) -> Writer:
    write_item = converter.get_unstructure_hook(get_args(kind)[0])
    return lambda value: [write_item(item) for item in value]


def write_mapping(kind: object, converter: Converter) -> Writer:
    value_kind = get_args(kind)[1]
    if value_kind is Any:
        return dict
    write_value = converter.get_unstructure_hook(value_kind)
    return lambda value: {key: write_value(item) for key, item in value.items()}


def write_tagged(union: Tagged, converter: Converter) -> Writer:
    writers = {
        member: (None if member is union.untagged else tag, converter.get_unstructure_hook(member))
        for tag, member in union.members.items()
    }
    if union.untagged:
        writers[union.untagged] = (None, converter.get_unstructure_hook(union.untagged))

    def write(value: object) -> dict[str, object]:
        tag, write_member = writers[type(value)]
        return write_member(value) if tag is None else {union.key: tag, **write_member(value)}

    return write


def write_keyed(union: Keyed, converter: Converter) -> Writer:
    writers = {member: converter.get_unstructure_hook(member) for member in union.members.values()}
    return lambda value: writers[type(value)](value)


def write_class(cls: type, converter: Converter) -> Writer:
    writers = [(field, _field_writer(field, converter)) for field in fields_of(cls)]
    writers.sort(key=lambda each: each[0].name == "meta")

    def write(value: object) -> dict[str, object]:
        out: dict[str, object] = {}
        for field, write_value in writers:
            item = getattr(value, field.name)
            if not (field.omitted and item == field.default):
                out[field.wire_name] = item if item is None else write_value(item)
        return out

    return write


def _field_writer(field: Field, converter: Converter) -> Writer:
    # A raw JSON value goes out as it is; cattrs would copy it piece by piece.
    return (lambda value: value) if field.kind is Any else converter.get_unstructure_hook(field.kind)
