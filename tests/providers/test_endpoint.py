"""Paths and headers as the server sees them."""

import subprocess
import sys

import pytest

from quillback.core.model import ProviderError
from quillback.providers.anthropic import AnthropicProvider
from quillback.providers.endpoint import Endpoint
from support.fake_model import FakeModel, Reply, Say
from support.model_request import replies, request

pytestmark = pytest.mark.anyio
ASK = request("Hello")


@pytest.mark.parametrize(
    ("base", "path"),
    [
        ("http://h", "http://h"),
        ("http://h/", "http://h"),
        ("http://h/v1", "http://h"),
        ("http://h/v1/", "http://h"),
        ("http://h/v1/messages", "http://h"),
        ("  http://h//  ", "http://h"),
        ("http://h/proxy", "http://h/proxy"),
        ("http://h/proxy/v1", "http://h/proxy"),
        ("http://h/proxy/v1/", "http://h/proxy"),
        ("http://h/apiv1", "http://h/apiv1"),
    ],
)
def test_every_way_to_write_a_base_url_has_one_root(base, path):
    assert Endpoint(base, "", "", "", {}).root == path


@pytest.mark.parametrize("tail", ["", "/", "/v1", "/v1/", "/v1/messages"])
async def test_the_request_goes_to_one_path(fake, connect, tail):
    fake.script("", Reply(Say("Hi")))
    await replies(connect(base_url=fake.base_url + tail), ASK)
    assert [seen.path for seen in fake.requests] == ["/v1/messages"]


@pytest.mark.parametrize("tail", ["/proxy", "/proxy/", "/proxy/v1", "/proxy/v1/"])
async def test_a_path_of_a_proxy_is_kept(fake, connect, tail):
    with pytest.raises(ProviderError):
        await replies(connect(base_url=fake.base_url + tail), ASK)
    assert [seen.path for seen in fake.others] == ["/proxy/v1/messages"]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"api_key": "k"}, {"x-api-key": "k", "authorization": "Bearer k"}),
        ({"api_key": " k\n"}, {"x-api-key": "k", "authorization": "Bearer k"}),
        ({"api_key": "", "auth_token": "t"}, {"authorization": "Bearer t"}),
        ({"api_key": "k", "auth_token": "t"}, {"x-api-key": "k", "authorization": "Bearer t"}),
        ({"api_key": ""}, {}),
        ({"api_key": "k", "extra_headers": {"X-API-Key": "mine"}}, {"x-api-key": "mine", "authorization": "Bearer k"}),
    ],
)
async def test_other_servers_find_the_key_where_they_look(fake, connect, options, expected):
    fake.script("", Reply(Say("Hi")))
    await replies(connect(**options), ASK)
    headers = fake.requests[0].headers
    assert {k: v for k, v in headers.items() if k in ("x-api-key", "authorization")} == expected
    assert headers["anthropic-version"] == "2023-06-01"


@pytest.mark.parametrize(
    ("base", "options", "version"),
    [
        ("https://api.anthropic.com", {}, "2026-10-21"),
        ("https://api.anthropic.com", {"api_version": "2023-06-01"}, "2023-06-01"),
        ("http://localhost:11434", {}, "2023-06-01"),
        ("http://localhost:11434", {"api_version": "2026-10-21"}, "2026-10-21"),
        ("https://api.anthropic.com.evil.test", {}, "2023-06-01"),
    ],
)
def test_the_api_version_depends_on_the_host(base, options, version):
    assert Endpoint(base, "k", "", options.get("api_version", ""), {}).headers["anthropic-version"] == version


def test_anthropic_gets_one_bearer():
    headers = Endpoint("https://api.anthropic.com/v1", "key", "token", "", {}).headers
    assert headers["authorization"] == "Bearer key"
    assert "x-api-key" not in headers


async def test_nothing_of_the_environment_is_sent(fake, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "X-Leak: yes\nAuthorization: Bearer other")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key-of-the-environment")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "token-of-the-environment")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("ANTHROPIC_PROFILE", "nobody")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    fake.script("", Reply(Say("Hi")))
    provider = AnthropicProvider(base_url=fake.base_url, extra_headers={"X-Mine": "1"})
    await replies(provider, ASK)
    await provider.close()
    seen = fake.requests[0]
    assert {"authorization", "x-api-key", "x-leak"}.isdisjoint(seen.headers)
    assert seen.headers["x-mine"] == "1"
    assert not [name for name in seen.headers if name.startswith("x-stainless")]
    assert "of-the-environment" not in str(seen.headers)


async def test_the_fake_model_refuses_a_wrong_key():
    async with FakeModel(api_key="right", is_main=lambda body: True) as fake:
        fake.script("", Reply(Say("Hi")))
        provider = AnthropicProvider(base_url=fake.base_url, api_key="wrong")
        with pytest.raises(ProviderError, match="invalid x-api-key"):
            await replies(provider, ASK)
        await provider.close()


def test_importing_the_module_does_not_import_the_sdk():
    code = "import sys, quillback.providers.anthropic; print('anthropic' in sys.modules, 'httpx2' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


async def test_warming_up_makes_the_client_once(connect):
    provider = connect()
    provider.warm_up()
    first = provider._client
    provider.warm_up()
    assert first is not None
    assert provider._client is first
