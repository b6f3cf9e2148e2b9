"""A model without tool calls writes them as text: they become calls, whatever the pieces they come in."""

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quillback.core.assemble import Assembler
from quillback.core.message import Text, Thinking, ToolResult, ToolUse
from quillback.core.model import (
    BlockStopped,
    InputDelta,
    ModelRequest,
    ProviderEvent,
    RequestMessage,
    StreamStopped,
    StreamStopping,
    TextDelta,
    TextStarted,
    ThinkingDelta,
    ThinkingStarted,
    ToolUseStarted,
)
from quillback.providers.text_calls import CLOSE, OPEN, Rewriter
from quillback.providers.text_tools import TextTools, as_text, call_text
from support.replies import MODEL, TOOLS, Ids

pytestmark = pytest.mark.anyio
CALL = call_text("read", {"path": "a"})
SPECS = {t.name: t for t in TOOLS}


def rewritten(text: str, *cuts: int, stop: str = "end_turn") -> list[ProviderEvent]:
    """The events of a reply of this text, which comes in pieces that end at `cuts`."""
    edges = sorted({0, len(text), *(c % (len(text) + 1) for c in cuts)})
    pieces = [text[a:b] for a, b in pairwise(edges)]
    events: list[ProviderEvent] = [TextStarted(0), *(TextDelta(0, p) for p in pieces), BlockStopped(0)]
    rewriter = Rewriter()
    return [new for e in [*events, StreamStopping(stop), StreamStopped()] for new in rewriter.feed(e)]


def assembled(events: list[ProviderEvent]) -> tuple:
    """The parts that the core makes of them, with raw input and without ids."""
    assembler = Assembler("m", Ids(), SPECS, ())
    assembler.feed(events)
    assembler.finish(cut=False)
    return tuple(assembler.parts)


def brief(parts: tuple) -> list[object]:
    return [p.text if isinstance(p, Text) else (p.name, dict(p.input), bool(p.problem)) for p in parts]


def stop_of(events: list[ProviderEvent]) -> str:
    return next(e.stop_reason for e in events if isinstance(e, StreamStopping))


@given(st.lists(st.integers(0, 400), max_size=12))
def test_however_it_is_cut_the_same_comes_out(cuts):
    text = f"I will look.\n{CALL}\n{call_text('ping', {})}"
    parts = assembled(rewritten(text, *cuts))
    assert brief(parts) == ["I will look.\n", ("read", {"path": "a"}, False), ("ping", {}, False)]


@given(st.text(alphabet="<>/tolrescaund_ \n{}\"'ab", max_size=200), st.lists(st.integers(0, 200), max_size=8))
def test_text_without_a_mark_is_left_alone(text, cuts):
    if any(mark in text for mark in (OPEN, "<tool_result>", "<tool_result ")) or not text.strip():
        return
    assert "".join(p.text for p in assembled(rewritten(text, *cuts)) if isinstance(p, Text)).strip() == text.strip()


def test_the_turn_goes_on_after_a_call():
    assert stop_of(rewritten(CALL)) == "tool_use"
    assert stop_of(rewritten("just text")) == "end_turn"
    assert stop_of(rewritten(CALL, stop="max_tokens")) == "max_tokens"


@pytest.mark.parametrize(
    "written",
    [
        '```json\n{"name": "read", "arguments": {"path": "a"}}\n```',
        '{"name": "read", "parameters": {"path": "a"}}',
        '{"name": "read", "arguments": "{\\"path\\": \\"a\\"}"}',
        '  {"arguments": {"path": "a"}, "name": "read"}  ',
    ],
)
def test_what_models_make_of_it_is_understood(written):
    assert brief(assembled(rewritten(f"{OPEN}{written}{CLOSE}"))) == [("read", {"path": "a"}, False)]


@pytest.mark.parametrize("written", ["read a", '{"name": 5}', "[1]", '{"name": "read", "arguments": {"path": ', ""])
def test_what_is_no_call_is_a_call_with_a_problem(written):
    (part,) = assembled(rewritten(f"{OPEN}{written}{CLOSE}"))
    assert isinstance(part, ToolUse)
    assert part.problem


def test_a_call_without_its_end_is_a_call():
    text = CALL.removesuffix(CLOSE)
    assert brief(assembled(rewritten(text))) == [("read", {"path": "a"}, False)]


def test_a_result_that_the_model_made_up_is_dropped_with_all_behind_it():
    text = f'{CALL}\n<tool_result name="read">\nlies\n</tool_result>\nSo it says lies. {CALL}'
    assert brief(assembled(rewritten(text))) == [("read", {"path": "a"}, False)]


def test_thoughts_keep_their_place():
    rewriter = Rewriter()
    events = [ThinkingStarted(0), ThinkingDelta(0, "hm"), BlockStopped(0), TextStarted(1, CALL), BlockStopped(1)]
    out = [new for e in [*events, StreamStopping("end_turn")] for new in rewriter.feed(e)]
    assert [type(e) for e in out[:3]] == [ThinkingStarted, ThinkingDelta, BlockStopped]
    assert [e.index for e in out if isinstance(e, ToolUseStarted | InputDelta)] == [1, 1]


# ---------------------------------------------------------------- requests


def request() -> ModelRequest:
    messages = (
        RequestMessage("user", (Text("look"),)),
        RequestMessage("assistant", (Text("ok"), ToolUse("c1", "t1", "read", {"path": "a"}, raw='{"path": "a"}'))),
        RequestMessage("user", (ToolResult("c1", (Text("no such file"),), is_error=True), Text("go on"))),
    )
    return ModelRequest(MODEL, "SYSTEM", messages, TOOLS, marks=((1, 1), (2, 1)))


def test_a_request_has_no_tool_in_it_and_says_how_to_call_one():
    sent = as_text(request())
    assert sent.tools == ()
    assert sent.system.startswith("SYSTEM")
    for tool in TOOLS:
        assert f"## {tool.name}\n" in sent.system
    parts = [p for m in sent.messages for p in m.parts]
    assert all(isinstance(p, Text) for p in parts)
    assert [len(m.parts) for m in sent.messages] == [1, 2, 2]
    assert json.loads(parts[2].text.removeprefix(OPEN).removesuffix(CLOSE)) == {
        "name": "read",
        "arguments": {"path": "a"},
    }
    assert parts[3].text == '<tool_result name="read" status="error">\nno such file\n</tool_result>'
    assert sent.marks == request().marks


class Inner:
    """A model that answers with a text, and closes."""

    def __init__(self) -> None:
        self.asked: list[ModelRequest] = []
        self.closed = False

    async def stream(self, request: ModelRequest):
        self.asked.append(request)
        for event in [TextStarted(0, CALL), BlockStopped(0), StreamStopping("end_turn"), StreamStopped()]:
            yield event

    async def close(self) -> None:
        self.closed = True


async def test_a_side_request_without_tools_is_left_alone():
    inner = Inner()
    provider = TextTools(inner)
    plain = ModelRequest(MODEL, "SYSTEM", (RequestMessage("user", (Text("x"),)),))
    events = [e async for e in provider.stream(plain)]
    assert inner.asked[0].system == "SYSTEM"
    assert events[0] == TextStarted(0, CALL)
    events = [e async for e in provider.stream(request())]
    assert isinstance(events[0], ToolUseStarted)
    await provider.close()
    assert inner.closed


def test_thinking_is_no_part_of_the_text():
    assert as_text(ModelRequest(MODEL, "", (RequestMessage("assistant", (Thinking("hm", "s"),)),))).messages[
        0
    ].parts == (Thinking("hm", "s"),)
