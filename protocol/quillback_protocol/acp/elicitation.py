"""Structured questions to the user, behind the client's elicitation capability. They must not ask for secrets."""

from enum import StrEnum

from attrs import field, frozen

from quillback_protocol.acp.base import STRICT, Base, JsonObject


class StringFormat(StrEnum):
    EMAIL = "email"
    URI = "uri"
    DATE = "date"
    DATE_TIME = "date-time"


@frozen
class EnumOption(Base):
    const: str
    title: str
    description: str | None = None


@frozen
class StringPropertySchema(Base):
    """A text field, or a choice of one when `enum` or `one_of` is given."""

    title: str | None = None
    description: str | None = None
    min_length: int | None = field(default=None, metadata=STRICT)
    max_length: int | None = field(default=None, metadata=STRICT)
    pattern: str | None = field(default=None, metadata=STRICT)
    format: StringFormat | None = field(default=None, metadata=STRICT)
    default: str | None = None
    enum: tuple[str, ...] | None = field(default=None, metadata=STRICT)
    one_of: tuple[EnumOption, ...] | None = field(default=None, metadata=STRICT)


@frozen
class NumberPropertySchema(Base):
    title: str | None = None
    description: str | None = None
    minimum: float | None = field(default=None, metadata=STRICT)
    maximum: float | None = field(default=None, metadata=STRICT)
    default: float | None = None


@frozen
class IntegerPropertySchema(Base):
    title: str | None = None
    description: str | None = None
    minimum: int | None = field(default=None, metadata=STRICT)
    maximum: int | None = field(default=None, metadata=STRICT)
    default: int | None = None


@frozen
class BooleanPropertySchema(Base):
    title: str | None = None
    description: str | None = None
    default: bool | None = None


@frozen
class StringMultiSelectItems(Base):
    enum: tuple[str, ...]


@frozen
class TitledMultiSelectItems(Base):
    any_of: tuple[EnumOption, ...]


MultiSelectItems = StringMultiSelectItems | TitledMultiSelectItems


@frozen
class MultiSelectPropertySchema(Base):
    items: MultiSelectItems
    title: str | None = None
    description: str | None = None
    min_items: int | None = field(default=None, metadata=STRICT)
    max_items: int | None = field(default=None, metadata=STRICT)
    default: tuple[str, ...] | None = None


ElicitationPropertySchema = (
    StringPropertySchema
    | NumberPropertySchema
    | IntegerPropertySchema
    | BooleanPropertySchema
    | MultiSelectPropertySchema
)


@frozen
class ElicitationSchema(Base):
    """A flat form: one property per field."""

    properties: dict[str, ElicitationPropertySchema] = field(factory=dict, metadata=STRICT)
    required: tuple[str, ...] | None = field(default=None, metadata=STRICT)
    title: str | None = None
    description: str | None = None
    type: str = field(default="object", metadata={"written": True})


@frozen
class FormElicitation(Base):
    """Belongs to a session (and perhaps a tool call) or to a request: one of the two ids is set."""

    message: str
    requested_schema: ElicitationSchema
    session_id: str | None = None
    tool_call_id: str | None = None
    request_id: str | int | None = None


@frozen
class UrlElicitation(Base):
    """See FormElicitation; ends with `elicitation/complete`."""

    message: str
    elicitation_id: str
    url: str
    session_id: str | None = None
    tool_call_id: str | None = None
    request_id: str | int | None = None


CreateElicitationRequest = FormElicitation | UrlElicitation


@frozen
class ElicitationAccepted(Base):
    content: JsonObject | None = field(default=None, metadata=STRICT)


@frozen
class ElicitationDeclined(Base):
    pass


@frozen
class ElicitationCancelled(Base):
    pass


CreateElicitationResponse = ElicitationAccepted | ElicitationDeclined | ElicitationCancelled


@frozen
class CompleteElicitationNotification(Base):
    elicitation_id: str
