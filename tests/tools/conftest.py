from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from support.toolroom import Room


@pytest.fixture
async def room(tmp_path: Path) -> AsyncIterator[Room]:
    room = Room(tmp_path.resolve())
    yield room
    await room.toolbox.close()
