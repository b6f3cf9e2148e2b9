import re

import pytest

from quillback.core.turn_table import TRANSITIONS, Signal, State, TurnError, diagram, move

# Written down a second time on purpose: a change of the table must be meant.
LEGAL = {
    (State.READY, Signal.STEP_BEGAN): State.REQUESTING,
    (State.READY, Signal.LIMIT_REACHED): State.ENDED,
    (State.REQUESTING, Signal.REPLY_CALLED_TOOLS): State.RUNNING,
    (State.REQUESTING, Signal.REPLY_GOES_ON): State.READY,
    (State.REQUESTING, Signal.REPLY_ENDED_TURN): State.ENDED,
    (State.REQUESTING, Signal.REQUEST_AGAIN): State.REQUESTING,
    (State.REQUESTING, Signal.REQUEST_LATER): State.WAITING,
    (State.REQUESTING, Signal.REQUEST_FAILED): State.ENDED,
    (State.WAITING, Signal.WAITED): State.REQUESTING,
    (State.RUNNING, Signal.CALLS_ANSWERED): State.READY,
    (State.RUNNING, Signal.CALLS_ENDED_TURN): State.ENDED,
    (State.READY, Signal.COMPACTION_DUE): State.COMPACTING,
    (State.READY, Signal.NOTHING_TO_DO): State.ENDED,
    (State.REQUESTING, Signal.COMPACTION_DUE): State.COMPACTING,
    (State.COMPACTING, Signal.COMPACTED): State.READY,
    (State.COMPACTING, Signal.COMPACTION_FAILED): State.READY,
    (State.COMPACTING, Signal.COMPACTION_ENDED_TURN): State.ENDED,
    **{(s, Signal.END_ASKED): State.ENDING for s in (State.REQUESTING, State.RUNNING, State.ENDING)},
    **{(s, Signal.WENT_ON): State.READY for s in (State.REQUESTING, State.RUNNING, State.ENDING)},
    (State.ENDING, Signal.ENDING_ENDED_TURN): State.ENDED,
    **{(s, Signal.CANCELLED): State.ENDED for s in State if s is not State.ENDED},
    **{(s, Signal.CRASHED): State.ENDED for s in State if s is not State.ENDED},
}
PAIRS = [(state, signal) for state in State for signal in Signal]


@pytest.mark.parametrize(("state", "signal"), PAIRS, ids=lambda v: v.name)
def test_every_pair_moves_as_written_or_raises(state, signal):
    if (state, signal) in LEGAL:
        assert move(state, signal) is LEGAL[state, signal]
    else:
        with pytest.raises(TurnError, match=f"{re.escape(state.value)}.*{re.escape(signal.value)}"):
            move(state, signal)


def test_every_state_can_be_reached_and_left_but_the_last():
    assert {after for row in TRANSITIONS.values() for after in row.values()} == set(State)
    assert [state for state, row in TRANSITIONS.items() if not row] == [State.ENDED]


def test_every_signal_is_used():
    assert {signal for row in TRANSITIONS.values() for signal in row} == set(Signal)


def test_the_diagram_shows_each_transition_once():
    lines = diagram().splitlines()
    assert lines[:2] == ["stateDiagram-v2", "    [*] --> READY"]
    assert lines[-1] == "    ENDED --> [*]"
    arrows = [re.fullmatch(r" {4}(\w+) --> (\w+): (.+)", line) for line in lines[2:-1]]
    shown = {(State[a[1]], Signal(a[3])): State[a[2]] for a in arrows if a}
    assert shown == LEGAL
    assert len(arrows) == len(LEGAL)
