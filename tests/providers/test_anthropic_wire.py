"""What is sent. Each request here also goes through the real SDK to the strict fake, which must accept it."""

import base64
import json
import struct

import pytest
from attrs import evolve

from quillback.core.message import (
    Image,
    Notice,
    RedactedThinking,
    Resource,
    ResourceLink,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
)
from quillback.core.model import Model
from quillback.core.model import Thinking as Level
from quillback.providers.anthropic_wire import body
from support.fake_model import Redacted, Reply, Say, Think, Use
from support.fake_model import rules as api
from support.model_request import LOCAL, OPUS, SONNET, assistant, replies, request, tool, user

pytestmark = pytest.mark.anyio
MARK = {"type": "ephemeral"}
PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(8) + struct.pack(">II", 4, 4) + b"rest").decode()
CALL = ToolUse("call_1", "toolu_1", "read_file", {"path": "a.py"})
HAIKU = Model("claude-haiku-5-5", "anthropic", "Haiku", 1_000_000, 128_000)


def sent(*messages, official=True, **options):
    return body(request(*messages, **options), official=official)


def content(*parts, **options):
    return sent(user(*parts), **options)["messages"][0]["content"]


def marked(sent_body):
    return [b for b in api._markable(sent_body) if "cache_control" in b]


async def test_a_whole_conversation_is_accepted_as_it_is(fake, connect):
    served = [Think("", "c2lnMQ=="), Redacted("aGlkZGVu"), Use("read_file", {"path": "a.py"}, id="toolu_1")]
    fake.script("", Reply(*served), Reply(Say("Done")))
    provider = connect()
    tools = (tool("shell"), tool("read_file"))
    first = request("Fix it", system="You help.", tools=tools, marks=((0, 0),), thinking=Level.HIGH)
    await replies(provider, first)
    step = assistant(Thinking("", "c2lnMQ=="), RedactedThinking("aGlkZGVu"), CALL)
    answer = user(ToolResult("call_1", (Text("1: x"), Image(PNG, "image/png"))), "Go on")
    await replies(provider, evolve(first, messages=(*first.messages, step, answer), marks=((0, 0), (2, 1))))
    assert fake.violations == []
    second = fake.requests[1].body
    assert second["messages"][1]["content"] == [
        {"type": "thinking", "thinking": "", "signature": "c2lnMQ=="},
        {"type": "redacted_thinking", "data": "aGlkZGVu"},
        {"type": "tool_use", "id": "toolu_1", "name": "read_file", "input": {"path": "a.py"}},
    ]
    assert second["messages"][2]["content"][0]["tool_use_id"] == "toolu_1"
    assert len(marked(second)) == 4


async def test_the_same_history_gives_the_same_bytes(fake, connect):
    fake.script("", *[Reply(Say("Hi"))] * 2)
    ask = request("Hello", tools=(tool("b"), tool("a")), system="S", marks=((0, 0),))
    provider = connect()
    await replies(provider, ask)
    await replies(provider, evolve(ask, tools=ask.tools[::-1]))
    assert fake.requests[0].raw == fake.requests[1].raw
    assert [t["name"] for t in fake.requests[0].body["tools"]] == ["a", "b"]


def test_system_and_tools_end_in_a_mark():
    out = sent("Hi", system="You help.", tools=(tool("b"), tool("a")))
    assert out["system"] == [{"type": "text", "text": "You help.", "cache_control": MARK}]
    assert [t.get("cache_control") for t in out["tools"]] == [None, MARK]


def test_what_is_empty_is_left_out():
    out = sent("Hi", system=" \n")
    assert set(out) == {"model", "max_tokens", "messages", "thinking"}
    assert sent("Hi", max_tokens=0)["max_tokens"] == 1


@pytest.mark.parametrize(
    ("options", "count"), [({}, 4), ({"system": "S"}, 4), ({"system": "S", "tools": (tool("a"),)}, 4)]
)
def test_there_are_never_more_than_four_marks_and_the_last_ones_win(options, count):
    turns = [m for n in range(4) for m in (user(f"q{n}"), assistant(f"a{n}"))]
    out = sent(*turns, user("end"), marks=tuple((n, 0) for n in range(9)), **options)
    assert len(marked(out)) == count
    assert "cache_control" in out["messages"][-1]["content"][0]


def test_a_mark_goes_to_the_nearest_block_that_can_carry_it():
    step = assistant("Let me", Thinking("hm", "c2ln"), RedactedThinking("aGk="), "  ")
    out = sent("Hi", step, user(" ", Notice("only for the user")), marks=((1, 3), (2, 0)))
    assert [b["type"] for b in marked(out)] == ["text"]
    assert marked(out)[0]["text"] == "Let me"


def test_a_mark_finds_no_block_in_a_message_of_thoughts():
    assert marked(sent("Hi", assistant(Thinking("hm", "c2ln")), user("x"), marks=((1, 0),))) == []


def test_blank_text_is_not_sent_and_no_message_is_empty():
    assert content("  ", Text("a")) == [{"type": "text", "text": "a"}]
    assert content("\n") == [{"type": "text", "text": "(no content)"}]


def test_images_of_a_prompt():
    assert content(Image(PNG, "image/png")) == [
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}
    ]
    assert "image/tiff is not one" in content(Image(PNG, "image/tiff"))[0]["text"]
    assert "larger than 5 MB" in content(Image("A" * 7_000_000, "image/png"))[0]["text"]
    assert "the model takes none" in content(Image(PNG, "image/png"), model=evolve(SONNET, images=False))[0]["text"]


