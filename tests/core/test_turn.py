from itertools import pairwise

import pytest
from attrs import evolve

from quillback.core.event import (
    MessageAdded,
    MessageDropped,
    MessageEnded,
    MessageStarted,
    PartClosed,
    PartGrew,
    PartOpened,
    StopReason,
    TurnCompleted,
    UsageChanged,
)
from quillback.core.hooks import HookAnswer
from quillback.core.message import MessageState, Role, Text, Thinking, ToolResult, Usage
from quillback.core.model import Failure
from quillback.core.turn_table import State, TurnError
from quillback.core.turn_types import (
    CallModel,
    ChecksRan,
    Compacted,
    CompactionFailed,
    Received,
    ReplyEnded,
    RequestFailed,
    Steered,
    StepBegan,
    StopAnswered,
    ToolFinished,
    Waited,
)
from support.replies import MODEL, USAGE, call, partial, redacted, reply, say, think
from support.strict import continues
from support.turn_kit import Play, failure, prompt, spoken
from support.watch import texts_of


def test_a_plain_turn_says_what_happens_in_order():
    play = Play()
    events = play.reply(say("Hel", "lo"))
    assert [type(e) for e in events] == [
        MessageStarted,
        PartOpened,
        PartGrew,
        PartGrew,
        PartClosed,
        MessageEnded,
        UsageChanged,
    ]
    message = play.history[-1]
    assert (message.role, message.state, message.finish_reason) == (Role.ASSISTANT, MessageState.COMPLETE, "end_turn")
    assert (message.model, message.provider, message.seq) == ("m1", "fake", 2)
    assert events[0].message.id == events[-2].message.id == message.id
    assert play.completed.stop_reason is StopReason.END_TURN
    assert play.completed.text == "Hello"
    assert play.completed.message_id == message.parts[0].run_id
    assert play.completed.error == ""


def test_blocks_are_kept_in_order_and_byte_for_byte():
    play = Play()
    play.reply(think("a", "s1"), redacted("r"), say("one"), say("two"), call("ping"), think("", "s2"), call("ping"))
    kept = [type(p).__name__ for p in play.history[1].parts]
    assert kept == ["Thinking", "RedactedThinking", "Text", "Text", "ToolUse", "Thinking", "ToolUse"]
    assert [p.signature for p in play.history[1].parts if isinstance(p, Thinking)] == ["s1", "s2"]
    play.finish_all()
    assert play.request().messages[1].parts == play.history[1].parts


def test_a_whole_turn_with_a_tool():
    play = Play()
    play.reply(say("I look."), call("read", {"path": "a"}))
    (running,) = play.running()
    assert (running.name, running.input, running.title, running.raw) == ("read", {"path": "a"}, "read a", "")
    assert [type(e) for e in play.finish(running, "content")] == [MessageAdded]
    play.reply(say("Done."))
    assert [m.role for m in play.history] == [Role.USER, Role.ASSISTANT, Role.TOOL, Role.ASSISTANT]
    assert [m.seq for m in play.history] == [1, 2, 3, 4]
    assert play.completed.text == "Done."


def test_each_run_of_text_and_of_thought_has_its_own_id_and_each_step_new_ones():
    play = Play()
    play.reply(think("t1"), think("t2"), say("a"), say("b"), call("ping"), say("c"))
    play.finish_all()
    play.reply(think("t3"), say("d"))
    runs = [(type(p).__name__, p.run_id) for m in play.history for p in m.parts if isinstance(p, Text | Thinking)]
    thoughts = [run for kind, run in runs if kind == "Thinking"]
    texts = [run for kind, run in runs if kind == "Text"]
    prompt_run, ab1, ab2, c, d = texts
    assert prompt_run == ""
    assert thoughts[0] == thoughts[1]
    assert ab1 == ab2
    assert len({ab1, c, d, *thoughts}) == 5
    assert play.completed.message_id == d
    assert play.completed.text == "d"


def test_the_answer_is_the_last_text_run_of_the_turn_whole():
    play = Play()
    play.reply(say("before"), call("ping"), say("be", "hind"), say(" it"))
    play.finish_all()
    play.reply(call("ping"))
    play.finish_all()
    play.feed(StepBegan(play.tools))
    play.cancel()
    assert play.completed.text == "behind it"
    assert texts_of(play.events)[play.completed.message_id] == "behind it"


def test_the_request_is_made_from_the_stream():
    play = Play(prompt("first"), spoken("yes", seq=2), prompt("second", seq=3))
    request = play.request()
    assert [(m.role, m.parts[0].text) for m in request.messages] == [
        ("user", "first"),
        ("assistant", "yes"),
        ("user", "second"),
    ]
    assert [t.name for t in request.tools] == ["ping", "poll", "read", "write"]
    assert (request.system, request.model, request.session_id) == ("You are a test.", MODEL, "s1")
    assert request.max_tokens == MODEL.max_output


def test_every_request_of_a_turn_continues_the_one_before():
    play = Play()
    play.reply(think("hm"), say("a"), call("read", {"path": "1"}), call("read", {"path": "2"}))
    two, one = reversed(play.running())
    play.finish(one)
    play.finish(two)
    play.reply(say("wait"), stop="pause_turn")
    play.reply(call("nope"), call("ping", '{"broken'))
    play.reply(say("end"))
    assert len(play.requests) == 4
    for before, after in pairwise(play.requests):
        assert continues(before, after)


