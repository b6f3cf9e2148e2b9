"""Sandboxes for tests, and the mark of those that need one that works."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from quillback.tools.sandbox import Sandbox

PROBLEM = Sandbox(offline=True).probe()
needs_bwrap = pytest.mark.skipif(PROBLEM != "", reason=f"no sandbox: {PROBLEM}")


@contextmanager
def elsewhere() -> Iterator[Path]:
    """A directory that is not below /tmp, which is hidden in a sandbox anyway."""
    path = Path(tempfile.mkdtemp(prefix="quillback-test-", dir="/var/tmp")).resolve()
    try:
        yield path
    finally:
        shutil.rmtree(path)


def path_without(place: Path, *names: str) -> str:
    """A PATH with nothing but these programs."""
    place.mkdir()
    for name in names:
        found = shutil.which(name)
        assert found is not None
        (place / name).symlink_to(found)
    return str(place)
