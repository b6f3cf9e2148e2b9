"""Plays a pure turn by hand, and objects to any event or request that may never be."""

from collections.abc import Sequence
from typing import Any

from quillback.core.event import Event, TurnCompleted
from quillback.core.message import Message, Part, Role, Text, ToolResult, ToolUse
from quillback.core.model import Failure, ModelRequest, ProviderError, ProviderEvent, ToolSpec
from quillback.core.model import Thinking as ThinkingLevel
from quillback.core.turn import Turn
from quillback.core.turn_types import (
    BeginStep,
    CallModel,
    Cancel,
    Crash,
    Finish,
    Input,
    Limits,
    Received,
    ReplyEnded,
    RequestFailed,
    RunTools,
    Setup,
    StepBegan,
    ToolFinished,
    Wait,
    Waited,
)
from support.replies import MODEL, TOOLS, Block, Ids, reply
from support.strict import faults, wrong_marks
from support.watch import Watch


def prompt(text: str = "do it", *, seq: int = 1, **changes: Any) -> Message:
    plain: dict[str, Any] = {"id": f"prompt_{seq}", "session_id": "s1", "seq": seq, "role": Role.USER}
    return Message(**{**plain, "parts": (Text(text),), "created_at": 1, **changes})


def spoken(text: str, *, seq: int, **changes: Any) -> Message:
    """An earlier reply of the model."""
    return prompt(text, seq=seq, id=f"reply_{seq}", role=Role.ASSISTANT, model=MODEL.id, **changes)


def failure(kind: Failure = Failure.OVERLOADED, text: str = "It is overloaded.", **more: Any) -> ProviderError:
    return ProviderError(kind, text, **more)


class Play:
    """`history` ends with the prompt. `requests` and `waits` are what the turn asked for, `events` what it said."""

    def __init__(self, *history: Message, tools: Sequence[ToolSpec] = TOOLS, **setup: Any) -> None:
        plain: dict[str, Any] = {
            "session_id": "s1",
            "model": MODEL,
            "system": "You are a test.",
            "thinking": ThinkingLevel.OFF,
            "new_id": Ids(),
            "now": lambda: 7,
            "jitter": lambda: 0.0,
            "limits": Limits(max_steps=100),
        }
        self.turn = Turn(Setup(**{**plain, **setup}), list(history or (prompt(),)))
        self.tools = tuple(tools)
        self.watch = Watch(self.turn.history)
        self.events: list[Event] = []
        self.requests: list[ModelRequest] = []
        self.waits: list[float] = []
        self.continuing = False

    @property
    def history(self) -> list[Message]:
        return self.turn.history

    @property
    def ended(self) -> bool:
        return isinstance(self.turn.next_action(), Finish)

    @property
    def completed(self) -> TurnCompleted:
        action = self.turn.next_action()
        assert isinstance(action, Finish)
        return action.completed

    def feed(self, given: Input) -> list[Event]:
        events = self.turn.feed(given)
        self.watch.take(events)
        self.events += events
        return events

    # ------------------------------------------------------------ the driver's part

    def begin(self, **began: Any) -> list[Event]:
        assert self.turn.next_action() == BeginStep()
        return self.feed(StepBegan(self.tools, **began))

    def request(self) -> ModelRequest:
        """The request that is due, after a step was begun or a wait was over where that was due first."""
        match self.turn.next_action():
            case BeginStep():
                self.begin()
            case Wait(seconds=seconds):
                self.waits.append(seconds)
                self.feed(Waited())
            case _:
                pass
        action = self.turn.next_action()
        assert isinstance(action, CallModel), action
        assert faults(action.request.messages, continuing=self.continuing) == []
        assert wrong_marks(action.request) == []
        self.requests.append(action.request)
        return action.request

    def stream(self, events: Sequence[ProviderEvent]) -> list[Event]:
        """Ask, and stream these events, one at a time."""
        self.request()
        return [out for event in events for out in self.feed(Received([event]))]

    def reply(self, *blocks: Block, **how: Any) -> list[Event]:
        """Ask, and answer with a whole reply."""
        out = self.stream(reply(*blocks, **how))
        self.continuing = how.get("stop") == "pause_turn"
        return out + self.feed(ReplyEnded())

    def fail(self, error: ProviderError, after: Sequence[ProviderEvent] = ()) -> list[Event]:
        """Ask, and fail after some events."""
        return self.stream(after) + self.feed(RequestFailed(error))

    def running(self) -> tuple[ToolUse, ...]:
        action = self.turn.next_action()
        assert isinstance(action, RunTools), action
        return action.calls

    def finish(self, call: ToolUse, text: str = "ok", *, is_error: bool = False, stop: bool = False) -> list[Event]:
        return self.feed(ToolFinished(ToolResult(call.id, (Text(text),), is_error=is_error), stop))

    def finish_all(self, text: str = "ok", *, is_error: bool = False) -> list[Event]:
        return [e for call in self.running() for e in self.finish(call, text, is_error=is_error)]

    def cancel(self) -> list[Event]:
        return self.feed(Cancel())

    def crash(self, text: str = "it broke") -> list[Event]:
        return self.feed(Crash(text))

    # ------------------------------------------------------------ what came of it

    def results(self) -> list[ToolResult]:
        return [r for m in self.history for r in m.tool_results()]

    def result_texts(self) -> list[str]:
        return [text_of(r) for r in self.results()]

    def said(self) -> list[str]:
        """The texts that the user sees of the assistant, in order."""
        return [m.text() for m in self.history if m.role is Role.ASSISTANT and m.text()]

    def next_request(self) -> ModelRequest:
        """What the next prompt of the session would send."""
        return Play(*self.history, prompt("next", seq=self.history[-1].seq + 1), tools=self.tools).request()


def text_of(result: ToolResult) -> str:
    return "".join(p.text for p in result.content if isinstance(p, Text))


def parts_sent(request: ModelRequest) -> list[Part]:
    return [p for m in request.messages for p in m.parts]


def result_of(call: ToolUse, text: str, *, is_error: bool = False) -> ToolResult:
    return ToolResult(call.id, (Text(text),), is_error=is_error)


def error_of(call_id: str, text: str) -> ToolResult:
    return ToolResult(call_id, (Text(text),), is_error=True)
