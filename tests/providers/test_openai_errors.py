"""What a user and the retry learn from each way a request to chat completions can fail."""

import re
import socket

import pytest

from quillback.core.model import Failure, Model, ProviderError, StreamStopped, StreamStopping
from quillback.providers.openai import OpenAIProvider
from support.fake_openai import ErrorChunk, Raw, Reply, Say
from support.model_request import replies, request

pytestmark = pytest.mark.anyio
ASK = request("Hello", model=Model("openai:m", "openai", "m", 32_000, 8_000, thinking=False))


async def failure_of(provider):
    with pytest.raises(ProviderError) as caught:
        await replies(provider, ASK)
    return caught.value


def error(message, kind="invalid_request_error", code=None, **more):
    return {"message": message, "type": kind, "param": None, "code": code, **more}


@pytest.mark.parametrize(
    ("status", "kind", "code", "failure"),
    [
        (400, "invalid_request_error", None, Failure.INVALID),
        (400, "BadRequestError", 400, Failure.INVALID),
        (401, "invalid_request_error", "invalid_api_key", Failure.AUTHENTICATION),
        (402, None, 402, Failure.PERMISSION),
        (403, "invalid_request_error", "unsupported_country_region_territory", Failure.PERMISSION),
        (404, "invalid_request_error", "model_not_found", Failure.NOT_FOUND),
        (408, None, None, Failure.CONNECTION),
        (413, None, None, Failure.TOO_LARGE),
        (422, None, None, Failure.INVALID),
        (429, "requests", "rate_limit_exceeded", Failure.RATE_LIMIT),
        (429, "insufficient_quota", "insufficient_quota", Failure.PERMISSION),
        (500, "server_error", None, Failure.SERVER),
        (502, None, 502, Failure.SERVER),
        (503, "unavailable_error", 503, Failure.SERVER),
    ],
)
async def test_a_status_says_what_failed_and_nothing_is_tried_twice(
    fake_openai, connect_openai, status, kind, code, failure
):
    fake_openai.script("", Reply(status=status, error=error("Because of this.", kind, code)))
    found = await failure_of(connect_openai())
    assert (found.failure, found.status) == (failure, status)
    assert f"127.0.0.1 answered {status}: Because of this" in found.message
    assert len(fake_openai.requests) == 1


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (({"error": "model 'x' not found"},), "model 'x' not found"),
        (({"object": "error", "message": "no such thing"},), "no such thing"),
        (({"detail": "Not here"},), "Not here"),
        (([{"error": {"message": "wrapped"}}],), "wrapped"),
        (("plain text",), "plain text"),
        (({"error": {"message": "Provider returned error", "metadata": {"raw": "too hot"}}},), "error: too hot"),
    ],
)
async def test_errors_of_odd_shapes_are_read_too(fake_openai, connect_openai, body, words):
    fake_openai.script("", Reply(status=404, error=body))
    assert words in (await failure_of(connect_openai())).message


TOO_LONG = {
    "OpenAI": "This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens.",
    "OpenAI, newer": "Your input exceeds the context window of this model. Please adjust your input and try again.",
    "OpenAI, limit": "Input tokens exceed the configured limit of 272000 tokens. You sent 300000.",
    "llama.cpp": "request (6031 tokens) exceeds the available context size (4096 tokens), try increasing it",
    "llama.cpp, older": "the request exceeds the available context size. try increasing the context size",
    "vLLM": "The prompt (total length 9000) is too long to fit into the model (context length 4096).",
    "vLLM, decoder": "The decoder prompt (length 9000) is longer than the maximum model length of 4096.",
    "LM Studio": "Trying to keep the first 9000 tokens when context the overflows. The model is loaded with only 4096.",
    "LM Studio, limit": "Reached context length of 4096 tokens with this model.",
    "LM Studio, keep": "The number of tokens to keep from the initial prompt is greater than the context length.",
    "Ollama": "input length exceeds the context length",
    "OpenRouter": "This endpoint's maximum context length is 131072 tokens. You requested about 200000.",
    "Groq": "Please reduce the length of the messages or completion.",
    "Mistral": "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
    "xAI": "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
    "Google": "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
}


@pytest.mark.parametrize("server", TOO_LONG)
async def test_a_context_that_is_full_is_recognised_in_the_words_of(fake_openai, connect_openai, server):
    fake_openai.script(
        "",
        Reply(status=400, error=error(TOO_LONG[server])),
        Reply(ErrorChunk({"error": {"code": 400, "message": TOO_LONG[server]}})),
    )
    for _ in range(2):
        assert (await failure_of(connect_openai())).failure is Failure.CONTEXT_LENGTH


async def test_a_code_or_what_a_gateway_passes_on_tells_of_a_full_context(fake_openai, connect_openai):
    raw = {"metadata": {"raw": TOO_LONG["OpenAI"]}}
    fake_openai.script(
        "",
        Reply(status=400, error=error("No.", code="context_length_exceeded")),
        Reply(status=400, error=error("Provider returned error", code=400, **raw)),
        Reply(ErrorChunk({"error": {"message": "No.", "code": "context_length_exceeded"}})),
        Reply(status=400, error=error("max_tokens must be positive")),
    )
    found = [(await failure_of(connect_openai())).failure for _ in range(4)]
    assert found == [Failure.CONTEXT_LENGTH] * 3 + [Failure.INVALID]


