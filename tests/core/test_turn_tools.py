"""The tool calls of a turn: what runs, what is answered instead, and how repetition is stopped."""

import json

import pytest

from quillback.core.event import MessageAdded, PartClosed, PartOpened, StopReason
from quillback.core.message import ToolKind, ToolResult, ToolUse
from quillback.core.turn_types import Limits, ReplyEnded, RunTools
from support.replies import call, reply, say, spec, think
from support.turn_kit import Play, parts_sent, prompt, text_of


def test_a_call_is_announced_when_its_block_starts_and_described_when_it_closes():
    play = Play()
    events = play.reply(call("write", {"path": "a.py", "text": "x"}))
    opened = next(e.part for e in events if isinstance(e, PartOpened))
    closed = next(e.part for e in events if isinstance(e, PartClosed))
    assert (opened.title, opened.kind, opened.input, opened.raw) == ("write", ToolKind.EDIT, {}, "")
    assert (closed.title, closed.input) == ("write a.py", {"path": "a.py", "text": "x"})
    assert opened.id == closed.id != opened.provider_id


def test_a_provider_id_that_comes_again_gets_another_id_of_ours():
    play = Play()
    for path in ("a", "b"):
        play.reply(call("read", {"path": path}, id="toolu_1"))
        play.finish_all(path)
    calls = [c for m in play.history for c in m.tool_uses()]
    assert [c.provider_id for c in calls] == ["toolu_1", "toolu_1"]
    assert len({c.id for c in calls}) == 2
    sent = [p for p in parts_sent(play.request()) if isinstance(p, ToolUse)]
    assert len({c.provider_id for c in sent}) == 2
    assert [c.input for c in sent] == [{"path": "a"}, {"path": "b"}]


def test_results_come_in_any_order_and_go_to_the_model_in_call_order_before_any_text():
    play = Play()
    play.reply(say("now"), call("read", {"path": "1"}), call("nope"), call("read", {"path": "3"}))
    one, three = play.running()
    play.finish(three, "third")
    assert isinstance(play.turn.next_action(), RunTools)
    play.finish(one, "first")
    last = play.request().messages[-1]
    assert [type(p) for p in last.parts] == [ToolResult] * 3
    assert [text_of(p)[:5] for p in last.parts] == ["first", "there", "third"]


def test_each_result_is_a_message_of_its_own_as_soon_as_it_is_there():
    play = Play()
    play.reply(call("ping"), call("ping"))
    one, two = play.running()
    (event,) = play.finish(two)
    assert isinstance(event, MessageAdded)
    assert event.message.tool_results()[0].call_id == two.id
    assert len(play.finish(one)) == 1


# ---------------------------------------------------------------- what does not run


@pytest.mark.parametrize(
    ("block", "problem"),
    [
        (call("nope", {"x": 1}), "there is no tool 'nope'; the tools are: ping, poll, read, write"),
        (call("", {}), "there is no tool ''; the tools are: ping, poll, read, write"),
        (call("read", {}), "missing required parameter: path"),
        (call("read", {"path": 5}), "path must be string, not integer"),
        (call("read", {"path": "a", "lines": 3}), "unknown parameter lines; known: path"),
        (call("read", '{"path": "a"'), "the input is not valid JSON"),
        (call("read", '["a"]'), "the input must be a JSON object, not array"),
        (call("read", '"a"'), "the input must be a JSON object, not string"),
        (call("read", '{"path": NaN}'), "NaN is not valid JSON"),
        (call("read", '{"path": "\\ud83d"}'), "half of a character"),
        (call("read", ""), "missing required parameter: path"),
    ],
)
def test_a_call_that_cannot_be_right_is_answered_and_never_runs(block, problem):
    play = Play()
    play.reply(block)
    (result,) = play.results()
    assert result.is_error
    assert problem in text_of(result)
    assert play.request().messages[-1].parts == (result,)
    play.reply(say("sorry"))
    assert play.completed.stop_reason is StopReason.END_TURN


def test_a_broken_input_is_kept_as_it_came_and_not_as_an_empty_object_that_was_meant():
    play = Play()
    play.reply(call("ping", '{"a": '))
    (broken,) = play.history[1].tool_uses()
    assert (broken.raw, broken.input) == ('{"a": ', {})
    assert broken.problem


@pytest.mark.parametrize("raw", ["", "  ", "{}"])
def test_a_tool_without_parameters_takes_no_input(raw):
    play = Play()
    play.reply(call("ping", raw))
    assert [(c.input, c.problem) for c in play.running()] == [({}, "")]


def test_a_valid_call_runs_beside_an_unknown_one():
    play = Play()
    play.reply(call("nope"), call("read", {"path": "a"}))
    assert [c.name for c in play.running()] == ["read"]
    play.finish_all()
    assert [r.is_error for r in play.results()] == [True, False]


def test_the_tools_of_a_step_are_those_it_began_with():
    play = Play(tools=())
    play.reply(call("ping"))
    assert "the tools are: none" in play.result_texts()[0]
    play.tools = (spec("ping"),)
    play.reply(call("ping"))
    assert len(play.running()) == 1


def test_whole_input_sent_at_the_start_counts():
    play = Play()
    events = reply(call("read", ""))
    start = next(e for e in events if type(e).__name__ == "ToolUseStarted")
    events[events.index(start)] = type(start)(start.index, start.id, start.name, {"path": "a"})
    play.stream(events)
    play.feed(ReplyEnded())
    assert [c.input for c in play.running()] == [{"path": "a"}]


def test_deeply_nested_input_is_refused():
    play = Play(tools=(spec("deep", a="array"),))
    play.reply(call("deep", '{"a": ' + "[" * 500 + "]" * 500 + "}"))
    assert "nested" in play.result_texts()[0]


