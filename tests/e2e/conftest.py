from collections.abc import AsyncIterator

import pytest

from support.fake_model import FakeModel


@pytest.fixture
async def fake() -> AsyncIterator[FakeModel]:
    """A strict model server; at the end no request may have broken the service's rules."""
    async with FakeModel() as server:
        yield server
        assert server.violations == []