def test_resources_and_links_of_a_prompt():
    assert content(Resource("file:///a b.py", text="x = 1\n"))[0]["text"] == (
        '<resource uri="file:///a b.py">\nx = 1\n\n</resource>'
    )
    assert content(Resource("file:///a.png", blob=PNG, mime_type="image/png"))[0]["type"] == "image"
    assert content(Resource("file:///a.bin", blob="AAAA", mime_type="application/zip"))[0]["text"] == (
        "(resource file:///a.bin: 3 bytes, application/zip, not shown since it is not text)"
    )
    link = ResourceLink("file:///a.py", "a.py", "text/x-python", title="Module", size=12)
    assert content(link)[0]["text"] == "[a.py](file:///a.py) (Module; text/x-python; 12 bytes)"
    assert content(ResourceLink("file:///b", ""))[0]["text"] == "[file:///b](file:///b)"


@pytest.mark.parametrize(
    ("call", "name", "given"),
    [
        (CALL, "read_file", {"path": "a.py"}),
        (evolve(CALL, input={}, raw='{"path": ', problem="not JSON"), "read_file", {"_invalid": '{"path": '}),
        (evolve(CALL, input={}, raw="x" * 3000, problem="not JSON"), "read_file", {"_invalid": "x" * 2000}),
        (evolve(CALL, name="no such tool", problem="unknown"), "invalid_tool", {"path": "a.py"}),
        (evolve(CALL, name="", input={}, problem="unknown"), "invalid_tool", {}),
        (evolve(CALL, name="n" * 65), "invalid_tool", {"path": "a.py"}),
    ],
)
async def test_calls_are_always_an_object_under_a_valid_name(fake, connect, call, name, given):
    ask = request("Hi", assistant(call), user(ToolResult("call_1", (Text("no"),), is_error=True)))
    fake.script("", Reply(Say("ok")))
    await replies(connect(), ask)
    assert fake.violations == []
    use = fake.requests[0].body["messages"][1]["content"][0]
    assert (use["name"], use["input"], use["id"]) == (name, given, "toolu_1")


def test_results_are_never_empty_and_say_when_they_are_errors():
    out = sent("Hi", assistant(CALL), user(ToolResult("call_1", (Text(" "),), is_error=True)))
    assert out["messages"][2]["content"][0] == {
        "type": "tool_result",
        "tool_use_id": "toolu_1",
        "content": [{"type": "text", "text": "(no output)"}],
        "is_error": True,
    }


async def test_half_characters_are_replaced_wherever_they_are(fake, connect):
    call = evolve(CALL, input={"path": "a\ud800", "list": ["\udc00"]})
    ask = request("b\ud800", assistant(call), user(ToolResult("call_1", (Text("c\udc00"),))), system="s\ud83d")
    fake.script("", Reply(Say("ok")))
    await replies(connect(), ask)
    assert fake.violations == []
    assert fake.requests[0].body["messages"][1]["content"][0]["input"] == {"path": "a\ufffd", "list": ["\ufffd"]}


async def test_schemas_of_other_servers_are_made_acceptable(fake, connect):
    odd = {
        "anyOf": [{"properties": {"a": {"type": "string"}}, "required": ["a"]}, {"properties": {"b": {}}}],
        "properties": {"b": {"type": "integer"}},
    }
    fake.script("", Reply(Say("ok")))
    await replies(connect(), request("Hi", tools=(tool("odd", odd), tool("bare", {}, description=" "))))
    assert fake.violations == []
    bare, fixed = fake.requests[0].body["tools"]
    assert bare == {"name": "bare", "input_schema": {"type": "object"}}
    assert fixed["input_schema"] == {
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"type": "integer"}},
    }


ADAPTIVE = {"type": "adaptive", "display": "summarized"}


@pytest.mark.parametrize(
    ("model", "level", "official", "thinking", "effort"),
    [
        (SONNET, Level.HIGH, True, ADAPTIVE, "high"),
        (SONNET, Level.LOW, True, ADAPTIVE, "low"),
        (SONNET, Level.OFF, True, {"type": "between_tools"}, None),
        (HAIKU, Level.OFF, True, {"type": "disabled"}, None),
        (OPUS, Level.OFF, True, ADAPTIVE, "low"),
        (evolve(LOCAL, thinking=False), Level.OFF, True, None, None),
        (evolve(SONNET, thinking=False), Level.HIGH, True, None, None),
        (SONNET, Level.OFF, False, None, None),
        (OPUS, Level.OFF, False, None, None),
        (SONNET, Level.MEDIUM, False, ADAPTIVE, "medium"),
        (LOCAL, Level.HIGH, False, {"type": "enabled", "budget_tokens": 8000}, None),
        (LOCAL, Level.LOW, False, {"type": "enabled", "budget_tokens": 2048}, None),
        (evolve(LOCAL, thinking=False), Level.LOW, False, None, None),
    ],
)
def test_thinking_is_asked_for_in_the_words_of_model_and_host(model, level, official, thinking, effort):
    out = sent("Hi", model=model, thinking=level, official=official)
    assert out.get("thinking") == thinking
    assert out.get("output_config") == ({"effort": effort} if effort else None)
    assert api.check(json.loads(json.dumps(out)), api.Issued()) == []


def test_thinking_leaves_room_for_the_answer():
    assert "thinking" not in sent("Hi", model=LOCAL, thinking=Level.HIGH, official=False, max_tokens=1500)
