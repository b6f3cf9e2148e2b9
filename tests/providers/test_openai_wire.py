"""What is sent to chat completions. Each whole request also goes to the strict fake, which must accept it."""

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
from quillback.providers.openai_dialect import Dialect, Thoughts
from quillback.providers.openai_wire import body
from quillback.providers.text_tools import TextTools
from support.fake_openai import Reply, Say, Think, Use, rules
from support.model_request import assistant, replies, request, tool, user

pytestmark = pytest.mark.anyio
PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(8) + struct.pack(">II", 4, 4) + b"rest").decode()
PICTURE = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}
GPT = Model("openai:gpt", "openai", "GPT", 1_000_000, 128_000)
LOCAL = Model("openai:qwen", "openai", "qwen", 32_000, 8_000, thinking=False)
PLAIN = Dialect()
CALL = ToolUse("call_1", "c1", "read_file", {"path": "a.py"})
OTHER = ToolUse("call_2", "c2", "read_file", {"path": "b.py"})


def sent(*messages, dialect=PLAIN, **options):
    """The body, which the rules of the API allow."""
    out = body(request(*messages, **{"model": LOCAL, **options}), dialect)
    assert rules.check(json.loads(json.dumps(out))) == []
    return out


def content(*parts, **options):
    return sent(user(*parts), **options)["messages"][0]["content"]


async def test_a_whole_conversation_is_accepted_as_it_is(fake_openai, connect_openai):
    fake_openai.script(
        "", Reply(Think("hm"), Say("Look."), Use("read_file", {"path": "a.py"}, "c1")), Reply(Say("Done"))
    )
    provider = connect_openai()
    first = request(
        "Fix it", model=LOCAL, system="You help.", tools=(tool("shell"), tool("read_file")), max_tokens=8_000
    )
    await replies(provider, first)
    step = assistant(Thinking("hm", "reasoning_content"), "Look.", CALL, OTHER)
    results = user(
        ToolResult("call_1", (Text("1: x"), Image(PNG, "image/png"))),
        ToolResult("call_2", (Text("no such file"),), is_error=True),
        "Go on",
    )
    await replies(provider, evolve(first, messages=(*first.messages, step, results)))
    assert fake_openai.violations == []
    assert fake_openai.requests[1].body == {
        "model": "qwen",
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_tokens": 8_000,
        "tools": [
            {"type": "function", "function": {"name": name, "description": "Does it.", "parameters": schema}}
            for name in ("read_file", "shell")
            for schema in [{"type": "object", "properties": {"path": {"type": "string"}}}]
        ],
        "messages": [
            {"role": "system", "content": "You help."},
            {"role": "user", "content": "Fix it"},
            {
                "role": "assistant",
                "content": "Look.",
                "reasoning_content": "hm",
                "tool_calls": [
                    {"id": i, "type": "function", "function": {"name": "read_file", "arguments": f'{{"path": "{p}"}}'}}
                    for i, p in (("c1", "a.py"), ("c2", "b.py"))
                ],
            },
            {"role": "tool", "tool_call_id": "c1", "content": "1: x"},
            {"role": "tool", "tool_call_id": "c2", "content": "Error: no such file"},
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "The images of the results above:"},
                    PICTURE,
                    {"type": "text", "text": "Go on"},
                ],
            },
        ],
    }


async def test_the_same_history_gives_the_same_bytes(fake_openai, connect_openai):
    fake_openai.script("", *[Reply(Say("Hi"))] * 2)
    ask = request("Hello", model=LOCAL, tools=(tool("b"), tool("a")), system="S")
    provider = connect_openai()
    await replies(provider, ask)
    await replies(provider, evolve(ask, tools=ask.tools[::-1]))
    assert fake_openai.requests[0].raw == fake_openai.requests[1].raw


def test_what_is_empty_is_left_out():
    assert set(sent("Hi", system=" \n")) == {"model", "stream", "stream_options", "max_tokens", "messages"}
    assert sent("Hi", max_tokens=0)["max_tokens"] == 1


def test_only_the_prefix_of_the_name_is_ours():
    assert sent("Hi", model=evolve(LOCAL, id="openai:org/model:free"))["model"] == "org/model:free"
    assert sent("Hi", model=evolve(LOCAL, id="plain"))["model"] == "plain"


