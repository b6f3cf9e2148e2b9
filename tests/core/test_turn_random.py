"""Drives turns at random: whatever the service, the tools and the user do, a turn keeps its promises."""

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from quillback.core.event import HistoryReplaced, MessageChanged, MessageEnded, StopReason
from quillback.core.hooks import HookAnswer
from quillback.core.message import Role, Text
from quillback.core.model import Failure, ProviderEvent
from quillback.core.repair import unanswered, visible
from quillback.core.turn_table import State
from quillback.core.turn_types import (
    Aim,
    BeginStep,
    CallModel,
    Cancel,
    Check,
    ChecksRan,
    Compact,
    Compacted,
    Compacting,
    CompactionFailed,
    Consult,
    Crash,
    Finish,
    Limits,
    Question,
    Received,
    Recipe,
    ReplyEnded,
    RequestFailed,
    RunTools,
    Steered,
    StepBegan,
    StopAnswered,
    ToolBegan,
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
OUTPUT = {"type": "object", "properties": {}}
AIMS = st.builds(
    Aim,
    goal=st.sampled_from(["", "", "make it so"]),
    grind=st.sampled_from([False, False, True]),
    compact=st.sampled_from([None] * 4 + ["", "the names"]),
    recipe=st.builds(
        Recipe,
        checks=st.sampled_from([(), (), (Check("true"),)]),
        retries=st.integers(0, 3),
        fresh=st.booleans(),
        output=st.sampled_from([None, None, OUTPUT]),
    ),
)
SUDDEN = st.sampled_from([None] * 12 + [Cancel(), Crash("it broke")])


class Driver:
    """Does what a turn asks for, in one of the ways in which it may come out."""

    def __init__(self, data: st.DataObject, play: Play) -> None:
        self.draw = data.draw
        self.play = play
        self.steers = 0
        self.compactions = 0

    def run(self) -> None:
        while not self.play.ended:
            self.steer()
            match self.play.turn.next_action():
                case Compact() as asked:
                    self.compact(asked)
                case Consult() as asked:
                    self.consult(asked)
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
        self.either(StepBegan(self.play.tools, self.draw(st.floats(0, 40))))

    def steer(self) -> None:
        """At any time the user may add something."""
        if self.draw(st.sampled_from([False] * 4 + [True])):
            self.steers += 1
            self.play.feed(Steered(prompt(f"steer {self.steers}", seq=0, id=f"steer_{self.steers}")))

    def compact(self, asked: Compact) -> None:
        assert visible(asked.history, "m1")
        self.compactions += 1
        done = Compacted(f"summary {self.compactions}", 0.01)
        self.either(self.draw(st.sampled_from([done, done, CompactionFailed("it is away.", 0.01)])))

    def consult(self, asked: Consult) -> None:
        match asked.question:
            case Question.CHECKS:
                self.either(ChecksRan(self.draw(st.sampled_from(["", "they fail"]))))
            case Question.STOP_HOOK:
                answers = [HookAnswer(), HookAnswer(blocked="not yet"), HookAnswer(halt="enough")]
                self.either(StopAnswered(self.draw(st.sampled_from(answers))))

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
            if self.draw(st.booleans()):
                self.play.feed(ToolBegan(one.id))
            final, cost = self.draw(st.sampled_from(["", "", "{}"])), self.draw(st.sampled_from([0.0, 0.01]))
            finished = ToolFinished(result_of(one, text, is_error=is_error), stop, cost=cost, final=final)
            if not self.either(finished):
                return
            if self.draw(st.booleans()):
                self.play.feed(ToolFinished(error_of(one.id, "a second time")))


LATE = [
    StepBegan(()),
    Received(reply(say("late"), call("ping"))),
    ReplyEnded(),
    RequestFailed(failure()),
    Waited(),
    ToolBegan("call_1"),
    ToolFinished(error_of("call_1", "late")),
    Steered(prompt("late", seq=0, id="late")),
    Compacted("late"),
    CompactionFailed("late"),
    ChecksRan(""),
    StopAnswered(HookAnswer(blocked="late")),
    Cancel(),
    Crash("late"),
]


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_a_turn_keeps_its_promises_whatever_happens(data):
    history = data.draw(HISTORIES)
    play = Play(
        *history,
        limits=data.draw(LIMITS),
        spent=1.0,
        aim=data.draw(AIMS),
        stop_hook=data.draw(st.booleans()),
        compacting=Compacting(data.draw(st.sampled_from([None, 0.0, 0.005, 0.5]))),
    )
    driver = Driver(data, play)
    driver.run()

    completed, stream = play.completed, list(play.history)
    for late in LATE:
        assert play.feed(late) == []
    assert (play.completed, play.history, play.turn.state) == (completed, stream, State.ENDED)
    play.watch.take([completed])  # nothing is open, nothing grows
    assert unanswered(stream) == []
    check_steers(play, driver.steers)
    check_stream(play, history)
    check_requests(play)
    check_end(play)


def check_steers(play: Play, count: int) -> None:
    """What the user added is in the stream, in order, or is handed back; none of it is lost or doubled."""
    ids = [f"steer_{n + 1}" for n in range(count)]
    told = [m.id for m in play.watch.kept.values() if m.id.startswith("steer")]
    assert [*told, *(m.id for m in play.turn.steers)] == ids


def check_stream(play: Play, history) -> None:
    stream = list(play.watch.kept.values())  # all of it: in memory is what came since the last summary
    seqs = [m.seq for m in stream]
    assert all(a < b for a, b in pairwise(seqs))
    assert len({m.id for m in stream}) == len(stream)
    assert stream[-len(play.history) :] == play.history
    assert stream[: len(history) - 1] == list(history[:-1])
    assert unanswered(stream) == []
    said = [m.text() for m in stream if m.role is Role.USER and m.visible_to_user]
    assert said[: len([m for m in history if m.role is Role.USER])] == [
        m.text() for m in history if m.role is Role.USER
    ]
    if play.completed.stop_reason is not StopReason.REFUSAL:
        wanted = user_texts(visible([m for m in play.history if m.role is Role.USER], "m1"))
        assert is_subsequence(wanted, user_texts(play.next_request().messages))
    else:
        assert user_texts(play.next_request().messages)[-1] == "next"
        hidden = [m for m in play.history if m.text() == history[-1].text() and m.visible_to_model]
        assert not hidden


def check_requests(play: Play) -> None:
    reduced = [e for e in play.requests if "image was left out" in str(e.messages)]
    ended = {e.message.finish_reason for e in play.events if isinstance(e, MessageEnded)}
    replaced = any(isinstance(e, HistoryReplaced | MessageChanged) for e in play.events)
    for before, after in pairwise(play.requests):
        thinking_left_out = len(str(after.messages)) < len(str(before.messages))
        assert reduced or thinking_left_out or replaced or continues(before, after)
    for request in play.requests:
        assert request.messages[-1].role == "user" or "pause_turn" in ended


def check_end(play: Play) -> None:
    completed = play.completed
    stream = list(play.watch.kept.values())
    texts = {p.run_id: p for m in stream for p in m.parts if isinstance(p, Text) and p.run_id}
    assert not completed.message_id or completed.message_id in texts
    assert completed.text == "".join(
        p.text for m in stream for p in m.parts if isinstance(p, Text) and p.run_id == completed.message_id != ""
    )
    assert bool(completed.error) is bool(completed.error_kind)
    assert completed.cost >= sum(m.cost for m in stream) - 1e-9
