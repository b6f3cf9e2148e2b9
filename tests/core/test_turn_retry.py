"""Failed requests: what is tried again, how the next try replaces the last, and what is kept in the end."""

import pytest

from quillback.core.event import MessageDropped, MessageStarted, PartGrew, RetryScheduled, StopReason
from quillback.core.message import Image, MessageState, Text, Thinking, ToolResult
from quillback.core.model import Failure
from quillback.core.request import IMAGE_NOTE
from quillback.core.turn import CUT_REPLY
from quillback.core.turn_table import State
from quillback.core.turn_types import ReplyEnded, RequestFailed, ToolFinished
from support.replies import call, partial, reply, say, think
from support.turn_kit import Play, failure, parts_sent, prompt, spoken, text_of
from support.watch import texts_of

RETRYABLE = [f for f in Failure if f.retryable]
FINAL = [f for f in Failure if not f.retryable and f not in (Failure.BAD_THINKING, Failure.BAD_IMAGE)]


@pytest.mark.parametrize("kind", RETRYABLE)
def test_what_may_pass_is_tried_again_after_a_wait_that_is_told(kind):
    play = Play(jitter=lambda: 1.0)
    events = play.fail(failure(kind, "Busy."))
    [told] = events
    assert isinstance(told, RetryScheduled)
    assert (told.attempt, told.attempts, told.delay, told.reason) == (2, 5, 1.25, "Busy.")
    play.reply(say("done"))
    assert play.waits == [1.25]
    assert play.completed.text == "done"
    assert play.requests[0] == play.requests[1]


@pytest.mark.parametrize("kind", FINAL)
def test_what_would_fail_again_ends_the_turn_with_the_services_words(kind):
    play = Play()
    play.fail(failure(kind, "Not like this."))
    assert (play.completed.error, play.completed.error_kind) == ("Not like this.", kind.value)
    assert len(play.requests) == 1


def test_there_are_five_tries_and_then_the_error_says_so():
    play = Play()
    for _ in range(5):
        play.fail(failure())
    assert play.waits == [1.0, 2.0, 4.0, 8.0]
    assert play.completed.error.startswith("It is overloaded. Gave up after 5 tries")
    assert play.completed.error_kind == "overloaded"
    assert play.history == [prompt()]


def test_the_tries_of_each_step_are_counted_anew():
    play = Play()
    for _ in range(2):
        for _ in range(4):
            play.fail(failure())
        play.reply(call("ping"))
        play.finish_all()
    assert play.waits == [1.0, 2.0, 4.0, 8.0] * 2


def test_the_services_wait_is_kept_and_one_that_is_too_long_is_told():
    play = Play()
    play.fail(failure(Failure.RATE_LIMIT, retry_after=3))
    assert play.request()
    assert play.waits == [3]
    play = Play()
    play.fail(failure(Failure.RATE_LIMIT, "Slow down.", retry_after=3600))
    assert play.completed.error == "Slow down. The provider asks to wait 60 minutes; send the prompt again after that."


def test_a_stream_that_ends_too_soon_is_tried_again():
    play = Play()
    play.stream(partial(say("so")))
    play.feed(ReplyEnded())
    assert play.turn.state is State.WAITING
    assert "before it was complete" in play.events[-1].reason


def test_a_try_after_partial_output_is_a_new_message_that_says_what_it_replaces():
    play = Play()
    first = play.fail(failure(), partial(think("hm"), say("half an an")))
    replaced = tuple(e.run_id for e in first if isinstance(e, PartGrew))
    second = play.reply(think("hm"), say("a whole answer"))
    growths = [e for e in second if isinstance(e, PartGrew)]
    assert growths[0].supersedes == replaced
    assert len(replaced) == 2
    assert all(e.supersedes == () for e in growths[1:])
    assert not set(replaced) & {e.run_id for e in growths}
    assert len({e.message.id for e in play.events if isinstance(e, MessageStarted)}) == 2
    assert list(texts_of(play.events).values()) == ["a whole answer"]
    assert [m.text() for m in play.history] == ["do it", "a whole answer"]


def test_several_tries_are_all_replaced_by_the_last():
    play = Play()
    shown = []
    for piece in ("a", "b", "c"):
        shown += [e.run_id for e in play.fail(failure(), partial(say(piece))) if isinstance(e, PartGrew)]
    last = play.reply(say("here"), call("ping"))
    assert next(e for e in last if isinstance(e, PartGrew)).supersedes == tuple(shown)
    play.finish_all()
    assert [e.supersedes for e in play.reply(say("done")) if isinstance(e, PartGrew)] == [()]


