import pytest
from attrs import evolve
from hypothesis import example, given
from hypothesis import strategies as st

from quillback.core.message import (
    Image,
    Message,
    MessageState,
    Notice,
    Part,
    RedactedThinking,
    Role,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
)
from quillback.core.model import RequestMessage
from quillback.core.repair import INTERRUPTED, NO_OUTPUT, PLACEHOLDER, repair, unanswered, visible
from support.strict import faults, is_subsequence, user_texts
from support.turn_kit import text_of


def user(*parts: Part | str) -> RequestMessage:
    return RequestMessage("user", tuple(Text(p) if isinstance(p, str) else p for p in parts))


def assistant(*parts: Part | str) -> RequestMessage:
    return RequestMessage("assistant", tuple(Text(p) if isinstance(p, str) else p for p in parts))


def use(call_id: str, provider_id: str = "") -> ToolUse:
    return ToolUse(call_id, provider_id or f"p_{call_id}", "read")


def result(call_id: str, text: str = "out") -> ToolResult:
    return ToolResult(call_id, (Text(text),))


def missing(call_id: str) -> ToolResult:
    return ToolResult(call_id, (Text(INTERRUPTED),), is_error=True)


A_THOUGHT = Thinking("hm", "sig")
FINE = [user("hi"), assistant(A_THOUGHT, "ok", use("c1")), user(result("c1"), "go on")]


def test_what_is_right_stays_as_it_is():
    assert repair(FINE) == evolve(repair(FINE), messages=tuple(FINE), done=())


CASES = {
    "nothing": ([], [user(PLACEHOLDER)]),
    "one role twice": ([user("a"), user("b")], [user("a", "b")]),
    "blank text": ([user("a", " ", "")], [user("a")]),
    "a blank message": ([user("a"), assistant("\n"), user("b")], [user("a", "b")]),
    "a leading assistant": ([assistant("a"), user("b")], [user(PLACEHOLDER), assistant("a"), user("b")]),
    "a leading assistant with calls": (
        [assistant(use("c1")), user(result("c1"))],
        [user(PLACEHOLDER), assistant(use("c1")), user(result("c1"))],
    ),
    "a last assistant": ([user("a"), assistant("b")], [user("a"), assistant("b"), user(PLACEHOLDER)]),
    "no result": ([user("a"), assistant(use("c1"))], [user("a"), assistant(use("c1")), user(missing("c1"))]),
    "no result before a prompt": (
        [user("a"), assistant(use("c1")), user("b")],
        [user("a"), assistant(use("c1")), user(missing("c1"), "b")],
    ),
    "one result of two": (
        [user("a"), assistant(use("c1"), use("c2")), user(result("c2"))],
        [user("a"), assistant(use("c1"), use("c2")), user(missing("c1"), result("c2"))],
    ),
    "results out of order and behind text": (
        [user("a"), assistant(use("c1"), use("c2")), user("b", result("c2"), result("c1"))],
        [user("a"), assistant(use("c1"), use("c2")), user(result("c1"), result("c2"), "b")],
    ),
    "a result that comes late": (
        [user("a"), assistant(use("c1")), user("b"), assistant("c"), user(result("c1"))],
        [user("a"), assistant(use("c1")), user(result("c1"), "b"), assistant("c"), user(PLACEHOLDER)],
    ),
    "an orphan": ([user("a", result("c9"))], [user("a")]),
    "an orphan alone between replies": (
        [user("a"), assistant("b"), user(result("c9")), assistant("c"), user("d")],
        [user("a"), assistant("b", "c"), user("d")],
    ),
    "a result before its call": (
        [user("a", result("c1")), assistant(use("c1")), user("b")],
        [user("a"), assistant(use("c1")), user(missing("c1"), "b")],
    ),
    "two results of one call": (
        [user("a"), assistant(use("c1")), user(result("c1", "1"), result("c1", "2"))],
        [user("a"), assistant(use("c1")), user(result("c1", "1"))],
    ),
    "a call in a user's message": ([user("a", use("c1"))], [user("a")]),
    "a result in a reply": (
        [user("a"), assistant("b", result("c1")), user("c")],
        [user("a"), assistant("b"), user("c")],
    ),
    "unsigned thinking": (
        [user("a"), assistant(Thinking("hm"), "b"), user("c")],
        [user("a"), assistant("b"), user("c")],
    ),
    "thoughts alone": ([user("a"), assistant(A_THOUGHT), user("b")], [user("a", "b")]),
    "a last thought": (
        [user("a"), assistant("b", A_THOUGHT, RedactedThinking("x")), user("c")],
        [user("a"), assistant("b"), user("c")],
    ),
    "a thought behind a call": (
        [user("a"), assistant(use("c1"), A_THOUGHT), user(result("c1"))],
        [user("a"), assistant(use("c1"), A_THOUGHT), user(result("c1"))],
    ),
    "a provider id that comes again": (
        [user("a"), assistant(use("c1", "t")), user(result("c1")), assistant(use("c2", "t")), user(result("c2"))],
        [user("a"), assistant(use("c1", "t")), user(result("c1")), assistant(use("c2", "c2")), user(result("c2"))],
    ),
    "an id the service would refuse": (
        [user("a"), assistant(use("c:1", "t 1")), user(result("c:1"))],
        [user("a"), assistant(use("c:1", "c_1")), user(result("c:1"))],
    ),
    "an id that ends in a line end": (
        [user("a"), assistant(use("c1", "t\n")), user(result("c1"))],
        [user("a"), assistant(use("c1", "c1")), user(result("c1"))],
    ),
    "one call twice": (
        [user("a"), assistant(use("c1"), use("c1")), user(result("c1"))],
        [user("a"), assistant(use("c1")), user(result("c1"))],
    ),
    "a result of blank text": (
        [user("a"), assistant(use("c1")), user(ToolResult("c1", (Text(" "), Text(""))))],
        [user("a"), assistant(use("c1")), user(result("c1", NO_OUTPUT))],
    ),
    "a result of nothing": (
        [user("a"), assistant(use("c1")), user(ToolResult("c1", ()))],
        [user("a"), assistant(use("c1")), user(result("c1", NO_OUTPUT))],
    ),
}


