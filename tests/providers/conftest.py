from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from quillback.providers.anthropic import AnthropicProvider
from support.fake_model import FakeModel


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
