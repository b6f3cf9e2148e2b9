"""A session's modes and config options, in the two forms that clients know."""

from quillback.core.model import Thinking
from quillback.core.rules import MODES
from quillback.edge.connection import Connection
from quillback.session.session import Session
from quillback_protocol import acp

THINKING = {
    Thinking.OFF: "Off",
    Thinking.LOW: "Low",
    Thinking.MEDIUM: "Medium",
    Thinking.HIGH: "High",
}


def mode_state(session: Session) -> acp.SessionModeState:
    modes = tuple(acp.SessionMode(m.value, name, text) for m, (name, text) in MODES.items())
    return acp.SessionModeState(session.record.mode.value, modes)


def config_options(connection: Connection, session: Session) -> tuple[acp.SessionConfigOption, ...]:
    """All of them, always: clients replace the whole list."""
    record = session.record
    models = dict(connection.models())
    models.setdefault(record.model, record.model)
    return (
        acp.SelectConfigOption(
            "mode",
            "Mode",
            record.mode.value,
            tuple(acp.SessionConfigSelectOption(m.value, name, text) for m, (name, text) in MODES.items()),
            description="How much the agent may do without asking",
            category="mode",
        ),
        acp.SelectConfigOption(
            "model",
            "Model",
            record.model,
            tuple(acp.SessionConfigSelectOption(id_, name) for id_, name in models.items()),
            category="model",
        ),
        acp.SelectConfigOption(
            "thinking",
            "Thinking",
            record.thinking.value,
            tuple(acp.SessionConfigSelectOption(t.value, name) for t, name in THINKING.items()),
            description="How long the model may think before it answers",
            category="thought_level",
        ),
    )
