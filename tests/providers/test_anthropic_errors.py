"""What a user and the retry learn from each way a request can fail."""

import re
import socket
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from quillback.core.model import Failure, ProviderError
from quillback.providers import failures
from quillback.providers.anthropic import AnthropicProvider
from support.fake_model import ErrorEvent, Raw, Reply, Say
from support.model_request import replies, request

pytestmark = pytest.mark.anyio
ASK = request("Hello")
NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


async def failure_of(provider, of=ASK):
    with pytest.raises(ProviderError) as caught:
        await replies(provider, of)
    return caught.value


@pytest.mark.parametrize(
    ("status", "kind", "failure"),
    [
        (400, "invalid_request_error", Failure.INVALID),
        (401, "authentication_error", Failure.AUTHENTICATION),
        (402, "billing_error", Failure.PERMISSION),
        (403, "permission_error", Failure.PERMISSION),
        (404, "not_found_error", Failure.NOT_FOUND),
        (408, "timeout_error", Failure.CONNECTION),
        (409, "conflict_error", Failure.SERVER),
        (413, "request_too_large", Failure.TOO_LARGE),
        (422, "invalid_request_error", Failure.INVALID),
        (429, "rate_limit_error", Failure.RATE_LIMIT),
        (500, "api_error", Failure.SERVER),
        (500, "overloaded_error", Failure.OVERLOADED),
        (503, "api_error", Failure.SERVER),
        (529, "overloaded_error", Failure.OVERLOADED),
    ],
)
async def test_a_status_says_what_failed_and_nothing_is_tried_twice(fake, connect, status, kind, failure):
    fake.script("", Reply(status=status, error=(kind, "Because of this.")))
    error = await failure_of(connect())
    assert (error.failure, error.status) == (failure, status)
    assert f"127.0.0.1 answered {status}: Because of this" in error.message
    assert len(fake.requests) == 1


@pytest.mark.parametrize(
    ("kind", "failure"),
    [
        ("overloaded_error", Failure.OVERLOADED),
        ("rate_limit_error", Failure.RATE_LIMIT),
        ("api_error", Failure.SERVER),
        ("timeout_error", Failure.SERVER),
        ("new_error", Failure.SERVER),
        ("invalid_request_error", Failure.INVALID),
        ("authentication_error", Failure.AUTHENTICATION),
        ("permission_error", Failure.PERMISSION),
        ("request_too_large", Failure.TOO_LARGE),
    ],
)
async def test_an_error_inside_a_stream_is_told_by_its_type(fake, connect, kind, failure):
    fake.script("", Reply(Say("Hi"), ErrorEvent(kind, "Not now")))
    error = await failure_of(connect())
    assert error.failure is failure
    assert "127.0.0.1 broke off the reply: Not now" in error.message


@pytest.mark.parametrize(
    "data",
    [
        b"event: error\ndata: upstream is gone\n\n",
        b'event: error\ndata: {"message": "upstream is gone"}\n\n',
        b'data: {"type": "error", "error": "upstream is gone"}\n\n',
    ],
)
async def test_errors_of_odd_shapes_are_read_too(fake, connect, data):
    fake.script("", Reply(Raw(data)))
    error = await failure_of(connect())
    assert error.failure is Failure.SERVER
    assert error.message == "127.0.0.1 broke off the reply: upstream is gone."


@pytest.mark.parametrize(
    ("failure", "message"),
    [
        (Failure.CONTEXT_LENGTH, "prompt is too long: 207368 tokens > 200000 maximum"),
        (Failure.CONTEXT_LENGTH, "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000"),
        (Failure.CONTEXT_LENGTH, "the request exceeds the available context size. try increasing the context size"),
        (Failure.BAD_THINKING, "messages.1.content.0: Invalid `signature` in `thinking` block"),
        (Failure.BAD_THINKING, "messages.1.content.0: Invalid `data` in `redacted_thinking` block"),
        (Failure.BAD_THINKING, "`thinking` or `redacted_thinking` blocks in the latest message cannot be modified."),
        (Failure.BAD_THINKING, "Expected `thinking` or `redacted_thinking`, but found `tool_use`."),
        (Failure.BAD_IMAGE, "messages.2.content.0.image.source.base64: image exceeds 5 MB maximum: 8 > 5"),
        (Failure.BAD_IMAGE, "At least one of the image dimensions exceed max allowed size: 8000 pixels"),
        (Failure.BAD_IMAGE, "Could not process image"),
        (Failure.INVALID, "max_tokens: 200000 > 128000, which is the maximum allowed number of output tokens"),
        (Failure.INVALID, "tools.0.name: String should match pattern"),
    ],
)
async def test_refusals_that_a_reduction_cures_are_recognised(fake, connect, failure, message):
    fake.script("", Reply(status=400, error=("invalid_request_error", message)))
    error = await failure_of(connect())
    assert error.failure is failure
    assert message.rstrip(".") in error.message