@pytest.mark.parametrize(
    ("payload", "failure", "words"),
    [
        ({"error": {"message": "Overloaded", "type": "server_error"}}, Failure.SERVER, "Overloaded"),
        ({"error": {"message": "slow", "code": "rate_limit_exceeded"}}, Failure.RATE_LIMIT, "slow"),
        ({"error": {"code": 429, "message": "slow"}}, Failure.RATE_LIMIT, "slow"),
        ({"error": {"code": 502, "message": "upstream"}, "choices": []}, Failure.SERVER, "upstream"),
        ({"error": {"code": 401, "message": "key"}}, Failure.AUTHENTICATION, "OPENAI_API_KEY"),
        ({"error": {"code": 400, "message": "bad tool", "type": "BadRequestError"}}, Failure.INVALID, "bad tool"),
        ({"error": "gone"}, Failure.SERVER, "gone"),
        ({"object": "error", "message": "gone"}, Failure.SERVER, "gone"),
        ({"error": {}, "object": "error"}, Failure.SERVER, "no reason given"),
    ],
)
async def test_an_error_inside_a_stream_is_told_by_type_or_code(fake_openai, connect_openai, payload, failure, words):
    fake_openai.script("", Reply(Say("Hi"), ErrorChunk(payload)))
    found = await failure_of(connect_openai())
    assert found.failure is failure
    assert "127.0.0.1 broke off the reply: " in found.message
    assert words in found.message


async def test_an_error_event_and_a_server_out_of_resources(fake_openai, connect_openai):
    fake_openai.script(
        "",
        Reply(Raw(b"event: error\ndata: upstream is gone\n\n")),
        Reply(Say("Hi"), finish="insufficient_system_resource"),
    )
    assert (await failure_of(connect_openai())).message == "127.0.0.1 broke off the reply: upstream is gone."
    assert (await failure_of(connect_openai())).failure is Failure.OVERLOADED


@pytest.mark.parametrize("code", ["content_filter", "content_policy_violation"])
async def test_a_prompt_that_the_filter_stops_is_a_refusal(fake_openai, connect_openai, code):
    fake_openai.script("", Reply(status=400, error=error("The prompt was filtered.", None, code)))
    events = await replies(connect_openai(), ASK)
    assert events[1:] == [StreamStopping("refusal", None, "The prompt was filtered."), StreamStopped()]


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [({"Retry-After": "7"}, 7.0), ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5), ({}, None)],
)
async def test_the_wait_comes_with_the_error(fake_openai, connect_openai, headers, seconds):
    fake_openai.script("", Reply(status=429, error=error("Slow down"), headers=headers))
    assert (await failure_of(connect_openai())).retry_after == seconds


async def test_the_key_is_never_in_a_message(fake_openai, connect_openai):
    fake_openai.script(
        "",
        Reply(status=401, error=error("Incorrect API key: key-for-tests")),
        Reply(Say("Hi"), ErrorChunk({"error": {"message": "no key-for-tests here"}})),
        Reply(status=400, error=error("key-for-tests is bad", code="content_filter")),
    )
    for expected in ("Incorrect API key: ***", "no *** here"):
        message = (await failure_of(connect_openai())).message
        assert expected in message
        assert "key-for-tests" not in message
    assert "*** is bad" in (await replies(connect_openai(), ASK))[1].explanation


async def test_nobody_listening_is_a_connection_failure():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        provider = OpenAIProvider(base_url=f"http://127.0.0.1:{taken.getsockname()[1]}")
        found = await failure_of(provider)
        await provider.close()
    assert found.failure is Failure.CONNECTION
    assert re.match(r"Cannot reach http://127\.0\.0\.1:\d+ \(connection refused\)\. Check", found.message)


async def test_a_redirect_is_not_followed_with_the_key(fake_openai, connect_openai):
    fake_openai.script("", Reply(status=308, headers={"location": "http://elsewhere.test/v1"}))
    found = await failure_of(connect_openai())
    assert found.failure is Failure.INVALID
    assert "redirects to http://elsewhere.test/v1" in found.message


@pytest.mark.parametrize(
    ("content_type", "body", "failure", "words"),
    [
        ("text/html", b"<html>Welcome</html>", Failure.INVALID, "answered with text/html and not with an event stream"),
        ("application/json", b'{"id": "1"}', Failure.INVALID, "answered with application/json"),
        ("application/json", b'{"error": {"message": "Busy", "code": 429}}', Failure.RATE_LIMIT, "Busy"),
        ("text/event-stream", b"", Failure.INCOMPLETE, "sent an empty reply"),
        ("text/event-stream", b"data: [DONE]\n\n", Failure.INCOMPLETE, "sent an empty reply"),
    ],
)
async def test_a_200_without_a_single_chunk(fake_openai, connect_openai, content_type, body, failure, words):
    fake_openai.script("", Reply(content_type=content_type, body=body))
    found = await failure_of(connect_openai())
    assert found.failure is failure
    assert words in found.message
