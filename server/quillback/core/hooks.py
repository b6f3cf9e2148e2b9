"""The port to hooks: commands of the user that are told of a session's moments and may have a say in them."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Protocol

from attrs import field, frozen

from quillback.core.message import JsonObject


class HookPoint(StrEnum):
    """The moments, under the names that hook files use."""

    SESSION_START = "SessionStart"
    USER_PROMPT_SUBMIT = "UserPromptSubmit"
    PRE_TOOL_USE = "PreToolUse"
    POST_TOOL_USE = "PostToolUse"
    POST_TOOL_USE_FAILURE = "PostToolUseFailure"
    PRE_COMPACT = "PreCompact"
    STOP = "Stop"
    SESSION_END = "SessionEnd"
    TURN_COMPLETED = "TurnCompleted"


@frozen
class HookCall:
    """A moment. `tool` is the name of the tool at the three tool points. `fields` is what the hook reads besides the
    session's own facts, under the keys of hook files (`tool_input`, `prompt`, `stop_hook_active`, ...)."""

    point: HookPoint
    tool: str = ""
    fields: Mapping[str, Any] = field(factory=dict)


@frozen
class HookAnswer:
    """What all hooks of a moment said together.

    `blocked` is the reason for a no, empty for none; `halt` the reason to end the whole turn. `context` is added for
    the model, `notes` are shown to the user. `input` replaces a call's arguments; `ask` is the reason to ask the user
    about the call, whatever the inspectors say.
    """

    blocked: str = ""
    halt: str = ""
    ask: str = ""
    context: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    input: JsonObject | None = None


NOTHING = HookAnswer()


class Hooks(Protocol):
    """The hooks of one session."""

    def any(self, point: HookPoint) -> bool:
        """Whether there is a hook for this moment at all."""
        ...

    async def fire(self, call: HookCall) -> HookAnswer:
        """Run the hooks of a moment. Never raises; a hook that fails counts as its failure policy says."""
        ...


class NoHooks:
    def any(self, point: HookPoint) -> bool:
        return False

    async def fire(self, call: HookCall) -> HookAnswer:
        return NOTHING
