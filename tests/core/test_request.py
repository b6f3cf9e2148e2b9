from itertools import pairwise

import pytest
from attrs import evolve

from quillback.core.message import (
    Image,
    Message,
    RedactedThinking,
    Resource,
    ResourceLink,
    Role,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
)
from quillback.core.model import Failure, ModelRequest, RequestMessage
from quillback.core.model import Thinking as ThinkingLevel
from quillback.core.request import IMAGE_NOTE, Reductions, build_request, cache_marks, part_bytes, reduction
from quillback.core.request import request_bytes as size_of
from support.replies import MODEL, PING, READ, spec
from support.strict import continues, faults, wrong_marks

PICTURE = Image("aGk=", "image/png")


def message(seq: int, role: Role, *parts) -> Message:
    return Message(f"m{seq}", "s1", seq, role, parts, 0, model=MODEL.id)


def build(*history: Message, **options) -> ModelRequest:
    plain = {"session_id": "s1", "model": MODEL, "system": "sys", "tools": (READ, PING)}
    return build_request(history, **{**plain, "thinking": ThinkingLevel.OFF, "max_tokens": 64_000, **options})


def conversation(turns: int) -> list[Message]:
    """Turns of a prompt, a reply with two calls, their results and an answer."""
    out: list[Message] = []
    for n in range(turns):
        calls = [ToolUse(f"c{n}{i}", f"t{n}{i}", "read", {"path": str(i)}) for i in range(2)]
        seq = len(out)
        out += [
            message(seq + 1, Role.USER, Text(f"prompt {n}"), *([PICTURE] if n % 3 == 0 else [])),
            message(seq + 2, Role.ASSISTANT, Thinking("hm", f"sig {n}"), Text(f"look {n}"), *calls),
            message(seq + 3, Role.TOOL, ToolResult(calls[1].id, (Text("b"), PICTURE))),
            message(seq + 4, Role.TOOL, ToolResult(calls[0].id, (Text("a"),))),
            message(seq + 5, Role.ASSISTANT, Thinking("hm", "s"), Text(f"answer {n}")),
        ]
    return out


def test_a_request_carries_what_it_was_given():
    request = build(message(1, Role.USER, Text("hi")), thinking=ThinkingLevel.HIGH)
    assert request.messages == (RequestMessage("user", (Text("hi"),)),)
    assert (request.system, request.session_id, request.side) == ("sys", "s1", False)
    assert request.thinking is ThinkingLevel.HIGH
    assert request.max_tokens == MODEL.max_output
    assert build(message(1, Role.USER, Text("hi")), max_tokens=5).max_tokens == 5


def test_tools_are_sorted_so_that_their_order_at_the_start_does_not_matter():
    tools = [spec("b"), spec("a"), spec("c")]
    one, two = build(tools=tools), build(tools=tools[::-1])
    assert [t.name for t in one.tools] == [t.name for t in two.tools] == ["a", "b", "c"]


def test_the_prefix_stays_the_same_from_request_to_request():
    history = conversation(20)
    ends = [n for n in range(1, len(history) + 1) if n % 5 in (1, 4)]  # after a prompt, after the results
    requests = [build(*history[:n]) for n in ends]
    for before, after in pairwise(requests):
        assert continues(before, after)
        assert faults(after.messages) == wrong_marks(after) == []


def test_marks_are_on_the_last_two_messages():
    request = build(*conversation(2), message(11, Role.USER, Text("a"), Text("b")))
    assert request.marks == ((7, 1), (8, 1))
    assert build(message(1, Role.USER, Text("hi"))).marks == ((0, 0),)


@pytest.mark.parametrize(
    ("parts", "marked"),
    [
        ((Text("a"), Thinking("hm", "s"), RedactedThinking("x")), 0),
        ((Text("a"), Text(" ")), 0),
        ((Thinking("hm", "s"), ToolUse("c", "t", "read"), Thinking("hm", "s")), 1),
        ((Thinking("hm", "s"),), None),
        ((), None),
    ],
)
def test_no_mark_is_on_a_thought_or_on_blank_text(parts, marked):
    marks = cache_marks([RequestMessage("assistant", parts)])
    assert marks == (() if marked is None else ((0, marked),))


# ---------------------------------------------------------------- reductions


def test_images_are_replaced_wherever_they_are():
    history = [
        message(1, Role.USER, PICTURE, Resource("file:///a.png", blob="aGk="), Resource("file:///a", text="t")),
        message(2, Role.ASSISTANT, ToolUse("c", "t", "read")),
        message(3, Role.TOOL, ToolResult("c", (Text("seen"), PICTURE), is_error=True)),
    ]
    request = build(*history, reductions=Reductions(images=True))
    assert request.messages[0].parts == (
        Text(IMAGE_NOTE),
        Text(f"file:///a.png: {IMAGE_NOTE}"),
        Resource("file:///a", text="t"),
    )
    (result,) = request.messages[2].parts
    assert (result.content, result.is_error) == ((Text("seen"), Text(IMAGE_NOTE)), True)
    assert history[0].parts[0] is PICTURE


def test_a_model_without_images_gets_none():
    request = build(message(1, Role.USER, Text("look"), PICTURE), model=evolve(MODEL, images=False))
    assert request.messages[0].parts == (Text("look"), Text(IMAGE_NOTE))


def test_thinking_can_be_left_out():
    request = build(*conversation(1), reductions=Reductions(thinking=True))
    assert not any(isinstance(p, Thinking) for m in request.messages for p in m.parts)


def test_each_reduction_is_made_once():
    once = reduction(Failure.BAD_THINKING, Reductions())
    assert once == Reductions(thinking=True)
    assert reduction(Failure.BAD_THINKING, once) is None
    assert reduction(Failure.BAD_IMAGE, once) == Reductions(thinking=True, images=True)
    assert all(
        reduction(f, Reductions()) is None for f in Failure if f not in (Failure.BAD_IMAGE, Failure.BAD_THINKING)
    )


# ---------------------------------------------------------------- sizes


@pytest.mark.parametrize(
    ("part", "least", "most"),
    [
        (Text("é" * 10), 20, 20),
        (Thinking("abc", "signature"), 3, 3),
        (ToolResult("c", (Text("abcd"), Text("é"))), 6, 6),
        (PICTURE, 6000, 6000),
        (ToolUse("c", "t", "read", {"path": "x" * 100}), 104, 130),
        (ToolUse("c", "t", "read", raw="x" * 50), 54, 54),
        (ResourceLink("file:///x", "x"), 9, 300),
        (Text("\ud83d"), 3, 3),
    ],
)
def test_the_size_of_a_part_is_roughly_its_bytes(part, least, most):
    assert least <= part_bytes(part) <= most


def test_the_size_of_a_request_is_that_of_its_parts_its_tools_and_its_system_prompt():
    bare = build(message(1, Role.USER, Text("a" * 100)), tools=(), system="")
    assert size_of(bare) == 100
    assert size_of(evolve(bare, system="é" * 10)) == 120
    assert size_of(evolve(bare, tools=(READ,))) > 100 + len(READ.description)
