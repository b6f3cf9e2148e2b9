"""Drives turns at random: whatever the service, the tools and the user do, a turn keeps its promises."""

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from quillback.core.event import MessageEnded, StopReason
from quillback.core.message import Role, Text
from quillback.core.model import Failure, ProviderEvent
from quillback.core.repair import unanswered, visible
from quillback.core.turn_table import State
from quillback.core.turn_types import (
    BeginStep,
    CallModel,
    Cancel,
    Crash,
    Finish,
    Limits,
    Received,
    ReplyEnded,
    RequestFailed,
    RunTools,
    StepBegan,
    ToolFinished,
    Wait,
    Waited,
)
from support.replies import Block, call, redacted, reply, say, think, unfinished
from support.strict import continues, is_subsequence, user_texts
from support.turn_kit import Play, error_of, failure, prompt, result_of, spoken

BLOCKS: st.SearchStrategy[Block] = st.one_of(
    st.sampled_from(["", " ", "text", "\ud83d"]).map(say),
    st.tuples(st.sampled_from(["", "hm"]), st.sampled_from(["", "sig"])).map(lambda t: think(*t)),
    st.just(redacted()),
    st.builds(
        call,
        st.sampled_from(["read", "write", "poll", "ping", "nope", ""]),
        st.sampled_from(['{"path": "a"}', '{"path": "b"}', "", "{}", "{", "[]", '{"path": 1}']),
        st.sampled_from(["t1", "t2", "bad id", ""]),
    ),
)
STOPS = st.sampled_from(
    [
        *[""] * 4,
        *["end_turn", "tool_use", "max_tokens", "pause_turn", "refusal", "stop_sequence", "new"],
        "model_context_window_exceeded",
    ]
)


def made(blocks: list[Block], stop: str, open_end: bool) -> list[ProviderEvent]:
    """A reply, perhaps with a last block that does not end."""
    return reply(*blocks[:-1], *(unfinished(b) if open_end else b for b in blocks[-1:]), stop=stop)


REPLIES = st.builds(
    made,
    st.lists(BLOCKS, max_size=5),
    STOPS,
    st.booleans(),
)
FAILURES = st.builds(
    lambda kind, after: failure(kind, retry_after=after),
    st.sampled_from(Failure),
    st.sampled_from([None, None, 3.0, 100.0]),
)
HISTORIES = st.sampled_from(
    [
        (prompt(),),
        (prompt("one"), spoken("two", seq=2), prompt("three", seq=3)),
        (spoken("it begins", seq=1), prompt("then", seq=2), spoken("", seq=3), prompt("last", seq=4)),
    ]
)
LIMITS = st.builds(Limits, st.integers(1, 12), st.sampled_from([None, 0.02]), st.sampled_from([None, 30.0]))
SUDDEN = st.sampled_from([None] * 12 + [Cancel(), Crash("it broke")])


