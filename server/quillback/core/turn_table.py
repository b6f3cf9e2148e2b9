"""The turn's transitions.

Rule 1: whatever moves a turn from one state to another is in this table. The diagram in ARCHITECTURE.md is made
from it.
"""

from collections.abc import Mapping
from enum import Enum


class State(Enum):
    READY = "ready for a step"
    REQUESTING = "reading the model's reply"
    WAITING = "waiting to try again"
    RUNNING = "running tools"
    COMPACTING = "having a summary made"
    ENDING = "finding out whether it may end"
    ENDED = "ended"


class Signal(Enum):
    STEP_BEGAN = "step began"
    LIMIT_REACHED = "limit reached"
    NOTHING_TO_DO = "nothing to summarise"
    COMPACTION_DUE = "compaction due"
    COMPACTED = "compacted"
    COMPACTION_FAILED = "compaction failed"
    COMPACTION_ENDED_TURN = "compaction ended the turn"
    REPLY_CALLED_TOOLS = "reply called tools"
    REPLY_GOES_ON = "reply goes on"
    REPLY_ENDED_TURN = "reply ended the turn"
    REQUEST_AGAIN = "request again at once"
    REQUEST_LATER = "request again later"
    REQUEST_FAILED = "request failed"
    WAITED = "waited"
    CALLS_ANSWERED = "all calls answered"
    CALLS_ENDED_TURN = "a result ended the turn"
    END_ASKED = "end in question"
    WENT_ON = "a reason to go on"
    ENDING_ENDED_TURN = "nothing against the end"
    CANCELLED = "cancelled"
    CRASHED = "failed inside"


class TurnError(Exception):
    """The driver told the turn something that cannot happen in its state."""


_ANY_TIME = {Signal.CANCELLED: State.ENDED, Signal.CRASHED: State.ENDED}

TRANSITIONS: Mapping[State, Mapping[Signal, State]] = {
    State.READY: {
        Signal.STEP_BEGAN: State.REQUESTING,
        Signal.COMPACTION_DUE: State.COMPACTING,
        Signal.LIMIT_REACHED: State.ENDED,
        Signal.NOTHING_TO_DO: State.ENDED,
        **_ANY_TIME,
    },
    State.REQUESTING: {
        Signal.REPLY_CALLED_TOOLS: State.RUNNING,
        Signal.REPLY_GOES_ON: State.READY,
        Signal.REPLY_ENDED_TURN: State.ENDED,
        Signal.REQUEST_AGAIN: State.REQUESTING,
        Signal.REQUEST_LATER: State.WAITING,
        Signal.REQUEST_FAILED: State.ENDED,
        Signal.COMPACTION_DUE: State.COMPACTING,
        Signal.END_ASKED: State.ENDING,
        Signal.WENT_ON: State.READY,
        **_ANY_TIME,
    },
    State.WAITING: {
        Signal.WAITED: State.REQUESTING,
        **_ANY_TIME,
    },
    State.RUNNING: {
        Signal.CALLS_ANSWERED: State.READY,
        Signal.CALLS_ENDED_TURN: State.ENDED,
        Signal.END_ASKED: State.ENDING,
        Signal.WENT_ON: State.READY,
        **_ANY_TIME,
    },
    State.COMPACTING: {
        Signal.COMPACTED: State.READY,
        Signal.COMPACTION_FAILED: State.READY,
        Signal.COMPACTION_ENDED_TURN: State.ENDED,
        **_ANY_TIME,
    },
    State.ENDING: {
        Signal.END_ASKED: State.ENDING,
        Signal.WENT_ON: State.READY,
        Signal.ENDING_ENDED_TURN: State.ENDED,
        **_ANY_TIME,
    },
    State.ENDED: {},
}


def move(state: State, signal: Signal) -> State:
    try:
        return TRANSITIONS[state][signal]
    except KeyError:
        raise TurnError(f"a turn that is {state.value} cannot take {signal.value!r}") from None


def diagram() -> str:
    """The table as a Mermaid state diagram."""
    lines = ["stateDiagram-v2", f"    [*] --> {State.READY.name}"]
    for state, row in TRANSITIONS.items():
        lines += [f"    {state.name} --> {after.name}: {signal.value}" for signal, after in row.items()]
    return "\n".join([*lines, f"    {State.ENDED.name} --> [*]"])