@pytest.mark.parametrize(("given", "expected"), CASES.values(), ids=CASES)
def test_each_fault_is_repaired(given, expected):
    repaired = repair(given)
    assert list(repaired.messages) == expected
    assert bool(repaired.done) is (given != expected)
    assert faults(repaired.messages) == []


def test_a_paused_reply_may_be_the_last_and_no_other():
    given = [user("a"), assistant("b")]
    assert list(repair(given, continuing=True).messages) == given
    assert repair([user("a"), assistant(use("c1"))], continuing=True).messages[-1].role == "user"


# ---------------------------------------------------------------- what the model may see


def message(role: Role, *parts: Part, **changes) -> Message:
    return evolve(Message("m", "s", 1, role, parts, 0, model="m1"), **changes)


def test_only_what_the_model_may_see_is_sent():
    stream = [
        message(Role.USER, Text("a"), Notice("a remark")),
        message(Role.USER, Text("queued"), state=MessageState.QUEUED),
        message(Role.USER, Text("dropped"), state=MessageState.NOT_RUN),
        message(Role.ASSISTANT, Text("hidden"), visible_to_model=False),
        message(Role.ASSISTANT, Text("cut"), state=MessageState.INTERRUPTED),
        message(Role.TOOL, result("c1")),
    ]
    assert visible(stream, "m1") == [user("a"), assistant("cut"), user(result("c1"))]


def test_thinking_of_another_model_or_all_of_it_is_left_out_and_the_stream_keeps_it():
    stream = [message(Role.ASSISTANT, A_THOUGHT, RedactedThinking("x"), Text("a"))]
    assert visible(stream, "m1") == [assistant(A_THOUGHT, RedactedThinking("x"), "a")]
    assert visible(stream, "m2") == [assistant("a")]
    assert visible(stream, "m1", thinking=False) == [assistant("a")]
    assert stream[0].parts[0] == A_THOUGHT


