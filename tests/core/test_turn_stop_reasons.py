"""Every stop reason of the service, and what the turn makes of it."""

import pytest

from quillback.core.assemble import CUT
from quillback.core.event import MessageChanged, MessageDropped, PartClosed, PartGrew, StopReason
from quillback.core.message import RedactedThinking, Role, Text, ToolUse
from quillback.core.turn import CUT_REPLY, NOT_RUN
from quillback.core.turn_table import State
from quillback.core.turn_types import Compact, Compacted, Limits, ReplyEnded
from support.replies import call, partial, redacted, reply, say, think, unfinished
from support.turn_kit import Play, parts_sent, prompt, spoken, text_of


@pytest.mark.parametrize("stop", ["end_turn", "stop_sequence", "something_new", "compaction"])
def test_these_end_the_turn(stop):
    play = Play()
    play.reply(say("done"), stop=stop)
    assert (play.completed.stop_reason, play.completed.text) == (StopReason.END_TURN, "done")
    assert play.history[-1].finish_reason == stop


@pytest.mark.parametrize("stop", ["tool_use", "end_turn", "stop_sequence", "something_new", "pause_turn"])
def test_calls_run_whatever_the_reply_ended_with(stop):
    play = Play()
    play.reply(call("ping"), stop=stop)
    assert [c.name for c in play.running()] == ["ping"]
    play.finish_all()
    play.reply(say("done"))
    assert play.completed.stop_reason is StopReason.END_TURN


def test_a_reply_without_the_end_of_its_stream_is_a_failed_request():
    play = Play()
    play.stream(reply(say("all"))[:-1])
    play.feed(ReplyEnded())
    assert play.turn.state is State.WAITING


# ---------------------------------------------------------------- max_tokens


def test_at_the_limit_of_tokens_complete_calls_run_and_a_cut_one_does_not():
    play = Play()
    play.reply(call("ping"), unfinished(call("write", '{"path": "a", "te')), stop="max_tokens")
    assert [c.name for c in play.running()] == ["ping"]
    assert play.result_texts() == [CUT]
    play.finish_all("pong")
    play.reply(say("done"))
    assert play.completed.stop_reason is StopReason.END_TURN


@pytest.mark.parametrize("raw", ['{"path": "a", "te', '{"path', ""])
def test_a_last_call_that_was_closed_although_it_is_cut_does_not_run_either(raw):
    play = Play()
    play.reply(call("ping"), call("poll" if not raw else "write", raw), stop="max_tokens")
    assert [c.name for c in play.running()] == ["ping"]
    assert play.result_texts() == [CUT]
    cut = play.history[1].tool_uses()[1]
    assert (cut.input, cut.raw, cut.problem) == ({}, raw, CUT)
    assert [e.part.problem for e in play.events if isinstance(e, PartClosed)][-1] == CUT


@pytest.mark.parametrize("last", [call("poll", "{}"), call("poll", {"job": "1"}), call("ping", "")])
def test_a_last_call_that_is_complete_runs(last):
    play = Play()
    play.reply(last, stop="max_tokens")
    assert len(play.running()) == 1


def test_only_the_last_call_can_be_cut():
    play = Play()
    play.reply(call("poll", ""), say("more"), stop="max_tokens")
    assert [c.name for c in play.running()] == ["poll"]


def test_at_the_limit_of_tokens_the_turn_goes_on_twice_in_a_row():
    play = Play()
    for _ in range(2):
        play.reply(call("ping"), stop="max_tokens")
        play.finish_all()
    play.reply(call("ping"), unfinished(call("ping", "{")), stop="max_tokens")
    assert play.completed.stop_reason is StopReason.MAX_TOKENS
    assert play.result_texts()[2:] == [NOT_RUN, NOT_RUN]
    assert "limit of output tokens" in play.completed.text