class Driver:
    """Does what a turn asks for, in one of the ways in which it may come out."""

    def __init__(self, data: st.DataObject, play: Play) -> None:
        self.draw = data.draw
        self.play = play
        self.steers = 0

    def run(self) -> None:
        while not self.play.ended:
            match self.play.turn.next_action():
                case BeginStep():
                    self.begin()
                case CallModel():
                    self.answer()
                case Wait(seconds=seconds):
                    assert 0 < seconds <= 60
                    self.either(Waited())
                case RunTools(calls=calls):
                    self.run_tools(calls)
                case Finish():
                    pass

    def either(self, given) -> bool:
        """Feed this, or have the turn ended before it comes. Whether it came."""
        sudden = self.draw(SUDDEN)
        self.play.feed(sudden or given)
        return sudden is None

    def begin(self) -> None:
        steers = ()
        if len(self.play.history) > 4 and self.draw(st.booleans()):
            self.steers += 1
            steers = (prompt(f"steer {self.steers}", seq=self.play.history[-1].seq + 1, id=f"steer_{self.steers}"),)
        self.either(StepBegan(self.play.tools, self.draw(st.floats(0, 40)), steers))

    def answer(self) -> None:
        before = self.play.turn.state
        self.play.continuing = True  # whether it may is looked at in the end
        self.play.request()
        assert self.play.turn.state is before
        events = self.draw(REPLIES)
        whole = self.draw(st.sampled_from([True, True, True, False]))
        if not whole:
            events = events[: self.draw(st.integers(0, len(events)))]
        size = self.draw(st.integers(1, 4))
        for at in range(0, len(events), size):
            if not self.either(Received(events[at : at + size])):
                return
        if whole:
            self.either(ReplyEnded())
        else:
            self.either(self.draw(FAILURES.map(RequestFailed) | st.just(ReplyEnded())))

    def run_tools(self, calls) -> None:
        assert all(not c.problem for c in calls)
        for one in self.draw(st.permutations(calls)):
            text = self.draw(st.sampled_from(["ok", "other", "", "error 5"]))
            is_error, stop = self.draw(st.booleans()), self.draw(st.sampled_from([False] * 9 + [True]))
            if not self.either(ToolFinished(result_of(one, text, is_error=is_error), stop)):
                return
            if self.draw(st.booleans()):
                self.play.feed(ToolFinished(error_of(one.id, "a second time")))


LATE = [
    StepBegan(()),
    Received(reply(say("late"), call("ping"))),
    ReplyEnded(),
    RequestFailed(failure()),
    Waited(),
    ToolFinished(error_of("call_1", "late")),
    Cancel(),
    Crash("late"),
]


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_a_turn_keeps_its_promises_whatever_happens(data):
    history = data.draw(HISTORIES)
    play = Play(*history, limits=data.draw(LIMITS), spent=1.0)
    Driver(data, play).run()

    completed, stream = play.completed, list(play.history)
    for late in LATE:
        assert play.feed(late) == []
    assert (play.completed, play.history, play.turn.state) == (completed, stream, State.ENDED)
    play.watch.take([completed])  # nothing is open, nothing grows
    assert unanswered(stream) == []
    check_stream(play, history)
    check_requests(play)
    check_end(play)


def check_stream(play: Play, history) -> None:
    seqs = [m.seq for m in play.history]
    assert all(a < b for a, b in pairwise(seqs))
    assert len({m.id for m in play.history}) == len(play.history)
    assert play.history[: len(history) - 1] == list(history[:-1])
    assert list(play.watch.kept.values()) == play.history
    said = [m.text() for m in play.history if m.role is Role.USER]
    assert said[: len([m for m in history if m.role is Role.USER])] == [
        m.text() for m in history if m.role is Role.USER
    ]
    if play.completed.stop_reason is not StopReason.REFUSAL:
        wanted = user_texts(visible([m for m in play.history if m.role is Role.USER], "m1"))
        assert is_subsequence(wanted, user_texts(play.next_request().messages))
    else:
        prompts = [m for m in play.history if m.id == history[-1].id]
        assert not prompts[0].visible_to_model
        assert user_texts(play.next_request().messages)[-1] == "next"


def check_requests(play: Play) -> None:
    reduced = [e for e in play.requests if "image was left out" in str(e.messages)]
    ended = {e.message.finish_reason for e in play.events if isinstance(e, MessageEnded)}
    for before, after in pairwise(play.requests):
        thinking_left_out = len(str(after.messages)) < len(str(before.messages))
        assert reduced or thinking_left_out or continues(before, after)
    for request in play.requests:
        assert request.messages[-1].role == "user" or "pause_turn" in ended


def check_end(play: Play) -> None:
    completed = play.completed
    texts = {p.run_id: p for m in play.history for p in m.parts if isinstance(p, Text) and p.run_id}
    assert not completed.message_id or completed.message_id in texts
    assert completed.text == "".join(
        p.text for m in play.history for p in m.parts if isinstance(p, Text) and p.run_id == completed.message_id != ""
    )
    assert bool(completed.error) is bool(completed.error_kind)
    assert completed.cost >= sum(m.cost for m in play.history) - 1e-9
