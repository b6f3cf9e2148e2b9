"""Modes and config options of a session: what the user can set from the editor."""

from attrs import field, frozen

from quillback_protocol.acp.base import LENIENT, Base


@frozen
class SessionMode(Base):
    id: str
    name: str
    description: str | None = None


@frozen
class SessionModeState(Base):
    current_mode_id: str
    available_modes: tuple[SessionMode, ...] = field(metadata=LENIENT)


@frozen
class SetSessionModeRequest(Base):
    session_id: str
    mode_id: str


@frozen
class SetSessionModeResponse(Base):
    pass


@frozen
class SessionConfigSelectOption(Base):
    value: str
    name: str
    description: str | None = None


@frozen
class SessionConfigSelectGroup(Base):
    group: str
    name: str
    options: tuple[SessionConfigSelectOption, ...] = field(metadata=LENIENT)


SelectEntry = SessionConfigSelectOption | SessionConfigSelectGroup


@frozen
class SelectConfigOption(Base):
    """`options` are all plain or all groups. `category` is mode, model, model_config, thought_level or the agent's."""

    id: str
    name: str
    current_value: str
    options: tuple[SelectEntry, ...]
    description: str | None = None
    category: str | None = None


@frozen
class BooleanConfigOption(Base):
    """Only for clients that declare `session.configOptions.boolean`."""

    id: str
    name: str
    current_value: bool
    description: str | None = None
    category: str | None = None


SessionConfigOption = SelectConfigOption | BooleanConfigOption


@frozen
class SetSessionConfigOptionRequest(Base):
    """`type` is "boolean" for boolean options, else absent; whether `value` fits the option is for the agent to say."""

    session_id: str
    config_id: str
    value: str | bool
    type: str | None = None


@frozen
class SetSessionConfigOptionResponse(Base):
    """Always the complete list."""

    config_options: tuple[SessionConfigOption, ...] = field(metadata=LENIENT)
