"""Tells of a turn as JSON, one object a line on standard output.

Each object has a `type`; its other fields are those of the class, in snake_case, as `core/event.py` documents them:

- `session`: `session_id`, `cwd`, `mode`, `model`, `thinking`; the first line.
- the events: `message_added`, `message_started`, `part_opened`, `part_grew`, `part_closed`, `message_ended`,
  `message_changed`, `message_dropped`, `tool_changed`, `tool_started`, `tool_progressed`, `usage_changed`,
  `retry_scheduled`, `noticed`, `history_replaced`, `compaction_changed`, `settings_changed`, `continued`, `retitled`,
  `turn_completed`. Messages are objects with `parts`; each part, and each thing that a call
  shows, has a `type` too: `text`, `thinking`, `redacted_thinking`, `tool_use`, `tool_result`, `image`, `resource`,
  `resource_link`, `notice`, `summary`, `diff`, `terminal`. A whole message comes with `message_added` or
  `message_ended`.
- `permission`: a question that was answered: `call`, `shown`, `locations`, `reason`, `rule`, `choice`, `note`.
- `error`: `message`; the command fails for a reason that `turn_completed` does not tell.

`continued` comes right behind the message that tells the model to go on, which is `message_id`; the user does not see
that one, so its `visible_to_user` is false.

`turn_completed` comes exactly once, if the turn began; the `stop_reason` of one that failed is `error`, and `refused`
is true where a command was not carried out. Only what the hooks of the end say may come after it, as `noticed`.
"""

import json
import re
from collections.abc import Mapping
from enum import Enum
from math import isfinite
from typing import get_args

from attrs import fields, has

from quillback.cli.sink import Sink
from quillback.core.event import Event, TurnCompleted
from quillback.core.message import Part, Shown
from quillback.core.ports import Choice, PermissionAsk, SessionRecord

_TYPED = frozenset((*get_args(Event), *get_args(Part), *get_args(Shown)))
FAILED = "error"
_WORD = re.compile(r"(?<!^)(?=[A-Z])")


class JsonView:
    """Implements View."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._lines: list[str] = []

    def opened(self, record: SessionRecord) -> None:
        self._say(
            "session",
            session_id=record.id,
            cwd=record.cwd,
            mode=record.mode,
            model=record.model,
            thinking=record.thinking,
        )

    def show(self, event: Event) -> None:
        told = to_json(event)
        if isinstance(event, TurnCompleted) and event.error and isinstance(told, dict):
            told["stop_reason"] = FAILED
        self._lines.append(json_line(told))

    def asked(self, ask: PermissionAsk) -> None:
        """Said with its answer."""

    def asked_elsewhere(self, ask: PermissionAsk) -> None:
        """Does not happen: with JSON nobody is asked."""

    def answered(self, ask: PermissionAsk, choice: Choice, note: str) -> None:
        self._say(
            "permission",
            call=ask.call,
            shown=ask.shown,
            locations=ask.locations,
            reason=ask.reason,
            rule=ask.rule,
            choice=choice,
            note=note,
        )

    def failed(self, message: str) -> None:
        self._say("error", message=message)

    async def flush(self) -> None:
        lines, self._lines = self._lines, []
        await self._sink.send("".join(f"{line}\n" for line in lines).encode("utf-8", "replace"))

    def hurry(self) -> None:
        self._sink.hurry()

    def _say(self, kind: str, **values: object) -> None:
        self._lines.append(json_line({"type": kind, **values}))


def json_line(value: object) -> str:
    return json.dumps(to_json(value), ensure_ascii=False, separators=(",", ":"))


def to_json(value: object) -> object:
    """Plain JSON of core's values; members of unions say with `type` which one they are."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, float) and not isfinite(value):
        return None
    if isinstance(value, str | int | float | bool | None):
        return value
    if isinstance(value, Mapping):
        return {str(name): to_json(item) for name, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [to_json(item) for item in value]
    kind = type(value)
    if has(kind):
        typed = {"type": type_name(kind)} if kind in _TYPED else {}
        return typed | {f.name: to_json(getattr(value, f.name)) for f in fields(kind)}
    return str(value)


def type_name(kind: type) -> str:
    """The class's name in snake_case."""
    return _WORD.sub("_", kind.__name__).lower()