# ---------------------------------------------------------------- stop_turn


def test_a_result_may_end_the_turn_once_all_calls_are_answered():
    play = Play()
    play.reply(say("asking"), call("ping"), call("ping"))
    one, two = play.running()
    play.finish(one, stop=True)
    assert not play.ended
    play.finish(two)
    assert play.completed.stop_reason is StopReason.END_TURN
    assert play.completed.text == "asking"


# ---------------------------------------------------------------- repetition


def steps(play: Play, block, text="same", *, is_error=False, most=60):
    """Reply with `block` until the turn ends; the number of calls that ran."""
    ran = 0
    for _ in range(most):
        if play.ended:
            break
        play.reply(block)
        if isinstance(play.turn.next_action(), RunTools):
            ran += len(play.running())
            play.finish_all(text() if callable(text) else text, is_error=is_error)
    return ran


def test_the_fourth_identical_call_is_refused_and_too_many_equal_steps_end_the_turn():
    play = Play()
    assert steps(play, call("read", {"path": "a"})) == 3
    assert "call number 4 in a row of read" in play.result_texts()[3]
    assert len(play.requests) == 6
    assert play.completed.stop_reason is StopReason.MAX_TURN_REQUESTS
    assert play.completed.text == "Stopped: the model kept repeating the same step (read a) with the same result."


def test_identical_input_is_the_same_whatever_the_order_of_its_keys():
    play = Play()
    for n in range(4):
        keys = {"path": "a", "text": "b"} if n % 2 else {"text": "b", "path": "a"}
        play.reply(call("write", json.dumps(keys)))
        if n < 3:
            play.finish_all()
    assert "call number 4" in play.result_texts()[-1]


def test_another_result_or_another_call_in_between_starts_the_count_anew():
    play = Play()
    for n in range(8):
        play.reply(call("read", {"path": "a"}))
        play.finish_all(f"version {n // 2}")
    for n in range(8):
        play.reply(call("read", {"path": str(n % 2)}))
        play.finish_all("x")
    assert not any("in a row" in text for text in play.result_texts())


def test_the_counts_start_anew_with_each_prompt():
    play = Play()
    for _ in range(3):
        play.reply(call("ping"))
        play.finish_all()
    play.reply(say("done"))
    again = Play(*play.history, prompt("again", seq=9))
    again.reply(call("ping"))
    assert len(again.running()) == 1


def test_polling_may_repeat_itself_until_the_equal_steps_are_too_many():
    play = Play()
    assert steps(play, call("poll", {"job": "1"})) == 6
    assert play.completed.stop_reason is StopReason.MAX_TURN_REQUESTS


def test_polling_that_brings_news_never_ends():
    play = Play()
    numbers = iter(range(1000))
    assert steps(play, call("poll"), lambda: str(next(numbers)), most=40) == 40


def test_polling_does_not_hide_a_repetition_around_it():
    play = Play()
    for _ in range(3):
        play.reply(call("ping"))
        play.finish_all()
        play.reply(call("poll"))
        play.finish_all(str(len(play.history)))
    play.reply(call("ping"))
    assert "call number 4" in play.result_texts()[-1]


@pytest.mark.parametrize("block", [call("no_such"), call(""), call("read", "{}"), call("read", "{")])
def test_a_model_that_insists_on_an_impossible_call_is_stopped_and_the_user_is_told(block):
    play = Play()
    assert steps(play, block) == 0
    assert len(play.requests) == 6
    assert play.completed.stop_reason is StopReason.MAX_TURN_REQUESTS
    assert "kept repeating" in play.completed.text


def test_an_endless_row_of_different_unknown_tools_ends_at_the_limit_of_steps():
    play = Play(limits=Limits(max_steps=20))
    for n in range(20):
        play.reply(call(f"tool_{n}"))
    play.begin()
    assert play.completed.stop_reason is StopReason.MAX_TURN_REQUESTS
    assert "20 steps" in play.completed.text


def test_after_five_equal_failures_advice_comes_in_place_of_a_sixth_run():
    play = Play()
    numbers = iter(range(100))
    for n in range(5):
        play.reply(call("read", {"path": str(n)}))
        play.finish_all(f"No such file: line {next(numbers)}", is_error=True)
    play.reply(call("read", {"path": "other"}))
    assert "read failed 5 times in a row" in play.result_texts()[-1]
    play.reply(call("read", {"path": "yet another"}))
    assert len(play.running()) == 1


def test_other_errors_and_successes_break_the_row_of_failures():
    play = Play()
    for n, text in enumerate(["a", "a", "a", "a", "b", "a", "a", "a", "a", "ok", "a", "a", "a", "a"]):
        play.reply(call("read", {"path": str(n)}))
        play.finish_all(text, is_error=text != "ok")
    assert not any("failed 5 times" in text for text in play.result_texts())


def test_a_refused_repetition_neither_counts_as_a_failure_nor_ends_the_row_of_them():
    play = Play()
    paths = ["a", "a", "a", "a", "b", "c"]
    for path in paths:
        play.reply(call("read", {"path": path}))
        if isinstance(play.turn.next_action(), RunTools):
            play.finish_all("broken", is_error=True)
    assert "call number 4" in play.result_texts()[3]
    play.reply(call("read", {"path": "d"}))
    assert "failed 5 times" in play.result_texts()[-1]


def test_steps_of_several_calls_are_compared_as_a_whole():
    play = Play()
    blocks = (think("again"), call("ping"), call("read", {"path": "a"}))
    for _ in range(6):
        play.reply(*blocks)
        play.finish_all()
    assert play.completed.stop_reason is StopReason.MAX_TURN_REQUESTS
    assert "(ping, read a)" in play.completed.text
