"""The sessions of the mock agent: in memory, with what a client can set and what is replayed."""

import itertools
from collections.abc import Iterator
from datetime import UTC, datetime

from attrs import define, field

from quillback.mock.script import Json

REPLAYED = {"user_message_chunk", "agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update", "plan"}
ENDED = {"completed", "failed"}
MODES = (
    {"id": "ask", "name": "Ask", "description": "Asks before it changes anything"},
    {"id": "code", "name": "Code"},
)
MODELS = (
    {"group": "small", "name": "Small", "options": [{"value": "mock-1", "name": "Mock 1"}]},
    {"group": "large", "name": "Large", "options": [{"value": "mock-2", "name": "Mock 2"}]},
)
VALUES: dict[str, tuple[object, ...]] = {
    "mode": tuple(mode["id"] for mode in MODES),
    "model": ("mock-1", "mock-2"),
    "loud": (True, False),
}
PAGE = 20


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


@define(eq=False)
class Session:
    """`history` is what a load replays; `open_calls` are the tool calls that were announced and have not ended."""

    id: str
    cwd: str
    boolean_options: bool
    settings: dict[str, object] = field(factory=lambda: {"mode": "ask", "model": "mock-1", "loud": False})
    history: list[Json] = field(factory=list)
    open_calls: dict[str, str] = field(factory=dict)
    active: bool = True
    updated: str = field(factory=_now)
    _messages: Iterator[int] = field(factory=lambda: itertools.count(1))

    def next_message(self) -> str:
        return f"{self.id}-message-{next(self._messages)}"

    def note(self, update: Json) -> None:
        """Remember an update that was sent."""
        kind, call, status = update.get("sessionUpdate"), update.get("toolCallId"), update.get("status")
        if kind in REPLAYED:
            self.history.append(update)
        if kind == "tool_call" and isinstance(call, str):
            self.open_calls[call] = str(status)
        if isinstance(call, str) and status in ENDED:
            self.open_calls.pop(call, None)
        self.updated = _now()

    def modes(self) -> Json:
        return {"currentModeId": self.settings["mode"], "availableModes": list(MODES)}

    def options(self) -> list[Json]:
        modes = [{"value": mode["id"], "name": mode["name"]} for mode in MODES]
        chosen = self.settings
        options: list[Json] = [
            {
                "id": "mode",
                "name": "Mode",
                "category": "mode",
                "type": "select",
                "currentValue": chosen["mode"],
                "options": modes,
            },
            {
                "id": "model",
                "name": "Model",
                "category": "model",
                "type": "select",
                "currentValue": chosen["model"],
                "options": list(MODELS),
            },
        ]
        if self.boolean_options:
            options.append({"id": "loud", "name": "Loud", "type": "boolean", "currentValue": chosen["loud"]})
        return options

    def setup(self) -> Json:
        """What the answers to session/new, load and resume share."""
        return {"modes": self.modes(), "configOptions": self.options()}

    def info(self) -> Json:
        return {"sessionId": self.id, "cwd": self.cwd, "title": f"Session {self.id}", "updatedAt": self.updated}


class Sessions:
    """All of them, newest first in a list. A cursor is the number of sessions that came before."""

    def __init__(self) -> None:
        self._all: dict[str, Session] = {}
        self._numbers = itertools.count(1)
        self.boolean_options = False

    def new(self, cwd: str) -> Session:
        session = Session(f"mock-{next(self._numbers)}", cwd, self.boolean_options)
        self._all[session.id] = session
        return session

    def get(self, session_id: object) -> Session | None:
        return self._all.get(session_id) if isinstance(session_id, str) else None

    def delete(self, session_id: str) -> None:
        self._all.pop(session_id, None)

    def page(self, cwd: str | None, cursor: str | None) -> Json:
        """Raises ValueError for a cursor that was never given out."""
        start = 0 if cursor is None else int(cursor)
        found = [session.info() for session in reversed(self._all.values()) if cwd in (None, session.cwd)]
        if start and not 0 < start < len(found):
            raise ValueError(cursor)
        more: Json = {"nextCursor": str(start + PAGE)} if len(found) > start + PAGE else {}
        return {"sessions": found[start : start + PAGE], **more}
