"""Which models are OpenAI's or reached like them, who serves them, and with which key."""

from pathlib import Path

import keyring
import keyring.backend
import pytest

from quillback.config import Settings, load_settings
from quillback.core.mask import Mask
from quillback.core.message import Usage
from quillback.core.model import Failure, Model, Price, ProviderError
from quillback.core.usage import cost
from quillback.credentials import OPENAI, Credentials, CredentialsError, resolve_api_key, store_api_key
from quillback.models import Models
from quillback.providers.catalog import Catalog
from quillback.providers.text_tools import TextTools
from support.fake_model import FakeModel
from support.fake_model import Reply as AnthropicReply
from support.fake_model import Say as AnthropicSay
from support.fake_openai import Reply, Say
from support.model_request import replies, request

pytestmark = pytest.mark.anyio


class MemoryKeyring(keyring.backend.KeyringBackend):
    priority = 1
    name = "memory"

    def __init__(self):
        self.kept = {}

    def get_password(self, service, username):
        return self.kept.get((service, username))

    def set_password(self, service, username, password):
        self.kept[service, username] = password

    def delete_password(self, service, username):
        del self.kept[service, username]


@pytest.fixture
def kept():
    before = keyring.get_keyring()
    keyring.set_keyring(MemoryKeyring())
    yield keyring.get_keyring().kept
    keyring.set_keyring(before)


def load(home: Path, toml: str = "", **env: str) -> Settings:
    (home / "config.toml").write_text(toml)
    settings = load_settings({"QUILLBACK_HOME": str(home), **env})
    assert settings.problems == ()
    return settings


# ---------------------------------------------------------------- the catalog


def test_openais_own_models_are_known():
    catalog = Catalog({})
    terra = catalog.get("openai:gpt-5.6-terra")
    assert (terra.provider, terra.context_window, terra.max_output) == ("openai", 1_050_000, 128_000)
    assert cost(terra, Usage(100_000, 1_000, 100_000)) == pytest.approx(0.2 + 0.012 + 0.02)
    assert cost(terra, Usage(200_000, 1_000, 100_000)) == pytest.approx(0.8 + 0.018 + 0.04)
    assert catalog.get("openai:gpt-5.6-sol").price is None
    sol = catalog.get("openai:gpt-6.2-sol")
    assert (sol.text_tools, sol.price) == (True, Price(2.0, 10.0, 0.1, 2.5))


def test_an_unknown_model_with_the_prefix_gets_careful_guesses():
    model = Catalog({}).get("openai:qwen3:30b")
    assert (model.id, model.provider, model.name) == ("openai:qwen3:30b", "openai", "qwen3:30b")
    assert (model.thinking, model.text_tools, model.price) == (False, False, None)


def test_a_table_corrects_one_under_either_name(tmp_path):
    models = Models(
        load(
            tmp_path,
            """
            [models."openai:qwen"]
            context_window = 32768
            thinking = true
            text_tools = true
            [models."plain"]
            provider = "openai"
            """,
        )
    )
    qwen, plain = models.get("openai:qwen"), models.get("plain")
    assert (qwen.provider, qwen.context_window, qwen.thinking) == ("openai", 32_768, True)
    assert plain.provider == "openai"
    assert isinstance(models.provider(qwen), TextTools)
    assert models.provider(plain) is models.provider(qwen).inner


def test_an_unknown_provider_is_a_problem_with_its_place(tmp_path):
    (tmp_path / "config.toml").write_text('[models."m"]\nprovider = "ollama"\n')
    (problem,) = Models(load_settings({"QUILLBACK_HOME": str(tmp_path)})).problems
    assert problem == f"{tmp_path}/config.toml:2: models.\"m\".provider must be anthropic or openai, not 'ollama'"


@pytest.mark.parametrize(
    ("toml", "env", "offered"),
    [
        ("", {}, False),
        ("", {"OPENAI_API_KEY": "sk-1"}, True),
        ('[openai]\napi_key_command = "echo sk-1"', {}, True),
        ("", {"OPENAI_API_KEY": "sk-1", "OPENAI_BASE_URL": "http://localhost:8080"}, False),
        ("", {"QUILLBACK_MODEL": "openai:gpt-5.6-terra"}, True),
        ('[models."openai:gpt-5.6-luna"]\nname = "Luna"', {}, True),
    ],
)
def test_openais_models_are_offered_where_they_can_be_reached(tmp_path, toml, env, offered):
    ids = [id_ for id_, _ in Models(load(tmp_path, toml, **env)).choices()]
    assert ("openai:gpt-5.6-luna" in ids) is offered
    assert "claude-sonnet-5-5" in ids


