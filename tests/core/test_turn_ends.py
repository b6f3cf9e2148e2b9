"""How a turn ends before the model is done: limits, cancels, failures inside; and what is kept of it."""

import pytest

from quillback.core.calls import error_result
from quillback.core.event import MessageEnded, StopReason
from quillback.core.message import MessageState, Role, Text, ToolResult
from quillback.core.repair import INTERRUPTED
from quillback.core.turn import CANCELLED_CALL, CANCELLED_EARLY, NOT_RUN
from quillback.core.turn_table import State
from quillback.core.turn_types import Limits, StepBegan, ToolBegan
from support.replies import call, partial, say, think
from support.turn_kit import Play, failure, parts_sent, text_of


def one_step(play: Play, text: str = "x") -> None:
    play.reply(call("read", {"path": str(len(play.history))}))
    play.finish_all(text)


def test_the_limit_of_steps_is_told_and_the_stream_stays_valid():
    play = Play(limits=Limits(max_steps=2))
    one_step(play)
    one_step(play)
    play.begin()
    assert play.completed.stop_reason is StopReason.MAX_TURN_REQUESTS
    assert play.completed.text == "Stopped after 2 steps, the limit of one turn. Send another prompt to go on."
    assert len(play.requests) == 2
    assert play.history[-1].visible_to_model is False
    assert play.next_request()


def test_the_limit_of_cost_holds_between_steps():
    play = Play(limits=Limits(max_cost=0.003), spent=50.0)
    one_step(play)
    one_step(play)
    play.begin()
    assert play.completed.stop_reason is StopReason.MAX_TURN_REQUESTS
    assert "$0.00" in play.completed.text
    assert play.completed.cost == pytest.approx(0.004006)


def test_the_limit_of_time_holds_between_steps():
    play = Play(limits=Limits(max_duration=60))
    play.begin(elapsed=59.9)
    play.turn.next_action()
    play.cancel()
    play = Play(limits=Limits(max_duration=60))
    one_step(play)
    play.begin(elapsed=75.2)
    assert play.completed.text == "Stopped after 75 seconds; the limit of one turn is 60."
    assert play.completed.stop_reason is StopReason.MAX_TURN_REQUESTS


def test_no_limits_but_steps_hold_by_default():
    play = Play(limits=Limits())
    play.begin(elapsed=1e9)
    assert play.turn.state is State.REQUESTING


# ---------------------------------------------------------------- cancel and crash in each state

ENDINGS = {
    "cancel": (Play.cancel, StopReason.CANCELLED, "", CANCELLED_EARLY),
    "crash": (Play.crash, StopReason.END_TURN, "it broke", NOT_RUN),
}


@pytest.fixture(params=ENDINGS)
def ending(request):
    return ENDINGS[request.param]


def check(play: Play, ending) -> None:
    _, reason, error, _ = ending
    assert (play.completed.stop_reason, play.completed.error) == (reason, error)
    assert play.completed.error_kind == ("internal" if error else "")
    assert play.next_request()


def test_before_the_first_step(ending):
    play = Play()
    assert ending[0](play) == []
    check(play, ending)
    assert (play.completed.message_id, play.completed.text) == ("", "")


def test_before_the_first_byte(ending):
    play = Play()
    play.request()
    assert ending[0](play) == []
    check(play, ending)
    assert [m.role for m in play.history] == [Role.USER]


def test_in_the_middle_of_a_text_what_came_is_kept(ending):
    play = Play()
    play.stream(partial(think("hm"), say("half a sen")))
    events = ending[0](play)
    check(play, ending)
    (ended,) = [e for e in events if isinstance(e, MessageEnded)]
    assert ended.message == play.history[1]
    assert ended.message.state is MessageState.INTERRUPTED
    assert (ended.message.text(), ended.message.finish_reason) == ("half a sen", "")
    assert play.completed.text == "half a sen"
    assert "half a sen" in [p.text for p in parts_sent(play.next_request()) if isinstance(p, Text)]


def test_in_the_middle_of_a_call_the_call_is_answered(ending):
    play = Play()
    play.stream(partial(call("ping"), call("write", '{"path": "a')))
    ending[0](play)
    check(play, ending)
    assert play.result_texts() == [ending[3]] * 2
    assert [r.call_id for r in play.results()] == [c.id for c in play.history[1].tool_uses()]
    assert play.turn.state is State.ENDED


def test_while_waiting_to_try_again(ending):
    play = Play()
    play.fail(failure(), partial(say("x")))
    assert play.turn.state is State.WAITING
    ending[0](play)
    check(play, ending)
    assert len(play.history) == 1


def test_after_a_wait_before_the_next_request(ending):
    play = Play()
    play.fail(failure(), partial(say("x")))
    play.request()
    ending[0](play)
    check(play, ending)
    assert len(play.history) == 1


def test_while_tools_run_finished_results_are_kept_and_open_calls_answered(ending):
    play = Play()
    play.reply(say("go"), call("nope"), call("ping"), call("ping"), call("ping"))
    one, two, three = play.running()
    assert play.turn.feed(ToolBegan(one.id)) == []
    play.finish(two, "done in time")
    events = ending[0](play)
    check(play, ending)
    begun = CANCELLED_CALL if play.completed.stop_reason is StopReason.CANCELLED else INTERRUPTED
    assert [e.message.tool_results()[0] for e in events] == [error_result(one, begun), error_result(three, ending[3])]
    sent = [text_of(p) for p in parts_sent(play.next_request()) if isinstance(p, ToolResult)]
    assert sent[1:] == [begun, "done in time", ending[3]]
    assert play.finish(one, "late") == []
    assert play.completed.text == "go"


def test_between_two_steps(ending):
    play = Play()
    one_step(play)
    before = list(play.history)
    assert ending[0](play) == []
    check(play, ending)
    assert play.history == before


def test_after_a_reply_that_goes_on(ending):
    play = Play()
    play.reply(say("one"), stop="pause_turn")
    ending[0](play)
    check(play, ending)
    assert play.completed.text == "one"


def test_after_an_empty_reply(ending):
    play = Play()
    play.reply()
    ending[0](play)
    check(play, ending)
    assert len(play.history) == 1


def test_a_second_cancel_is_nothing():
    play = Play()
    play.feed(StepBegan(play.tools))
    play.cancel()
    completed = play.completed
    assert play.cancel() == []
    assert play.completed is completed