def test_another_reply_in_between_starts_the_count_anew():
    play = Play()
    for _ in range(3):
        play.reply(call("read", {"path": "x"}), stop="max_tokens")
        play.finish_all("x")
        play.reply(call("ping"))
        play.finish_all(str(len(play.history)))
    assert not play.ended


def test_at_the_limit_of_tokens_text_ends_the_turn_and_a_remark_says_why():
    play = Play()
    play.reply(say("so far and no"), stop="max_tokens")
    assert play.completed.stop_reason is StopReason.MAX_TOKENS
    assert play.said()[0] == "so far and no"
    assert "cut off" in play.said()[1]
    assert [m.visible_to_model for m in play.history] == [True, True, False]


@pytest.mark.parametrize("blocks", [(), (say(" "),), (redacted(),)])
@pytest.mark.parametrize("stop", ["max_tokens", "refusal", "model_context_window_exceeded"])
def test_a_reply_of_nothing_is_not_stored_whatever_ended_it(blocks, stop):
    play = Play()
    play.reply(*blocks, stop=stop)
    assert play.completed.stop_reason is (StopReason.REFUSAL if stop == "refusal" else StopReason.MAX_TOKENS)
    assert [m.role for m in play.history] == [Role.USER, Role.ASSISTANT]
    assert play.history[1].visible_to_model is False


def test_thoughts_that_used_up_the_tokens_stay_to_be_seen():
    play = Play()
    play.reply(think("long thought"), stop="max_tokens")
    assert play.history[1].parts[0].text == "long thought"
    assert play.next_request().messages[-1].parts == (Text("do it"), Text("next"))


# ---------------------------------------------------------------- pause_turn


def test_a_paused_reply_is_sent_back_as_it_is_and_goes_on():
    play = Play()
    play.reply(think("hm"), say("part one"), stop="pause_turn")
    request = play.request()
    assert request.messages[-1].role == "assistant"
    assert request.messages[-1].parts == play.history[1].parts
    play.reply(say("part two"))
    assert play.said() == ["part one", "part two"]
    assert play.completed.text == "part two"


def test_a_model_that_pauses_for_ever_is_stopped():
    play = Play()
    replies = 0
    while not play.ended:
        play.reply(say(f"piece {replies}"), stop="pause_turn")
        replies += 1
    assert replies == 6
    assert play.completed.stop_reason is StopReason.END_TURN
    assert "paused" in play.completed.text


def test_the_pauses_of_different_steps_do_not_add_up():
    play = Play()
    for _ in range(3):
        for _ in range(4):
            play.reply(say("piece"), stop="pause_turn")
        play.reply(call("ping"))
        play.finish_all(str(len(play.history)))
    assert not play.ended


# ---------------------------------------------------------------- refusal


def test_a_refusal_hides_the_prompt_and_everything_behind_it_from_the_model():
    play = Play(prompt("old"), spoken("fine", seq=2), prompt("bad", seq=3))
    play.reply(say("step"), call("ping"))
    play.finish_all()
    events = play.reply(say("I will"), stop="refusal", explanation="it is dangerous")
    assert play.completed.stop_reason is StopReason.REFUSAL
    assert "it is dangerous" in play.completed.text
    hidden = [e.message.id for e in events if isinstance(e, MessageChanged)]
    assert hidden == [m.id for m in play.history[2:6]]
    assert [m.visible_to_model for m in play.history] == [True, True, False, False, False, False, False]
    assert all(m.visible_to_user for m in play.history)
    assert [p.text for p in parts_sent(play.next_request())] == ["old", "fine", "next"]


def test_the_calls_of_a_refused_reply_do_not_run():
    play = Play()
    play.reply(call("ping"), stop="refusal")
    assert play.completed.stop_reason is StopReason.REFUSAL
    assert play.result_texts() == [NOT_RUN]


def test_a_short_text_is_shown_before_a_refusal():
    play = Play()
    play.reply(stop="refusal")
    assert play.said() == ["The model declined to answer. This prompt is left out of what it sees next."]


# ---------------------------------------------------------------- a full window