def test_steers_enter_the_stream_before_the_next_request():
    play = Play()
    play.reply(call("ping"))
    play.finish_all()
    assert play.feed(Steered(prompt("also this", seq=0, state=MessageState.QUEUED))) == []
    events = play.begin()
    assert [e.message.text() for e in events] == ["also this"]
    assert (play.history[-1].seq, play.history[-1].state) == (4, MessageState.COMPLETE)
    last = play.request().messages[-1]
    assert [type(p) for p in last.parts] == [ToolResult, Text]
    assert last.parts[1] == Text("also this")


# ---------------------------------------------------------------- usage


def test_usage_and_cost_are_those_of_the_provider():
    play = Play(spent=2.0)
    changed = play.reply(call("ping"))[-1]
    assert changed == UsageChanged(1111, 200_000, pytest.approx(2.0 + 0.002003))
    assert play.history[1].usage == USAGE
    assert play.history[1].cost == pytest.approx((1000 * 1 + 100 * 10 + 10 * 0.1 + 1 * 2) / 1e6)
    play.finish_all()
    play.reply(say("x"), usage=Usage(2000, 200))
    assert play.completed.input_tokens == 1000 + 10 + 1 + 2000
    assert play.completed.output_tokens == 300
    assert play.completed.cost == pytest.approx(0.002003 + 0.004)


@pytest.mark.parametrize("reported", [None, Usage()])
def test_without_counts_they_are_estimated_and_marked(reported):
    play = Play(prompt("é" * 400))
    play.reply(say("ä" * 40), usage=reported)
    usage = play.history[-1].usage
    assert usage.estimated
    assert usage.output_tokens == 20
    assert 200 <= usage.input_tokens < 600  # the prompt alone is 800 bytes


def test_counts_from_the_start_of_a_stream_are_used_where_the_end_has_none():
    play = Play()
    events = reply(say("x"), usage=None)
    events[0] = evolve(events[0], usage=Usage(50, 1))
    play.stream(events)
    play.feed(ReplyEnded())
    assert play.history[-1].usage == Usage(50, 1)


# ---------------------------------------------------------------- what cannot be


def inputs(play: Play):
    result = ToolResult("call_99", (Text("x"),))
    return {
        "began": StepBegan(play.tools),
        "received": Received(reply(say("x"))),
        "ended": ReplyEnded(),
        "failed": RequestFailed(failure()),
        "waited": Waited(),
        "finished": ToolFinished(result),
        "steered": Steered(prompt("steer", seq=0)),
        "compacted": Compacted("a summary"),
        "not compacted": CompactionFailed("no."),
        "checked": ChecksRan("they fail"),
        "stop answered": StopAnswered(HookAnswer(blocked="no")),
    }


def in_state(state: State) -> Play:
    play = Play()
    match state:
        case State.REQUESTING:
            play.request()
        case State.WAITING:
            play.fail(failure())
        case State.RUNNING:
            play.reply(call("ping"))
        case State.ENDED:
            play.cancel()
        case State.COMPACTING:
            play = Play(prompt("one"), spoken("long", seq=2, usage=Usage(190_000)), prompt("two", seq=3))
            play.begin()
        case State.ENDING:
            play = Play(stop_hook=True)
            play.reply(say("done"))
        case State.READY:
            pass
    assert play.turn.state is state
    return play


TAKES = {
    State.READY: {"began"},
    State.REQUESTING: {"received", "ended", "failed"},
    State.WAITING: {"waited"},
    State.RUNNING: set(),
    State.COMPACTING: {"compacted", "not compacted"},
    State.ENDING: {"checked", "stop answered"},
    State.ENDED: set(inputs(Play())),
}
ALWAYS = {"finished", "steered"}


@pytest.mark.parametrize("state", State)
@pytest.mark.parametrize("name", inputs(Play()))
def test_input_that_cannot_come_in_a_state_raises_and_changes_nothing(state, name):
    play = in_state(state)
    before = list(play.history)
    if name in TAKES[state] | ALWAYS:
        play.feed(inputs(play)[name])
        return
    with pytest.raises(TurnError):
        play.feed(inputs(play)[name])
    assert play.history == before
    assert play.turn.state is state


def test_a_result_of_no_open_call_changes_nothing():
    play = in_state(State.RUNNING)
    (running,) = play.running()
    assert play.feed(ToolFinished(ToolResult("call_99", (Text("x"),)), stop_turn=True)) == []
    assert len(play.finish(running)) == 1
    assert play.turn.state is State.READY
    assert play.finish(running) == []
    assert [r.call_id for r in play.results()] == [running.id]


@pytest.mark.parametrize("how", ["end", "cancel", "crash", "fail"])
def test_what_comes_late_is_dropped(how):
    play = Play()
    play.stream(partial(say("so far")))
    match how:
        case "end":
            play.feed(Received(reply(say("x"))[-2:]))
            play.feed(ReplyEnded())
        case "cancel":
            play.cancel()
        case "crash":
            play.crash()
        case "fail":
            play.feed(RequestFailed(failure(Failure.AUTHENTICATION)))
    completed, before = play.completed, list(play.history)
    assert isinstance(completed, TurnCompleted)
    for late in inputs(play).values():
        assert play.feed(late) == []
    assert play.cancel() == []
    assert play.crash() == []
    assert (play.completed, play.history) == (completed, before)


def test_the_action_stays_the_same_until_something_is_fed():
    play = Play()
    play.begin()
    first = play.turn.next_action()
    assert isinstance(first, CallModel)
    assert play.turn.next_action() is not None
    play.feed(Received(partial(say("a"))))
    again = play.turn.next_action()
    assert isinstance(again, CallModel)
    assert again.request is first.request
    play.feed(Received(reply(say("x"))[-2:]))
    assert play.feed(ReplyEnded())
    assert not any(isinstance(e, MessageDropped) for e in play.events)
    assert play.completed.text == "a"