@pytest.mark.parametrize(
    ("env", "small", "services"),
    [
        ({}, "claude-haiku-5-5", ["anthropic"]),
        ({"QUILLBACK_MODEL": "openai:qwen"}, "openai:qwen", ["openai"]),
        ({"QUILLBACK_MODEL": "openai:qwen", "QUILLBACK_SMALL_MODEL": "openai:tiny"}, "openai:tiny", ["openai"]),
        (
            {"QUILLBACK_MODEL": "openai:qwen", "QUILLBACK_SMALL_MODEL": "claude-haiku-5-5"},
            "claude-haiku-5-5",
            ["openai", "anthropic"],
        ),
        ({"QUILLBACK_SMALL_MODEL": "openai:tiny"}, "openai:tiny", ["anthropic", "openai"]),
        ({"QUILLBACK_MODEL": "scripted:demo"}, "claude-haiku-5-5", ["anthropic"]),
    ],
)
def test_no_other_service_hears_of_a_conversation_unless_the_user_named_it(tmp_path, env, small, services):
    models = Models(load(tmp_path, **env))
    assert (models.small, models.services()) == (small, services)


# ---------------------------------------------------------------- the key


def test_the_order_is_key_command_keyring(tmp_path, kept):
    store_api_key("sk-kept", OPENAI)
    store_api_key("sk-ant-kept")
    toml = '[openai]\napi_key_command = "echo sk-cmd"'
    found = [
        resolve_api_key(load(tmp_path, toml, OPENAI_API_KEY="sk-env", ANTHROPIC_API_KEY="other"), OPENAI),
        resolve_api_key(load(tmp_path, toml, ANTHROPIC_API_KEY="other"), OPENAI),
        resolve_api_key(load(tmp_path, ANTHROPIC_API_KEY="other"), OPENAI),
    ]
    assert [c.api_key for c in found] == ["sk-env", "sk-cmd", "sk-kept"]
    assert resolve_api_key(load(tmp_path, OPENAI_API_KEY="sk-env")).api_key == "sk-ant-kept"


def test_other_servers_need_no_key_and_get_none_that_is_kept(tmp_path, kept):
    store_api_key("sk-kept", OPENAI)
    settings = load(tmp_path, OPENAI_BASE_URL="http://localhost:11434")
    assert resolve_api_key(settings, OPENAI) == Credentials()
    evil = load(tmp_path, OPENAI_BASE_URL="https://api.openai.com.evil.example/v1")
    assert resolve_api_key(evil, OPENAI) == Credentials()


def test_without_a_key_it_says_what_to_do(tmp_path, kept):
    with pytest.raises(CredentialsError) as caught:
        resolve_api_key(load(tmp_path), OPENAI)
    assert str(caught.value) == (
        "No OpenAI API key. Run `quillback login --provider openai`, or set OPENAI_API_KEY, or api_key_command under "
        f"[openai] in {tmp_path}/config.toml."
    )


def test_wrong_settings_are_told_without_their_value(tmp_path):
    (tmp_path / "config.toml").write_text('[openai]\nkey = "sk-1"\napi_key_command = "two\\nlines"\n')
    env = {"QUILLBACK_HOME": str(tmp_path), "OPENAI_BASE_URL": "localhost:1", "OPENAI_API_KEY": "two words"}
    assert set(load_settings(env).problems) == {
        "OPENAI_API_KEY: the value is not allowed; use a text of printable ASCII characters without spaces",
        "OPENAI_BASE_URL: the value is not allowed; use an address such as https://host:port/path, without query",
        f"{tmp_path}/config.toml:2: openai.key: no such key; did you mean openai.api_key?",
        f"{tmp_path}/config.toml:3: openai.api_key_command: 'two\\nlines' is not allowed; use one line of text",
    }


# ---------------------------------------------------------------- who serves


async def test_both_services_are_used_side_by_side(tmp_path, fake_openai):
    async with FakeModel(is_main=lambda body: True) as fake_model:
        fake_openai.script("", Reply(Say("from openai")))
        fake_model.script("", AnthropicReply(AnthropicSay("from anthropic")))
        mask = Mask()
        models = Models(
            load(
                tmp_path,
                '[openai]\napi_key_command = "echo sk-of-the-command"',
                OPENAI_BASE_URL=f"{fake_openai.base_url}/v1",
                ANTHROPIC_BASE_URL=fake_model.base_url,
                ANTHROPIC_API_KEY="sk-of-the-environment",
                QUILLBACK_MODEL="openai:qwen",
                QUILLBACK_SMALL_MODEL="claude-haiku-5-5",
            ),
            mask,
        )
        said = []
        for model in (models.get(models.default), models.get(models.small)):
            events = await replies(models.provider(model), request("Hi", model=model))
            said += [e.text for e in events if getattr(e, "text", "")]
        await models.close()
        assert said == ["from openai", "from anthropic"]
        assert fake_openai.requests[0].headers["authorization"] == "Bearer sk-of-the-command"
        assert fake_openai.requests[0].body["model"] == "qwen"
        assert fake_model.requests[0].headers["x-api-key"] == "sk-of-the-environment"
        assert "sk-of-the-command" not in mask.hide("it is sk-of-the-command")
        assert fake_openai.violations == fake_model.violations == []


async def test_a_missing_key_is_told_as_such(tmp_path, kept):
    models = Models(load(tmp_path))
    model = Model("openai:gpt-5.6-terra", "openai", "t", 1_000, 100)
    with pytest.raises(ProviderError, match="No OpenAI API key") as caught:
        await replies(models.provider(model), request("Hi", model=model))
    assert caught.value.failure is Failure.NO_CREDENTIALS