def test_text_is_one_text_and_never_blank():
    assert content("a", "  ", Notice("only for the user"), "b") == "a\n\nb"
    assert content("\n") == "(no content)"
    assert sent("Hi", assistant("  "), user("x"))["messages"][1] == {"role": "assistant", "content": "(no content)"}


def test_images_of_a_prompt():
    assert content("See", Image(PNG, "image/png")) == [{"type": "text", "text": "See"}, PICTURE]
    assert "image/tiff is not one" in content(Image(PNG, "image/tiff"))
    assert "larger than 20 MB" in content(Image("A" * 28_000_000, "image/png"))
    assert "the model takes none" in content(Image(PNG, "image/png"), model=evolve(LOCAL, images=False))


def test_resources_and_links_of_a_prompt():
    assert content(Resource("file:///a.py", text="x = 1")) == '<resource uri="file:///a.py">\nx = 1\n</resource>'
    assert content(Resource("file:///a.png", blob=PNG, mime_type="image/png")) == [PICTURE]
    assert "3 bytes, application/zip" in content(Resource("file:///a.bin", blob="AAAA", mime_type="application/zip"))
    assert content(ResourceLink("file:///a.py", "a.py", size=12)) == "[a.py](file:///a.py) (12 bytes)"


@pytest.mark.parametrize(
    ("result", "told"),
    [
        (ToolResult("call_1", (Text(" "),)), "(no output)"),
        (ToolResult("call_1", (Image(PNG, "image/png"),)), "(an image, which follows)"),
        (ToolResult("call_1", (Text("a"), Text("b"))), "a\nb"),
        (ToolResult("call_1", (Text("Error: no"),), is_error=True), "Error: no"),
        (ToolResult("call_1", (), is_error=True), "Error: (no output)"),
        (
            ToolResult("call_1", (Image(PNG, "image/tiff"),)),
            "(an image was left out: image/tiff is not one the model takes)",
        ),
    ],
)
def test_a_result_is_a_text_that_is_never_empty(result, told):
    out = sent("Hi", assistant(CALL), user(result))["messages"]
    assert out[1]["content"] is None
    assert out[2] == {"role": "tool", "tool_call_id": "c1", "content": told}


def test_images_of_results_follow_all_results_of_the_step():
    step = user(*(ToolResult(i, (Image(PNG, "image/png"),)) for i in ("call_1", "call_2")))
    roles = [m["role"] for m in sent("Hi", assistant(CALL, OTHER), step, assistant("ok"), user("go"))["messages"]]
    assert roles == ["user", "assistant", "tool", "tool", "user", "assistant", "user"]


@pytest.mark.parametrize(
    ("call", "name", "given"),
    [
        (CALL, "read_file", {"path": "a.py"}),
        (evolve(CALL, input={}, raw='{"path": ', problem="not JSON"), "read_file", {"_invalid": '{"path": '}),
        (evolve(CALL, input={}, raw="x" * 3000, problem="not JSON"), "read_file", {"_invalid": "x" * 2000}),
        (evolve(CALL, name="no such tool", problem="unknown"), "invalid_tool", {"path": "a.py"}),
        (evolve(CALL, name="", input={}, problem="unknown"), "invalid_tool", {}),
        (evolve(CALL, input={"t": "é\ud800"}), "read_file", {"t": "é\ufffd"}),
    ],
)
def test_calls_are_always_json_objects_under_valid_names(call, name, given):
    (sent_call,) = sent("Hi", assistant(call), user(ToolResult("call_1", (Text("no"),))))["messages"][1]["tool_calls"]
    assert (sent_call["function"]["name"], json.loads(sent_call["function"]["arguments"])) == (name, given)


def test_ids_of_other_services_are_made_short_in_call_and_result_alike():
    long = evolve(CALL, provider_id="x" * 64)
    out = sent("Hi", assistant(long), user(ToolResult("call_1", (Text("ok"),))))["messages"]
    assert out[1]["tool_calls"][0]["id"] == out[2]["tool_call_id"]
    assert len(out[2]["tool_call_id"]) == 40


