import time

import pytest
from attrs import evolve

from quillback.core.assemble import CUT
from quillback.core.calls import error_result
from quillback.core.facts import last_plan
from quillback.core.message import (
    FileSeen,
    Message,
    MessageState,
    PlanEntry,
    Role,
    Text,
    ToolResult,
    ToolUse,
    Usage,
)
from quillback.core.repair import INTERRUPTED
from quillback.session.history import context_used, known_files, recovered
from support.replies import Ids

USE = ToolUse("c1", "t1", "read", {"path": "a"})
OTHER = ToolUse("c2", "t2", "read")


def message(seq: int, role: Role, *parts, **changes) -> Message:
    return Message(f"m{seq}", "s1", seq, role, parts, 0, **changes)


def result(call_id: str, **more) -> Message:
    return message(9, Role.TOOL, ToolResult(call_id, (Text("x"),), **more))


def test_a_sound_stream_stays_as_it_is():
    stream = [message(1, Role.USER, Text("a")), message(2, Role.ASSISTANT, USE), evolve(result("c1"), seq=3)]
    assert recovered(stream, Ids(), lambda: 5) == (stream, [])
    assert recovered([], Ids(), lambda: 5) == ([], [])


def test_open_calls_are_answered_at_the_end_and_prompts_that_waited_are_marked():
    stream = [
        message(1, Role.USER, Text("a")),
        message(2, Role.ASSISTANT, USE, OTHER, state=MessageState.INTERRUPTED),
        evolve(result("c2"), seq=3),
        message(0, Role.USER, Text("b"), state=MessageState.QUEUED),
    ]
    history, changed = recovered(stream, Ids(), lambda: 5)
    assert history[:3] == stream[:3]
    assert history[3:] == changed
    answer, prompt = changed
    assert answer.parts == (error_result(USE, INTERRUPTED),)
    assert (answer.role, answer.seq, answer.created_at, answer.session_id) == (Role.TOOL, 4, 5, "s1")
    assert (prompt.seq, prompt.state, prompt.visible_to_model) == (5, MessageState.NOT_RUN, False)
    assert recovered(history, Ids(), lambda: 6) == (history, [])


@pytest.mark.parametrize(
    ("call", "marked"),
    [
        (ToolUse("c1", "t", "read", raw='{"pa'), True),
        (ToolUse("c1", "t", "read", {"path": "a"}), False),
        (ToolUse("c1", "t", "read", raw='{"pa', problem="broken"), False),
        (ToolUse("c1", "t", "read"), False),
    ],
)
def test_a_call_that_was_cut_off_is_marked(call, marked):
    stream = [
        message(1, Role.USER, Text("a")),
        message(2, Role.ASSISTANT, Text("x"), call),
        evolve(result("c1"), seq=3),
    ]
    history, changed = recovered(stream, Ids(), lambda: 5)
    (found,) = history[1].tool_uses()
    assert found == (evolve(call, problem=CUT) if marked else call)
    assert changed == ([history[1]] if marked else [])


def test_the_newest_digest_of_each_file_counts():
    stream = [
        result("c1", seen=(FileSeen("/a", "1"), FileSeen("/b", "1"))),
        result("c2", seen=(FileSeen("/a", "2"),)),
    ]
    assert known_files(stream) == {"/a": "2", "/b": "1"}


def test_the_last_plan_counts_even_when_it_is_empty():
    assert last_plan([]) is None
    assert last_plan([result("c1", plan=(PlanEntry("x"),)), result("c2")]) == (PlanEntry("x"),)
    assert last_plan([result("c1", plan=(PlanEntry("x"),)), result("c2", plan=())]) == ()


def test_the_last_reply_says_how_full_the_window_is():
    stream = [
        message(1, Role.ASSISTANT, usage=Usage(1, 2)),
        message(2, Role.ASSISTANT, usage=Usage(3, 140, 170_000, 99)),
        message(3, Role.USER),
    ]
    assert context_used(stream) == 170_242
    assert context_used([]) == 0


def test_a_long_stream_is_not_compared_with_itself():
    stream = [message(n, Role.USER if n % 2 else Role.ASSISTANT, Text(f"text {n}")) for n in range(1, 20_001)]
    begun = time.monotonic()
    assert recovered(stream, Ids(), lambda: 5)[1] == []
    assert time.monotonic() - begun < 2