def test_unanswered_calls_are_found_in_order():
    stream = [
        message(Role.ASSISTANT, use("c1"), use("c2")),
        message(Role.TOOL, result("c1")),
        message(Role.ASSISTANT, use("c3"), visible_to_model=False),
    ]
    assert [c.id for c in unanswered(stream)] == ["c2", "c3"]


# ---------------------------------------------------------------- properties

TEXTS = st.sampled_from(["", " ", "\n\t", "a", "b", "long text", "\ufeff", "\u200b"])
CALL_IDS = st.sampled_from(["c1", "c2", "c3", "c 4"])
PROVIDER_IDS = st.sampled_from(["t1", "t2", "c1", "c2", "c_4", "c_4_2", "", "bad id", "t1\n"])
USER_PARTS = st.one_of(st.builds(Text, TEXTS), st.just(Image("aGk=", "image/png")))
RESULTS = st.builds(
    lambda call_id, texts, is_error: ToolResult(call_id, tuple(map(Text, texts)), is_error),
    CALL_IDS,
    st.lists(TEXTS, max_size=2),
    st.booleans(),
)
USES = st.builds(lambda ours, theirs: ToolUse(ours, theirs, "read"), CALL_IDS, PROVIDER_IDS)
REPLY_PARTS = st.one_of(
    st.builds(Text, TEXTS),
    st.builds(lambda text, signature: Thinking(text, signature), TEXTS, st.sampled_from(["", "s1"])),
    st.just(RedactedThinking("x")),
    USES,
)
MISPLACED = st.one_of(RESULTS, USES)
MESSAGES = st.one_of(
    st.builds(RequestMessage, st.just("user"), st.lists(USER_PARTS | RESULTS | MISPLACED, max_size=4).map(tuple)),
    st.builds(RequestMessage, st.just("assistant"), st.lists(REPLY_PARTS | MISPLACED, max_size=5).map(tuple)),
)


@given(st.lists(MESSAGES, max_size=8), st.booleans())
@example([assistant(A_THOUGHT, use("c1")), assistant(A_THOUGHT, use("c1"))], False)
def test_any_stream_becomes_a_valid_request(stream, continuing):
    repaired = repair(stream, continuing=continuing)
    assert faults(repaired.messages, continuing=continuing) == []


@given(st.lists(MESSAGES, max_size=8), st.booleans())
def test_a_second_repair_finds_nothing_to_do(stream, continuing):
    once = repair(stream, continuing=continuing)
    again = repair(once.messages, continuing=continuing)
    assert again.messages == once.messages
    assert again.done == ()


@given(st.lists(MESSAGES, max_size=8), st.booleans())
def test_what_was_done_is_said_exactly_where_something_was_done(stream, continuing):
    repaired = repair(stream, continuing=continuing)
    assert (repaired.done == ()) is (list(repaired.messages) == stream)


@given(st.lists(MESSAGES, max_size=8))
def test_no_text_of_anybody_is_ever_lost(stream):
    repaired = repair(stream).messages
    assert is_subsequence([t for t in user_texts(stream) if t.strip()], user_texts(repaired))
    said = [p.text for m in stream if m.role == "assistant" for p in m.parts if isinstance(p, Text) and p.text.strip()]
    kept = [p.text for m in repaired if m.role == "assistant" for p in m.parts if isinstance(p, Text)]
    assert kept == said


@given(st.lists(MESSAGES, max_size=8))
def test_the_first_result_of_each_call_is_kept_and_no_other(stream):
    repaired = repair(stream).messages
    called: set[str] = set()
    first: dict[str, str] = {}
    for message_ in stream:
        for part in message_.parts:
            if isinstance(part, ToolUse) and message_.role == "assistant":
                called.add(part.id)
            if isinstance(part, ToolResult) and message_.role == "user" and part.call_id in called:
                first.setdefault(part.call_id, text_of(part).strip() or NO_OUTPUT)
    sent = {p.call_id: text_of(p).strip() for m in repaired for p in m.parts if isinstance(p, ToolResult)}
    assert sent == {c: first.get(c, INTERRUPTED) for c in called}
