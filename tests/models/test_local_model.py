"""Both providers and the whole process against a real local model server, which offers both APIs.

The model is too small to be of use: what it says does not matter, only that it comes through.
"""

import asyncio
from collections.abc import AsyncIterator

import pytest

from quillback.core.message import Text, ToolResult, ToolUse
from quillback.core.model import (
    Failure,
    Model,
    ProviderError,
    StreamStarted,
    StreamStopped,
    StreamStopping,
    TextDelta,
    TextStarted,
)
from quillback.providers.anthropic import AnthropicProvider
from quillback.providers.openai import OpenAIProvider
from support.agent import agent, texts
from support.model_request import assistant, replies, request, tool, user

pytestmark = [pytest.mark.anyio, pytest.mark.local_model, pytest.mark.timeout(600)]
APIS = {"chat completions": (OpenAIProvider, "openai:smollm2"), "Messages": (AnthropicProvider, "smollm2")}
SECONDS = 300.0  # a busy machine reads some dozens of tokens a second
VARIABLES = {"chat completions": "OPENAI_BASE_URL", "Messages": "ANTHROPIC_BASE_URL"}


@pytest.fixture(params=APIS)
def api(request) -> str:
    return request.param


@pytest.fixture
async def served(llama, api) -> AsyncIterator[tuple]:
    make, name = APIS[api]
    provider = make(base_url=llama)
    yield provider, Model(name, "local", "SmolLM2", 8_192, 64, thinking=False, images=False)
    await provider.close()


def text_of(events):
    return "".join(e.text for e in events if isinstance(e, TextDelta | TextStarted))


async def test_text_comes_in_pieces_with_its_counts(served):
    provider, model = served
    events = await replies(provider, request("Name three colours.", model=model, system="Be brief.", max_tokens=40))
    assert isinstance(events[0], StreamStarted)
    assert events[-1] == StreamStopped()
    stopping = events[-2]
    assert isinstance(stopping, StreamStopping)
    assert stopping.stop_reason in ("end_turn", "max_tokens")
    assert text_of(events).strip()
    assert len([e for e in events if isinstance(e, TextDelta)]) > 3
    assert 0 < stopping.usage.output_tokens <= 40
    assert stopping.usage.input_tokens + stopping.usage.cache_read_tokens > 10


async def test_a_reply_that_is_cut_says_so(served):
    provider, model = served
    events = await replies(provider, request("Count from 1 to 500.", model=model, max_tokens=5))
    assert events[-2].stop_reason == "max_tokens"


async def test_a_conversation_with_calls_and_their_results_is_taken(served):
    """What the model does with the tool is its own affair."""
    provider, model = served
    call = ToolUse("call_1", "c1", "read_file", {"path": "a.py"})
    more = (assistant(call), user(ToolResult("call_1", (Text("print('hi')"),)), "What does it print?"))
    ask = request("Read a.py.", *more, model=model, tools=(tool("read_file"),), max_tokens=20)
    events = await replies(provider, ask)
    assert events[-1] == StreamStopped()
    assert events[-2].stop_reason in ("end_turn", "max_tokens", "tool_use")


async def test_a_cancel_frees_the_server(served):
    """It answers one request at a time, and the first would take minutes."""
    provider, model = served
    stream = provider.stream(request("Tell a very long story.", model=model, max_tokens=6_000))
    async for event in stream:
        if isinstance(event, TextDelta):
            break
    await stream.aclose()
    async with asyncio.timeout(SECONDS):
        assert text_of(await replies(provider, request("Say hello.", model=model, max_tokens=5))).strip()


async def test_a_prompt_that_does_not_fit_is_recognised(served):
    provider, model = served
    with pytest.raises(ProviderError) as caught:
        await replies(provider, request("word " * 9_000, model=model, max_tokens=5))
    assert caught.value.failure is Failure.CONTEXT_LENGTH


async def test_a_whole_process_talks_with_it_and_cancels(tmp_path, llama, api):
    """Wire ids are those of the answer and of the replay; a cancelled turn is followed by one that works."""
    name = APIS[api][1]
    home = tmp_path / "home" / "quillback"
    home.mkdir(parents=True)
    (home / "config.toml").write_text(
        f'titles = false\nmode = "chat"\nmax_steps = 1\n[models."{name}"]\ncontext_window = 8192\nmax_output = 48\n'
    )
    env = {"QUILLBACK_MODEL": name, "QUILLBACK_SMALL_MODEL": name, VARIABLES[api]: llama}
    async with agent(tmp_path, env=env) as a:
        session = await a.session()
        turn = await a.client.start_prompt(session, "Hello")
        await turn.until(lambda u: "chunk" in u["sessionUpdate"] or u["sessionUpdate"] == "tool_call", SECONDS)
        a.client.cancel(session)
        await turn.finished()
        assert turn.stop_reason in ("cancelled", "end_turn", "max_tokens")
        turn = await a.client.prompt(session, "What is the capital of France? Answer in one word.")
        assert turn.stop_reason in ("end_turn", "max_tokens", "max_turn_requests")
        assert turn.text.strip()
        seen = dict(texts(a.client.updates[session]))
        assert set(texts(turn.updates)) <= set(seen)
    async with agent(tmp_path, env=env) as b:
        await b.client.load_session(session, b.workspace)
        replayed = texts(b.client.updates[session])
    assert {key: value.strip() for key, value in replayed.items()} == {k: v.strip() for k, v in seen.items()}
