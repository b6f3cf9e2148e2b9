"""Replies of a model, or of a gateway in between, that mean no good: none may end the turn or reach the editor raw."""

import math

import pytest

from quillback.core.assemble import Assembler
from quillback.core.message import JsonObject, MessageState, ToolKind, ToolUse, Usage
from quillback.core.model import (
    BlockStopped,
    Model,
    Price,
    Sketch,
    StreamStarted,
    StreamStopped,
    StreamStopping,
    TextStarted,
    ToolSpec,
    ToolUseStarted,
)
from quillback.core.text import one_line
from quillback.core.turn import next_seq
from quillback.core.turn_types import ReplyEnded
from support.turn_kit import Play


def nested(levels: int) -> JsonObject:
    value: object = 1
    for _ in range(levels):
        value = [value]
    return {"x": value}


def explode(_: JsonObject) -> Sketch:
    raise ValueError("no title for this")


def assembled(name: str, given: JsonObject, describe=lambda _: Sketch("Do it")) -> ToolUse:
    tool = ToolSpec("do", "does it", {"type": "object"}, ToolKind.OTHER, describe)
    assembler = Assembler("msg_1", lambda prefix: f"{prefix}_1", {"do": tool})
    assembler.feed([StreamStarted("m"), ToolUseStarted(0, "toolu_1", name, given), BlockStopped(0), StreamStopped()])
    (call,) = assembler.parts
    assert isinstance(call, ToolUse)
    return call


@pytest.mark.parametrize("given", [nested(300), nested(3000), {"n": math.nan}, {"n": math.inf}, {"s": "\ud800"}])
def test_an_input_that_comes_at_once_is_checked_like_a_streamed_one(given):
    call = assembled("do", given)
    assert call.problem
    assert call.input == {}


def test_a_good_input_that_comes_at_once_is_taken():
    call = assembled("do", {"a": 1})
    assert (call.input, call.problem, call.title) == ({"a": 1}, "", "Do it")


def test_a_tool_that_cannot_describe_a_call_does_not_end_the_turn():
    call = assembled("do", {"a": 1}, explode)
    assert (call.title, call.problem) == ("do", "")


@pytest.mark.parametrize("name", ["\x1b[31mred\x07\x00", "x" * 200_000, "", "a\nb"])
def test_a_title_is_one_short_plain_line(name):
    title = assembled(name, {}).title
    assert title
    assert len(title) <= 200
    assert title.isprintable()


def test_one_line_keeps_words_and_drops_what_a_terminal_would_obey():
    assert one_line("  a\tb\r\n\x1b[2Jc\u2028d ") == "a b [2Jc d"
    assert one_line("word " * 100, 20) == "word word word word…"


def test_a_reply_that_cannot_be_counted_is_kept_and_the_next_message_finds_its_place():
    dear = Model("m", "p", "Dear", 200_000, 1000, price=Price(1.0, 1.0, 1.0, 1.0))
    play = Play(model=dear)
    play.stream([StreamStarted("m"), TextStarted(0, "half an answer"), BlockStopped(0)])
    play.stream([StreamStopping("end_turn", Usage(input_tokens=10**400)), StreamStopped()])
    play.feed(ReplyEnded())
    assert not play.completed.error
    assert play.completed.cost < 1
    (kept,) = play.history[1:]
    assert (kept.text(), kept.seq, kept.state) == ("half an answer", 2, MessageState.COMPLETE)
    assert kept.usage.estimated
    assert next_seq(play.history) == 3
