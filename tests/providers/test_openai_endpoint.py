"""Paths and headers as a server of chat completions sees them."""

import subprocess
import sys

import pytest

from quillback.core.model import Failure, Model, ProviderError
from quillback.providers.openai import OpenAIProvider
from quillback.providers.openai_endpoint import OpenAIEndpoint
from quillback.providers.reach import reach
from support.fake_openai import FakeOpenAI, Reply, Say
from support.model_request import replies, request

pytestmark = pytest.mark.anyio
ASK = request("Hello", model=Model("openai:m", "openai", "m", 32_000, 8_000, thinking=False))


@pytest.mark.parametrize(
    ("base", "url"),
    [
        ("https://api.openai.com", "https://api.openai.com/v1/chat/completions"),
        ("https://api.openai.com/v1", "https://api.openai.com/v1/chat/completions"),
        ("https://api.openai.com/v1/", "https://api.openai.com/v1/chat/completions"),
        ("  http://h:8080//  ", "http://h:8080/v1/chat/completions"),
        ("http://h/v1/chat/completions", "http://h/v1/chat/completions"),
        ("http://h/v1/chat/completions/", "http://h/v1/chat/completions"),
        ("https://openrouter.ai/api", "https://openrouter.ai/api/v1/chat/completions"),
        ("https://openrouter.ai/api/v1", "https://openrouter.ai/api/v1/chat/completions"),
        ("https://h/api/paas/v4", "https://h/api/paas/v4/chat/completions"),
        ("https://h/v1beta/openai/", "https://h/v1beta/openai/chat/completions"),
        ("https://v1.h", "https://v1.h/v1/chat/completions"),
        ("https://h/vision", "https://h/vision/v1/chat/completions"),
        ("https://h/chat/completions", "https://h/chat/completions"),
    ],
)
def test_every_way_to_write_a_base_url_has_one_address(base, url):
    assert OpenAIEndpoint(base, "", {}).url == url


@pytest.mark.parametrize("tail", ["", "/", "/v1", "/v1/", "/v1/chat/completions"])
async def test_the_request_goes_to_one_path(fake_openai, connect_openai, tail):
    fake_openai.script("", Reply(Say("Hi")))
    await replies(connect_openai(base_url=fake_openai.base_url + tail), ASK)
    assert [seen.path for seen in fake_openai.requests] == ["/v1/chat/completions"]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"api_key": "k"}, "Bearer k"),
        ({"api_key": " k\n"}, "Bearer k"),
        ({"api_key": ""}, None),
        ({"api_key": "k", "extra_headers": {"Authorization": "mine"}}, "mine"),
    ],
)
async def test_the_key_is_a_bearer_and_other_servers_need_none(fake_openai, connect_openai, options, expected):
    fake_openai.script("", Reply(Say("Hi")))
    await replies(connect_openai(**options), ASK)
    headers = fake_openai.requests[0].headers
    assert headers.get("authorization") == expected
    assert (headers["user-agent"], headers["accept-encoding"]) == ("quillback", "identity")


async def test_nothing_of_the_environment_is_sent(fake_openai, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "key-of-the-environment")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("OPENAI_ORG_ID", "org-of-the-environment")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    fake_openai.script("", Reply(Say("Hi")))
    provider = OpenAIProvider(base_url=fake_openai.base_url, extra_headers={"X-Mine": "1"})
    await replies(provider, ASK)
    await provider.close()
    headers = fake_openai.requests[0].headers
    assert headers["x-mine"] == "1"
    assert "of-the-environment" not in str(headers)


@pytest.mark.parametrize(
    ("options", "failure", "words"),
    [
        ({}, Failure.NO_CREDENTIALS, "There is no OpenAI API key"),
        ({"base_url": "https://eu.api.openai.com/v1"}, Failure.NO_CREDENTIALS, "OPENAI_API_KEY"),
        ({"base_url": "localhost:11434"}, Failure.INVALID, "must begin with http://"),
        ({"base_url": "http://[broken"}, Failure.INVALID, "must begin with http://"),
        ({"base_url": ""}, Failure.INVALID, "must begin with http://"),
        ({"base_url": "http://h", "api_key": "sk\n-two"}, Failure.AUTHENTICATION, "cannot be sent"),
    ],
)
async def test_wrong_settings_are_told_before_anything_is_sent(options, failure, words):
    provider = OpenAIProvider(**options)
    with pytest.raises(ProviderError, match=words) as caught:
        await replies(provider, ASK)
    assert caught.value.failure is failure
    await provider.close()


async def test_a_wrong_key_is_refused_and_never_told():
    async with FakeOpenAI(api_key="right", is_main=lambda body: True) as fake:
        provider = OpenAIProvider(base_url=fake.base_url, api_key="wrong-key-1")
        with pytest.raises(ProviderError) as caught:
            await replies(provider, ASK)
        await provider.close()
    assert caught.value.failure is Failure.AUTHENTICATION
    assert caught.value.message.endswith("Check the key for this server: OPENAI_API_KEY or config.toml.")


async def test_a_sign_of_life(fake_openai):
    found, serves = await reach(fake_openai.base_url, chat=True)
    assert (fake_openai.others[0].path, serves) == ("/v1/models", False)
    assert "answers (status 404)" in found


def test_importing_the_module_does_not_import_the_http_library():
    code = "import sys, quillback.providers.openai; print('anthropic' in sys.modules, 'httpx2' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


async def test_warming_up_makes_the_client_once(connect_openai):
    provider = connect_openai()
    provider.warm_up()
    first = provider._client
    provider.warm_up()
    assert first is not None
    assert provider._client is first
