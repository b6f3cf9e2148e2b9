"""Reads a session that `quillback sessions export --format json` wrote."""

import json
import re
from typing import Any

from attrs import frozen
from cattrs import Converter
from cattrs.strategies import configure_tagged_union

from quillback.core.message import JsonObject, Message, Part, ResultPart, Shown

VERSION = 1
_WORD = re.compile(r"(?<!^)(?=[A-Z])")


class StoredError(ValueError):
    """The text says what is wrong with the file."""


@frozen
class Stored:
    """A session's stream in its order, without prompts that still wait."""

    id: str
    cwd: str
    messages: tuple[Message, ...]


def read_stored(text: str) -> Stored:
    """Raises StoredError."""
    try:
        whole = json.loads(text)
        session, messages, version = whole["session"], whole["messages"], whole["version"]
        found = [_CONVERTER.structure(message, Message) for message in messages]
        stored = Stored(str(session["id"]), str(session["cwd"]), tuple(m for m in found if m.seq))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise StoredError(
            f"it is no session that `quillback sessions export --format json` wrote ({type(error).__name__}: {error})"
        ) from None
    if version != VERSION:
        raise StoredError(f"it has version {version}, and this Quillback reads version {VERSION}")
    return stored


def _name(kind: type) -> str:
    """As the export calls it."""
    return _WORD.sub("_", kind.__name__).lower()


def _as_is(value: Any, _: object) -> Any:  # noqa: ANN401 - any JSON value
    return value


def _make_converter() -> Converter:
    converter = Converter(detailed_validation=False)
    converter.register_structure_hook_func(lambda kind: kind == JsonObject, _as_is)
    for union in (ResultPart, Shown, Part):
        configure_tagged_union(union, converter, tag_name="type", tag_generator=_name)
    return converter


_CONVERTER = _make_converter()