def test_the_calls_of_an_abandoned_try_are_told_and_leave_the_stream():
    play = Play()
    events = play.fail(failure(), partial(say("x"), call("ping"), call("write", '{"path')))
    (dropped,) = [e for e in events if isinstance(e, MessageDropped)]
    assert [c.name for c in dropped.calls] == ["ping", "write"]
    play.reply(say("done"))
    assert [m.tool_uses() for m in play.history] == [(), ()]


def test_a_failure_before_any_output_drops_nothing():
    play = Play()
    play.fail(failure())
    play.reply(say("done"))
    assert not any(isinstance(e, MessageDropped) for e in play.events)
    assert next(e for e in play.events if isinstance(e, PartGrew)).supersedes == ()


def test_when_the_tries_are_used_up_the_partial_reply_stays():
    play = Play()
    for _ in range(4):
        play.fail(failure())
    play.fail(failure(), partial(say("the start of it"), call("ping"), call("write", '{"pa')))
    message = play.history[1]
    assert (message.state, message.text()) == (MessageState.INTERRUPTED, "the start of it")
    assert play.result_texts() == [CUT_REPLY, CUT_REPLY]
    assert play.completed.error
    assert play.completed.text == "the start of it"
    sent = play.next_request()
    assert "the start of it" in [p.text for p in parts_sent(sent) if isinstance(p, Text)]


def test_a_cancel_while_waiting_ends_the_turn():
    play = Play()
    play.fail(failure(), partial(say("half")))
    play.cancel()
    assert play.completed.stop_reason is StopReason.CANCELLED
    assert play.history == [prompt()]


# ---------------------------------------------------------------- reductions


def thoughtful():
    """A stream with a thought, an image in the prompt, and one in a result."""
    play = Play(prompt("look", parts=(Text("look"), Image("aGk=", "image/png"))))
    play.reply(think("hm"), call("ping"))
    (running,) = play.running()
    play.feed(ToolFinished(ToolResult(running.id, (Text("seen"), Image("aGk=", "image/png")))))
    return play


def kinds(request):
    inner = [c for p in parts_sent(request) if isinstance(p, ToolResult) for c in p.content]
    return {type(p) for p in [*parts_sent(request), *inner]}


def test_refused_thinking_is_left_out_once_for_the_rest_of_the_turn():
    play = thoughtful()
    assert Thinking in kinds(play.request())
    assert play.feed(RequestFailed(failure(Failure.BAD_THINKING))) == []
    assert Thinking not in kinds(play.request())
    assert any(isinstance(p, Thinking) for p in play.history[1].parts)
    play.feed(RequestFailed(failure(Failure.BAD_THINKING, "Still bad.")))
    assert (play.completed.error, play.waits) == ("Still bad.", [])


def test_refused_images_become_a_note():
    play = thoughtful()
    play.request()
    play.feed(RequestFailed(failure(Failure.BAD_IMAGE)))
    request = play.request()
    assert Image not in kinds(request)
    assert request.messages[0].parts == (Text("look"), Text(IMAGE_NOTE))
    assert [text_of(p) for p in parts_sent(request) if isinstance(p, ToolResult)] == ["seen" + IMAGE_NOTE]
    play.reply(say("done"))
    assert play.completed.text == "done"


def test_both_reductions_can_be_needed():
    play = thoughtful()
    play.fail(failure(Failure.BAD_IMAGE))
    play.fail(failure(Failure.BAD_THINKING))
    assert kinds(play.request()) & {Image, Thinking} == set()
    play.reply(say("done"))
    assert play.completed.text == "done"


def test_a_reduction_after_partial_output_replaces_it():
    play = Play(prompt("a"), spoken("b", seq=2), prompt("c", seq=3))
    shown = [e.run_id for e in play.fail(failure(Failure.BAD_IMAGE), partial(say("x"))) if isinstance(e, PartGrew)]
    first = next(e for e in play.reply(say("y")) if isinstance(e, PartGrew))
    assert first.supersedes == tuple(shown)


def test_a_whole_reply_follows_a_failed_one_in_one_stream_of_requests():
    play = Play()
    play.fail(failure(), reply(say("almost"))[:-1])
    play.reply(say("done"))
    assert play.requests[0].messages == play.requests[1].messages
