from pathlib import Path

import pytest

from support.cli import Shell


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """A fresh home and workspace."""
    (tmp_path / "home").mkdir()
    (tmp_path / "workspace").mkdir()
    return Shell(tmp_path)
