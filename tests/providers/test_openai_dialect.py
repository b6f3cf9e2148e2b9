"""Servers that take other parameters: the provider learns it from one refusal, and never asks the same twice."""

import pytest
from attrs import evolve

from quillback.core.message import Text, Thinking, ToolResult, ToolUse
from quillback.core.model import Failure, Model, ProviderError
from quillback.core.model import Thinking as Level
from quillback.providers.openai import OpenAIProvider
from quillback.providers.openai_dialect import Dialect, adapted
from support.fake_openai import FakeOpenAI, Habits, Reply, Say
from support.model_request import assistant, replies, request, tool, user

pytestmark = pytest.mark.anyio
GPT = Model("openai:gpt", "openai", "GPT", 1_000_000, 128_000)
TOOLS = (tool("read_file"),)
ASK = request("Hello", model=GPT, tools=TOOLS, thinking=Level.HIGH)
CALL = ToolUse("call_1", "c1", "read_file", {"path": "a.py"})
RESULT = user(ToolResult("call_1", (Text("ok"),)))


async def talk(habits, *asked, times=2):
    """The fake after each request was answered `times` times."""
    async with FakeOpenAI(is_main=lambda body: True, habits=habits) as fake:
        provider = OpenAIProvider(base_url=fake.base_url)
        fake.script("", *[Reply(Say("Hi"))] * times * len(asked))
        for _ in range(times):
            for one in asked:
                await replies(provider, one)
        await provider.close()
        assert fake.violations == []
        return fake


@pytest.mark.parametrize(
    ("habits", "sent"),
    [
        (Habits(limits=("max_completion_tokens",)), {"max_completion_tokens": 16_000}),
        (Habits(most=8_000), {"max_tokens": None, "max_completion_tokens": None}),
        (Habits(stream_options=False), {"stream_options": None}),
        (Habits(efforts=()), {"reasoning_effort": None}),
        (Habits(efforts=("none", "low")), {"reasoning_effort": None}),
        (Habits(tools_need_no_effort=True), {"reasoning_effort": "none", "max_tokens": 16_000}),
    ],
    ids=["limit", "most", "no counts", "no effort", "other efforts", "no effort with tools"],
)
async def test_what_a_server_does_not_take_is_sent_once(habits, sent):
    fake = await talk(habits, ASK)
    assert len(fake.refusals) == 1
    assert len(fake.requests) == 2
    for seen in fake.requests:
        assert {key: seen.body.get(key) for key in sent} == sent


async def test_several_such_things_are_learnt_one_after_the_other():
    habits = Habits(limits=("max_completion_tokens",), efforts=(), stream_options=False)
    fake = await talk(habits, ASK)
    assert len(fake.refusals) == 3
    assert set(fake.requests[0].body) == {"model", "stream", "max_completion_tokens", "tools", "messages"}


async def test_the_level_still_counts_where_there_are_no_tools():
    side = evolve(ASK, tools=())
    fake = await talk(Habits(tools_need_no_effort=True, default_effort="medium"), ASK, side)
    assert [seen.body["reasoning_effort"] for seen in fake.requests] == ["none", "high"] * 2


async def test_a_model_that_cannot_stop_thinking_thinks_little():
    off = evolve(ASK, thinking=Level.OFF)
    fake = await talk(Habits(efforts=("low", "medium", "high")), off)
    assert len(fake.refusals) == 1
    assert fake.requests[1].body["reasoning_effort"] == "low"


async def test_models_learn_apart():
    other = evolve(ASK, model=evolve(GPT, id="openai:other"))
    fake = await talk(Habits(efforts=()), ASK, other)
    assert len(fake.refusals) == 2


async def test_a_model_without_tools_and_without_none_is_told_what_to_set():
    async with FakeOpenAI(habits=Habits(efforts=("low", "high"), tools_need_no_effort=True)) as fake:
        provider = OpenAIProvider(base_url=fake.base_url)
        with pytest.raises(ProviderError) as caught:
            await replies(provider, ASK)
        await provider.close()
    assert caught.value.failure is Failure.INVALID
    assert caught.value.message.endswith(
        'Set text_tools = true in the table [models."ID"] of this model in config.toml.'
    )
    assert len(fake.refusals) == 2


async def test_thoughts_that_a_server_refuses_do_not_go_back():
    ask = evolve(ASK, messages=(user("Hi"), assistant(Thinking("hm", "reasoning_content"), CALL), RESULT))
    fake = await talk(Habits(thoughts="refuse"), ask)
    assert len(fake.refusals) == 1
    assert "reasoning_content" not in str(fake.requests[1].body)


async def test_calls_of_another_model_get_a_stand_in_where_thoughts_are_wanted():
    ask = evolve(ASK, messages=(user("Hi"), assistant(CALL), RESULT))
    fake = await talk(Habits(thoughts="want"), ask)
    assert len(fake.refusals) == 1
    assert fake.requests[1].body["messages"][1]["reasoning_content"] == "(not kept)"


async def test_a_refusal_about_something_else_is_one(fake_openai, connect_openai):
    refused = Reply(status=400, error={"message": "Invalid 'messages'", "type": "invalid_request_error"})
    fake_openai.script("", refused)
    with pytest.raises(ProviderError, match="Invalid 'messages'"):
        await replies(connect_openai(), ASK)
    assert len(fake_openai.requests) == 1


async def test_a_server_that_refuses_whatever_is_sent_is_asked_a_few_times_only(fake_openai, connect_openai):
    words = "max_tokens, max_completion_tokens, reasoning_effort and stream_options are all wrong"
    fake_openai.script("", *[Reply(status=400, error={"message": words})] * 20)
    with pytest.raises(ProviderError, match="are all wrong"):
        await replies(connect_openai(), ASK)
    assert len(fake_openai.requests) <= 5


@pytest.mark.parametrize(
    ("said", "limit"),
    [
        ("'max_tokens' is not supported. Use 'max_completion_tokens' instead.", "max_completion_tokens"),
        ("Unknown field: max_tokens", "max_completion_tokens"),
        ("'max_tokens' or 'max_completion_tokens' is too large: 32000. The maximum context length is 8192 tokens", ""),
        ("The maximum context length is 8192. You requested 33000 (1000 in the messages, 32000 in the completion)", ""),
        ("max_tokens must be less than or equal to 8192", ""),
        ("This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.", None),
        ("Please reduce the length of the messages or completion.", None),
        ("Invalid value for 'temperature'", None),
    ],
)
def test_a_limit_is_renamed_or_left_out_by_what_was_said(said, limit):
    found = adapted(Dialect(), {"max_tokens": 32_000, "messages": []}, said)
    assert (found and found.limit) == limit
