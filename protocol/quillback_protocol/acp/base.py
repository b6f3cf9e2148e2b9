"""What all ACP types share: the `_meta` bag, and marks that say how a field is read and written.

A field without a default is required. One with a default is optional: null, a missing key and (unless marked STRICT)
a bad value all give the default, bad items of a list are dropped, and it is not written while it has its default.
"""

from collections.abc import Mapping
from typing import Any

from attrs import field, frozen

JsonObject = Mapping[str, Any]

STRICT = {"strict": True}
"""A bad value of this optional field is an error: the receiver acts on it."""

LENIENT = {"lenient": True}
"""A required list for display: bad items are dropped, a bad value reads as empty."""

WRITTEN = {"strict": True, "written": True}
"""STRICT, and written even while it has its default: required by the schema, forgiven when missing."""


@frozen
class Base:
    """Any ACP object; `meta` is its `_meta`."""

    meta: JsonObject | None = field(default=None, kw_only=True)


@frozen
class Marker(Base):
    """An object capability: present (`{}`) means supported."""


@frozen
class EnvVariable(Base):
    name: str
    value: str
