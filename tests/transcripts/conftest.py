import pytest

from support.cli import Shell


@pytest.fixture
def shell(tmp_path) -> Shell:
    (tmp_path / "home").mkdir()
    (tmp_path / "workspace").mkdir()
    return Shell(tmp_path)
