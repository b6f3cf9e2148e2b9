import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from support.processes import zombies
from support.toolroom import Room


@pytest.fixture
async def room(tmp_path: Path) -> AsyncIterator[Room]:
    room = Room(tmp_path.resolve())
    yield room
    await room.toolbox.close()


@pytest.fixture
def new_zombies() -> Callable[[], set[int]]:
    """The dead children of this process that have come since the test began; those before are of other tests."""
    before = set(zombies(os.getpid()))
    return lambda: set(zombies(os.getpid())) - before