@pytest.mark.parametrize(
    ("how", "parts", "expected"),
    [
        (Thoughts.OWN, (Thinking("hm", "reasoning"), CALL), {"reasoning": "hm"}),
        (
            Thoughts.OWN,
            (Thinking("a", "reasoning_content"), Thinking("b", "reasoning_content"), CALL),
            {"reasoning_content": "ab"},
        ),
        (Thoughts.OWN, (Thinking("hm", "c2lnbmF0dXJl"), RedactedThinking("x"), CALL), {}),
        (Thoughts.OWN, (Thinking("hm", "reasoning"), Text("no call")), {}),
        (Thoughts.OWN, (CALL,), {}),
        (Thoughts.ALWAYS, (CALL,), {"reasoning_content": "(not kept)"}),
        (Thoughts.ALWAYS, (Thinking("hm", "reasoning"), CALL), {"reasoning": "hm"}),
        (Thoughts.ALWAYS, (Text("no call"),), {}),
        (Thoughts.NEVER, (Thinking("hm", "reasoning"), CALL), {}),
    ],
)
def test_thoughts_that_led_to_calls_go_back_as_they_came(how, parts, expected):
    end = user(ToolResult("call_1", (Text("ok"),))) if CALL in parts else user("go")
    message = sent("Hi", assistant(*parts), end, dialect=Dialect(thoughts=how))["messages"][1]
    assert {k: v for k, v in message.items() if k.startswith("reasoning")} == expected


def test_half_characters_are_replaced():
    out = sent("b\ud800", system="s\ud83d", tools=(tool("t", description="d\udc00"),))
    assert [m["content"] for m in out["messages"]] == ["s\ufffd", "b\ufffd"]
    assert out["tools"][0]["function"]["description"] == "d\ufffd"


def test_schemas_of_other_servers_are_made_acceptable():
    odd = {"anyOf": [{"properties": {"a": {"type": "string"}}, "required": ["a"]}], "properties": {"b": {}}}
    out = sent("Hi", tools=(tool("odd", odd), tool("bare", {}, description=" ")))["tools"]
    assert [t["function"] for t in out] == [
        {"name": "bare", "parameters": {"type": "object"}},
        {
            "name": "odd",
            "description": "Does it.",
            "parameters": {"type": "object", "properties": {"a": {"type": "string"}, "b": {}}},
        },
    ]


@pytest.mark.parametrize(
    ("model", "level", "dialect", "effort"),
    [
        (GPT, Level.HIGH, Dialect(), "high"),
        (GPT, Level.LOW, Dialect(), "low"),
        (GPT, Level.OFF, Dialect(), "none"),
        (GPT, Level.OFF, Dialect(lowest="low"), "low"),
        (GPT, Level.HIGH, Dialect(effort=False), None),
        (GPT, Level.HIGH, Dialect(tools_effort="none"), "none"),
        (evolve(GPT, thinking_always=True), Level.OFF, Dialect(), "low"),
        (LOCAL, Level.HIGH, Dialect(), None),
        (LOCAL, Level.OFF, Dialect(), None),
    ],
)
def test_the_thinking_level_is_sent_to_models_that_take_it(model, level, dialect, effort):
    assert (
        sent("Hi", model=model, thinking=level, dialect=dialect, tools=(tool("a"),)).get("reasoning_effort") == effort
    )
    if dialect.tools_effort:
        assert sent("Hi", model=model, thinking=level, dialect=dialect)["reasoning_effort"] == level.value


def test_the_limit_has_the_name_that_the_server_takes():
    assert sent("Hi", dialect=Dialect(limit="max_completion_tokens"), max_tokens=9)["max_completion_tokens"] == 9
    assert not {"max_tokens", "max_completion_tokens"} & sent("Hi", dialect=Dialect(limit="")).keys()
    assert "stream_options" not in sent("Hi", dialect=Dialect(usage=False))


async def test_models_without_tool_calls_write_them_as_text(fake_openai, connect_openai):
    said = '<tool_call>\n{"name": "read_file", "arguments": {"path": "a.py"}}\n</tool_call>'
    fake_openai.script("", Reply(Say(said, deltas=9)), Reply(Say("Done")))
    provider = TextTools(connect_openai())
    ask = request("Look", model=LOCAL, system="S", tools=(tool("read_file"),))
    events = await replies(provider, ask)
    assert any(getattr(e, "name", "") == "read_file" for e in events)
    assert events[-2].stop_reason == "tool_use"
    more = (assistant(CALL), user(ToolResult("call_1", (Text("1: x"),))))
    await replies(provider, evolve(ask, messages=(*ask.messages, *more)))
    assert fake_openai.violations == []
    last = fake_openai.requests[1].body
    assert "tools" not in last
    assert "<tool_result" in last["messages"][-1]["content"]
