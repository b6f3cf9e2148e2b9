"""Neovim's own LSP client, headless and without a plugin: pick a code action, approve, undo, read the answer."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.agent import environment, scripted

NVIM = os.environ.get("NVIM_BIN") or shutil.which("nvim")
DRIVER = Path(__file__).parent.parent / "support" / "lsp_nvim.lua"
SCRIPT = """
call: read_file {"path": "greeting.py"}
---
call: edit_file {"path": "greeting.py", "old_text": "Hello, {name}", "new_text": "Hello, {name}!"}
---
text: It greets with a mark now.
---
text: # What it does\\n\\nIt greets.
"""


@pytest.mark.skipif(NVIM is None, reason="there is no nvim on the PATH and NVIM_BIN names none")
def test_neovim_without_a_plugin(tmp_path):
    workspace, home = tmp_path / "workspace", tmp_path / "home"
    workspace.mkdir()
    home.mkdir()
    (workspace / "greeting.py").write_text('def greet(name):\n    return f"Hello, {name}"\n')
    env = environment(home, "http://127.0.0.1:9", scripted(tmp_path, SCRIPT))
    done = subprocess.run(
        [str(NVIM), "--clean", "--headless", "-l", str(DRIVER)],
        cwd=workspace,
        env={**env, "QUILLBACK_PYTHON": sys.executable, "XDG_STATE_HOME": str(home), "XDG_CACHE_HOME": str(home)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=90,
        text=True,
    )
    said = done.stdout
    assert done.returncode == 0, said
    assert '["Allow","Always allow edit_file(greeting.py)"' in said
    assert 'BUFFER ["def greet(name):","    return f\\"Hello, {name}!\\""]' in said
    assert 'UNDONE ["def greet(name):","    return f\\"Hello, {name}\\""]' in said
    assert 'ANSWER ["# Explain greeting.py:2","","# What it does","","It greets."]' in said
    assert "PROGRESS begin" in said
    assert "PROGRESS end" in said
    assert "STOPPED" in said