def test_a_full_window_is_compacted_twice_and_then_ends_the_turn():
    play = Play()
    play.reply(say("cut"), call("ping"), stop="model_context_window_exceeded")
    assert play.result_texts() == [CUT_REPLY]
    for _ in range(2):
        asked = play.turn.next_action()
        assert isinstance(asked, Compact)
        play.feed(Compacted("what was"))
        play.reply(say("cut"), stop="model_context_window_exceeded")
    assert play.completed.stop_reason is StopReason.MAX_TOKENS
    assert "context window" in play.completed.text


# ---------------------------------------------------------------- empty replies

EMPTY = {
    "nothing": (),
    "blank text": (say(" ", "\n"),),
    "thoughts alone": (think("hm"), redacted()),
    "thoughts and blank text": (think("hm"), say("")),
}


@pytest.mark.parametrize("blocks", EMPTY.values(), ids=EMPTY)
@pytest.mark.parametrize("stop", ["end_turn", "tool_use", "pause_turn", "unheard_of"])
def test_an_empty_reply_is_tried_again_three_times_and_never_stored(blocks, stop):
    play = Play()
    for _ in range(3):
        play.reply(*blocks, stop=stop)
        assert play.turn.state is State.REQUESTING
        assert [m.role for m in play.history] == [Role.USER]
    play.reply(*blocks, stop=stop)
    assert play.completed.stop_reason is StopReason.END_TURN
    assert "4 times in a row" in play.completed.text
    (message,) = play.history[1:]
    assert message.visible_to_model is False
    assert play.waits == []


def test_an_empty_reply_does_not_count_as_a_step_but_it_costs():
    play = Play(limits=Limits(max_steps=1))
    play.reply()
    play.reply()
    play.reply(say("here"))
    assert play.completed.text == "here"
    assert play.completed.output_tokens == 300


def test_a_good_reply_in_between_starts_the_count_anew():
    play = Play()
    for _ in range(3):
        for _ in range(3):
            play.reply()
        play.reply(call("ping"))
        play.finish_all(str(len(play.history)))
    assert not play.ended


def test_text_before_a_missing_call_is_told_apart():
    play = Play()
    for _ in range(4):
        play.reply(say("Let me look."), stop="tool_use")
    assert play.said()[0] == "Let me look."
    assert "announced a tool call" in play.said()[1]
    assert sum(isinstance(e, MessageDropped) for e in play.events) == 3


def test_what_an_empty_reply_showed_is_superseded_by_the_next():
    play = Play()
    dropped = [e.run_id for e in play.reply(think("hm")) if isinstance(e, PartGrew)]
    first, *rest = [e for e in play.reply(say("a", "b")) if isinstance(e, PartGrew)]
    assert first.supersedes == tuple(dropped) != ()
    assert [e.supersedes for e in rest] == [()]


def test_what_was_shown_is_superseded_later_where_the_next_reply_shows_no_text():
    play = Play()
    dropped = [e.run_id for e in play.reply(think("hm")) if isinstance(e, PartGrew)]
    play.reply(call("ping"))
    play.finish_all()
    first = next(e for e in play.reply(say("a")) if isinstance(e, PartGrew))
    assert first.supersedes == tuple(dropped)


def test_an_interrupted_reply_of_nothing_is_not_stored():
    play = Play()
    play.stream([*partial(redacted())])
    assert play.history == [prompt()]
    play.cancel()
    assert play.history == [prompt()]
    assert any(isinstance(e, MessageDropped) for e in play.events)
    assert RedactedThinking not in {type(p) for m in play.history for p in m.parts}


def test_a_broken_call_of_a_reply_without_end_is_shown_as_failed():
    play = Play()
    play.stream(partial(say("a"), call("write", '{"path')))
    play.cancel()
    (broken,) = play.history[1].tool_uses()
    assert isinstance(broken, ToolUse)
    assert (broken.problem, broken.input) == (CUT, {})
    assert "cancelled" in text_of(play.results()[0])
