"""Toolboxes over real servers, all closed at the end with nothing left behind."""

import json
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from attrs import define, field

from quillback.core.mcp_server import StdioServer
from quillback.core.ports import ToolOutcome, ToolProgress
from quillback.mcp.manager import McpToolbox
from quillback.mcp.server import Server
from support import mcp_server

SCRIPT = mcp_server.__file__


@define
class Room:
    """A toolbox and what came out of it."""

    box: McpToolbox
    path: Path
    notices: list[str] = field(factory=list)
    shown: list[str] = field(factory=list)

    def names(self) -> list[str]:
        return [tool.spec.name for tool in self.box.tools()]

    def log(self, name: str) -> list[dict]:
        path = self.path / f"{name}.log"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def calls(self, name: str) -> list[str]:
        return [entry["call"] for entry in self.log(name) if "call" in entry]

    async def call(self, name: str, **arguments: object) -> ToolOutcome:
        tool = next(tool for tool in self.box.tools() if tool.spec.name == name)
        prepared = await tool.prepare("call-1", arguments)
        async for item in prepared.run():
            match item:
                case ToolProgress(shown=shown):
                    self.shown += [part.text for part in shown]
                case ToolOutcome():
                    return item
        raise AssertionError("no outcome")


def text(outcome: ToolOutcome) -> str:
    return "".join(part.text for part in outcome.content)


@pytest.fixture
def said() -> Callable[[ToolOutcome], str]:
    return text


@pytest.fixture
def stdio(tmp_path: Path) -> Callable[..., StdioServer]:
    """A server of `support/mcp_server.py`; its log is named after it."""

    def server(name: str, mode: str = "tools", **env: str) -> StdioServer:
        return StdioServer(name, sys.executable, ("-I", "-S", SCRIPT, mode, str(tmp_path / f"{name}.log")), env)

    return server


@pytest.fixture
async def room(tmp_path: Path) -> AsyncIterator[Callable[..., Room]]:
    rooms: list[Room] = []

    def make(*servers: Server, **options: object) -> Room:
        notices: list[str] = []
        box = McpToolbox(
            servers, session_id="s", cwd=tmp_path, outputs=tmp_path / "outputs", on_notice=notices.append, **options
        )
        rooms.append(Room(box, tmp_path, notices))
        return rooms[-1]

    yield make
    for each in rooms:
        await each.box.close()


@pytest.fixture
async def open_room(room: Callable[..., Room]) -> Callable[..., object]:
    """A room whose servers are up, or have failed."""

    async def make(*servers: Server, **options: object) -> Room:
        made = room(*servers, **options)
        made.box.start()
        await made.box.ready(10)
        return made

    return make
