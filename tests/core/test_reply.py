import pytest

from quillback.core.event import StopReason
from quillback.core.message import Message, RedactedThinking, Role, Text, Thinking, ToolUse
from quillback.core.reply import KNOWN, Decision, Next, decide, shows_something

CALL = ToolUse("c", "t", "read")
CUT_CALL = ToolUse("c", "t", "read", problem="cut")
TEXT = Text("hello")
THOUGHT = Thinking("hm", "sig")


def made(stop: str, *parts, empty=0, max_tokens=0, pauses=0) -> Decision:
    message = Message("m", "s", 1, Role.ASSISTANT, parts, 0, finish_reason=stop)
    return decide(message, empty, max_tokens, pauses)


@pytest.mark.parametrize(
    ("stop", "parts", "then", "reason", "keep"),
    [
        ("end_turn", (TEXT,), Next.END, StopReason.END_TURN, True),
        ("stop_sequence", (TEXT,), Next.END, StopReason.END_TURN, True),
        ("new_reason", (TEXT,), Next.END, StopReason.END_TURN, True),
        ("tool_use", (CALL,), Next.RUN, StopReason.END_TURN, True),
        ("end_turn", (TEXT, CALL), Next.RUN, StopReason.END_TURN, True),
        ("pause_turn", (CALL,), Next.RUN, StopReason.END_TURN, True),
        ("tool_use", (TEXT,), Next.EMPTY, StopReason.END_TURN, False),
        ("end_turn", (), Next.EMPTY, StopReason.END_TURN, False),
        ("end_turn", (THOUGHT,), Next.EMPTY, StopReason.END_TURN, False),
        ("pause_turn", (TEXT,), Next.GO_ON, StopReason.END_TURN, True),
        ("pause_turn", (THOUGHT,), Next.EMPTY, StopReason.END_TURN, False),
        ("max_tokens", (TEXT,), Next.END, StopReason.MAX_TOKENS, True),
        ("max_tokens", (CALL,), Next.RUN, StopReason.END_TURN, True),
        ("max_tokens", (CUT_CALL,), Next.RUN, StopReason.END_TURN, True),
        ("max_tokens", (), Next.END, StopReason.MAX_TOKENS, False),
        ("max_tokens", (THOUGHT,), Next.END, StopReason.MAX_TOKENS, True),
        ("refusal", (TEXT, CALL), Next.REFUSED, StopReason.REFUSAL, True),
        ("refusal", (), Next.REFUSED, StopReason.REFUSAL, False),
        ("model_context_window_exceeded", (TEXT,), Next.OVERFLOW, StopReason.MAX_TOKENS, True),
        ("model_context_window_exceeded", (), Next.OVERFLOW, StopReason.MAX_TOKENS, False),
    ],
)
def test_what_follows_from_a_reply(stop, parts, then, reason, keep):
    decision = made(stop, *parts)
    assert (decision.next, decision.keep) == (then, keep)
    if then in (Next.END, Next.REFUSED):
        assert decision.stop_reason is reason


@pytest.mark.parametrize(
    ("stop", "parts", "counts", "then"),
    [
        ("max_tokens", (CALL,), {"max_tokens": 1}, Next.RUN),
        ("max_tokens", (CALL,), {"max_tokens": 2}, Next.END),
        ("pause_turn", (TEXT,), {"pauses": 4}, Next.GO_ON),
        ("pause_turn", (TEXT,), {"pauses": 5}, Next.END),
        ("end_turn", (), {"empty": 2}, Next.EMPTY),
        ("end_turn", (), {"empty": 3}, Next.END),
        ("tool_use", (TEXT,), {"empty": 3}, Next.END),
    ],
)
def test_each_way_to_go_on_is_bounded(stop, parts, counts, then):
    decision = made(stop, *parts, **counts)
    assert decision.next is then
    assert bool(decision.say) is (then is Next.END)


def test_what_is_seen_of_a_reply():
    assert not shows_something(())
    assert not shows_something((Text(" \n"), Thinking("", "sig"), RedactedThinking("x")))
    assert shows_something((CALL,))
    assert shows_something((Text("x"),))
    assert shows_something((Thinking("x"),))


def test_every_known_reason_is_read_and_no_other():
    assert {"end_turn", "stop_sequence", "tool_use", "max_tokens", "pause_turn", "refusal"} < KNOWN
    assert "new_reason" not in KNOWN
