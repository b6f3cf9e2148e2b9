from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from quillback.providers.anthropic import AnthropicProvider
from quillback.providers.openai import OpenAIProvider
from support.fake_model import FakeModel
from support.fake_openai import FakeOpenAI


@pytest.fixture
async def fake() -> AsyncIterator[FakeModel]:
    async with FakeModel(is_main=lambda body: True) as server:
        yield server


@pytest.fixture
async def connect(fake: FakeModel) -> AsyncIterator[Callable[..., AnthropicProvider]]:
    """Makes providers that speak to the fake model."""
    made: list[AnthropicProvider] = []

    def connect(**options: Any) -> AnthropicProvider:
        made.append(AnthropicProvider(**{"base_url": fake.base_url, "api_key": "key-for-tests", **options}))
        return made[-1]

    yield connect
    for provider in made:
        await provider.close()


@pytest.fixture
async def fake_openai() -> AsyncIterator[FakeOpenAI]:
    async with FakeOpenAI(is_main=lambda body: True) as server:
        yield server


@pytest.fixture
async def connect_openai(fake_openai: FakeOpenAI) -> AsyncIterator[Callable[..., OpenAIProvider]]:
    """Makes providers that speak to the fake chat completions."""
    made: list[OpenAIProvider] = []

    def connect(**options: Any) -> OpenAIProvider:
        made.append(OpenAIProvider(**{"base_url": fake_openai.base_url, "api_key": "key-for-tests", **options}))
        return made[-1]

    yield connect
    for provider in made:
        await provider.close()