def test_a_gateways_odd_status_does_not_hide_a_bad_signature():
    said = {"type": "error", "message": "messages.1.content.0: Invalid `signature` in `thinking` block"}
    assert failures.from_status(429, "h", said, {}, NOW).failure is Failure.BAD_THINKING
    busy = {"message": "This would exceed your rate limit of 40,000 input tokens per minute"}
    assert failures.from_status(429, "h", busy, {}, NOW).failure is Failure.RATE_LIMIT


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "3"}, 3.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after": format_datetime(NOW + timedelta(seconds=90), usegmt=True)}, 90.0),
        ({"retry-after": format_datetime(NOW - timedelta(seconds=90), usegmt=True)}, 0.0),
        ({"retry-after": "Mon, 30 Nov 2026 12:00:10"}, 10.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "nan"}, None),
        ({}, None),
    ],
)
def test_the_wait_the_provider_asks_for(headers, seconds):
    assert failures.retry_after(headers, NOW) == seconds


async def test_the_wait_comes_with_the_error(fake, connect):
    fake.script("", Reply(status=429, error=("rate_limit_error", "Slow down"), headers={"Retry-After": "7"}))
    assert (await failure_of(connect())).retry_after == 7.0


async def test_a_service_that_says_not_to_retry_is_believed(fake, connect):
    fake.script("", Reply(status=429, error=("rate_limit_error", "Spend limit"), headers={"x-should-retry": "false"}))
    assert not (await failure_of(connect())).failure.retryable


async def test_the_key_is_never_in_a_message(fake, connect):
    fake.script(
        "",
        Reply(status=401, error=("authentication_error", "Incorrect API key: key-for-tests")),
        Reply(Say("Hi"), ErrorEvent("api_error", "no key-for-tests here")),
    )
    for expected in ("Incorrect API key: ***", "no *** here"):
        message = (await failure_of(connect())).message
        assert expected in message
        assert "key-for-tests" not in message


async def test_a_wrong_key_says_what_to_do(fake, connect):
    fake.script("", Reply(status=401, error=("authentication_error", "invalid x-api-key")))
    assert (await failure_of(connect())).message.endswith(
        "Check the key for this server: ANTHROPIC_API_KEY, ANTHROPIC_AUTH_TOKEN or config.toml."
    )


@pytest.mark.parametrize(
    ("host", "kept"),
    [("api.anthropic.com", True), ("anthropic.com", True), ("notanthropic.com", False), ("localhost:11434", False)],
)
def test_the_kept_key_is_advised_where_it_is_sent(host, kept):
    refused = failures.from_status(401, host, {}, {}, datetime.now(UTC))
    assert ("quillback login" in refused.message) is kept


async def test_nobody_listening_is_a_connection_failure():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        provider = AnthropicProvider(base_url=f"http://127.0.0.1:{taken.getsockname()[1]}")
        error = await failure_of(provider)
        await provider.close()
    assert error.failure is Failure.CONNECTION
    assert re.match(r"Cannot reach http://127\.0\.0\.1:\d+ \(connection refused\)\. Check", error.message)


async def test_a_redirect_is_not_followed_with_the_key(fake, connect):
    fake.script("", Reply(status=308, headers={"location": "http://elsewhere.test/v1/messages"}))
    error = await failure_of(connect())
    assert error.failure is Failure.INVALID
    assert "redirects to http://elsewhere.test/v1/messages" in error.message
    assert len(fake.requests) == 1


@pytest.mark.parametrize(
    ("content_type", "body", "failure", "words"),
    [
        ("text/html", b"<html>Welcome</html>", Failure.INVALID, "answered with text/html and not with an event stream"),
        ("application/json", b'{"id": "msg_1"}', Failure.INVALID, "answered with application/json"),
        (
            "application/json",
            b'{"type": "error", "error": {"type": "overloaded_error", "message": "Busy"}}',
            Failure.OVERLOADED,
            "Busy",
        ),
        ("text/event-stream", b"", Failure.INCOMPLETE, "sent an empty reply"),
    ],
)
async def test_a_200_without_a_single_event(fake, connect, content_type, body, failure, words):
    fake.script("", Reply(content_type=content_type, body=body))
    error = await failure_of(connect())
    assert error.failure is failure
    assert words in error.message


@pytest.mark.parametrize(
    ("options", "failure", "words"),
    [
        ({"base_url": "https://api.anthropic.com"}, Failure.NO_CREDENTIALS, "There is no API key"),
        ({"base_url": "localhost:11434"}, Failure.INVALID, "must begin with http://"),
        ({"base_url": "http://[broken"}, Failure.INVALID, "must begin with http://"),
        ({"base_url": ""}, Failure.INVALID, "must begin with http://"),
        ({"base_url": "http://h", "api_key": "sk\n-two"}, Failure.AUTHENTICATION, "cannot be sent"),
        ({"base_url": "http://h", "api_key": "sk-“quoted”"}, Failure.AUTHENTICATION, "cannot be sent"),
    ],
)
async def test_wrong_settings_are_told_before_anything_is_sent(options, failure, words):
    error = await failure_of(AnthropicProvider(**options))
    assert error.failure is failure
    assert words in error.message
    assert "sk" not in error.message.replace("ask", "")
