"""Each rule of the house can fail: a snippet that breaks it is caught, one beside it is not."""

import subprocess
from pathlib import Path

import pytest

from support import house

S = house.SERVER


@pytest.mark.parametrize(
    ("path", "text", "caught"),
    [
        ("core/turn.py", "from quillback.session.driver import run", True),
        ("core/turn.py", "from quillback.core.message import Text", False),
        ("core/turn.py", "from quillback import __version__", False),
        ("tools/read.py", "def f():\n    import quillback.store.sqlite", True),
        ("tools/read.py", "from quillback import store", True),
        ("tools/read.py", "from quillback.core.ports import Tool", False),
        ("providers/anthropic.py", "import importlib\nimportlib.import_module('quillback.tools.read')", True),
        ("session/driver.py", "from quillback.edge.convert import update", True),
        ("session/driver.py", "from quillback.config import Settings", True),
        ("edge/acp/prompt.py", "from quillback.session.session import Session", False),
        ("edge/acp/prompt.py", "if TYPE_CHECKING:\n    from quillback.store.sqlite import Store", True),
        ("cli_run.py", "from quillback.cli import main", False),
        ("cli_run.py", "from quillback.store.sqlite import Store", True),
        ("config_file.py", "from quillback.app import App", True),
        ("app.py", "from quillback.store.sqlite import Store", False),
        ("__init__.py", "from quillback.core import message", True),
    ],
)
def test_direction(path, text, caught):
    assert bool(house.direction(S + path, text)) is caught


def test_a_part_nobody_named_is_caught():
    assert house.unknown_part(S + "helpers/util.py")
    assert not house.unknown_part(S + "core/turn.py")
    assert not house.unknown_part(S + "__init__.py")


@pytest.mark.parametrize(
    ("path", "text", "caught"),
    [
        ("tools/web.py", "from anthropic import AsyncAnthropic", True),
        ("providers/anthropic_wire.py", "from anthropic import AsyncAnthropic", False),
        ("app.py", "import importlib\nimportlib.import_module('anthropic')", True),
        ("session/session.py", "import aiosqlite", True),
        ("store/sqlite.py", "import aiosqlite", False),
        ("tools/x.py", "import mcp.client", True),
        ("mcp/manager.py", "import mcp.client", False),
        ("edge/acp/x.py", "from lsprotocol import types", True),
        ("edge/lsp/x.py", "from pygls.server import JsonRPCServer", False),
        ("session/x.py", "from quillback_protocol.acp import update", True),
        ("edge/convert.py", "from quillback_protocol.acp import update", False),
    ],
)
def test_confinement(path, text, caught):
    assert bool(house.confinement(S + path, text)) is caught


@pytest.mark.parametrize(
    ("text", "caught"),
    [
        ("import asyncio", True),
        ("import os.path", True),
        ("from time import time", True),
        ("from random import random", True),
        ("import socket, json", True),
        ("from pathlib import Path", True),
        ("from pathlib import PurePosixPath", False),
        ("from datetime import datetime", True),
        ("from urllib.parse import urlsplit", False),
        ("from urllib.request import urlopen", True),
        ("import orjson", True),
        ("def f():\n    import subprocess", True),
        ("import json, re, hashlib\nfrom attrs import frozen\nfrom collections.abc import Iterable", False),
    ],
)
def test_purity(text, caught):
    assert bool(house.purity(S + "core/turn.py", text)) is caught


def test_protocol_alone():
    path = house.PROTOCOL + "peer.py"
    assert house.protocol_alone(path, "from quillback.core.message import Text")
    assert house.protocol_alone(path, "import httpx2")
    assert not house.protocol_alone(
        path, "import asyncio, orjson, attrs\nfrom quillback_protocol.framing import encode"
    )


def test_undeclared():
    declared = frozenset({"attrs"})
    assert house.undeclared(S + "x.py", "import requests", declared)
    assert not house.undeclared(S + "x.py", "import attrs, json, quillback.core", declared)


def test_relative_imports():
    assert house.relative_imports("x.py", "from . import y")
    assert house.relative_imports("x.py", "from ..y import z")
    assert not house.relative_imports("x.py", "from y import z")


def test_too_long():
    function = "def f():\n" + "    x = 1\n" * house.FUNCTION_LIMIT
    assert "f has 61 lines" in house.too_long("x.py", function)[0]
    assert not house.too_long("x.py", function.removesuffix("    x = 1\n"))
    assert house.too_long("x.py", "x = 1\n" * (house.FILE_LIMIT + 1))
    assert not house.too_long("x.py", "x = 1\n" * house.FILE_LIMIT)
    assert house.too_long(S + "inspectors/chain.py", "x = 1\n" * 61)


def test_no_docstring():
    assert house.no_docstring("x.py", "import os\n")
    assert house.no_docstring("x.py", "# a comment\n")
    assert not house.no_docstring("x.py", '"""Why."""\n')


@pytest.mark.parametrize("word", ["TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK"])
def test_notes_to_self(word):
    assert house.notes_to_self("x.py", f"a = 1\n# {word}: later\n") == [f"x.py:2: {word}"]
    assert not house.notes_to_self("x.py", "todo_write = 1  # hacking away at mkXXX\n")


MINE = ["cd /ho" + "me/al/x", "/Us" + "ers/bob", '"/ro' + 'ot"', "in /wo" + "rk/x", "https://pypi" + ".org/simple/x"]
FINE = [
    "/tmp",
    "~/.config/zed",
    "$HOME/x",
    "{tmp}/ro" + "ot",
    "docs/ho" + "me/index",
    "/etc/ro" + "ot.conf",
    "framework/x",
    "pypi.org",
]


def test_machine_specific():
    for text in MINE:
        assert house.machine_specific("README.md", f"one\n{text}\n")
    assert house.machine_specific("README.md", "\n".join(FINE)) == []


def test_stray_entries():
    assert house.stray_entries(["server/x.py", ".github/x", "README.md", "notes.md", "src/a.py"]) == ["notes.md", "src"]


def test_untested_invariants(tmp_path: Path):
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_x.py").write_text("class TestX:\n    async def test_there(self): ...\n")
    good = "Invariant: a (`tests/test_x.py::test_there`).\n- **Invariant:** b `tests/test_x.py::test_there`\nNo rule."
    assert house.untested_invariants(good, tmp_path) == []
    assert house.untested_invariants("x\n**Invariant:** nothing is named.", tmp_path) == ["line 2: no test named"]
    assert house.untested_invariants("Invariant: `tests/test_x.py::test_gone`", tmp_path)
    assert house.untested_invariants("Invariant: `tests/test_y.py::test_there`", tmp_path)


@pytest.mark.parametrize("with_git", [True, False])
def test_tracked_files(tmp_path: Path, with_git):
    for name in (".venv/x.py", "server/a.py", "new.txt", "__pycache__/x.pyc", ".gitignore"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(".venv/\n")
    if with_git:
        subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    assert house.tracked_files(tmp_path) == [".gitignore", "new.txt", "server/a.py"]
