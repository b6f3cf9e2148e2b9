"""subagent: what reaches the port, and how its answer is bounded and shown."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from quillback.core.message import Text, ToolKind
from quillback.core.ports import ToolError, ToolOutcome, ToolProgress
from quillback.core.subagent import Task
from quillback.tools.context import ToolContext
from quillback.tools.registry import build_toolbox
from quillback.tools.subagent import Subagent
from support.toolroom import FakeEditor

pytestmark = pytest.mark.anyio


class Port:
    """A Subagents port that says what it is told to say."""

    def __init__(self, *steps: ToolProgress | ToolOutcome | Exception) -> None:
        self.steps = steps
        self.tasks: list[Task] = []
        self.closed = False

    async def run(self, task: Task) -> AsyncGenerator[ToolProgress | ToolOutcome, None]:
        self.tasks.append(task)
        try:
            for step in self.steps:
                if isinstance(step, Exception):
                    raise step
                yield step
        finally:
            self.closed = True


def context(tmp_path: Path, port: Port | None) -> ToolContext:
    return ToolContext("s", tmp_path, (tmp_path,), FakeEditor(), {}, tmp_path / "outputs", subagents=port)


async def run(tmp_path: Path, port: Port, **arguments: object) -> list[ToolProgress | ToolOutcome]:
    prepared = await Subagent(context(tmp_path, port), port).prepare("call_1", arguments)
    assert not prepared.access.reads
    assert not prepared.access.command
    return [step async for step in prepared.run()]


def outcome(text: str, **more: object) -> ToolOutcome:
    return ToolOutcome((Text(text),), **more)


async def test_the_task_reaches_the_port_and_the_answer_comes_back(tmp_path):
    port = Port(ToolProgress((Text("[>] read"),)), outcome("found", shown=(Text("[x] read"),), cost=0.5))
    progress, end = await run(tmp_path, port, task="  look ", tools=["grep", "read_file", "grep"])
    assert port.tasks == [Task("call_1", "look", ("grep", "read_file"))]
    assert progress == ToolProgress((Text("[>] read"),))
    assert end == outcome("found", shown=(Text("[x] read"), Text("found")), cost=0.5)
    assert port.closed


async def test_all_tools_by_default_and_none_where_none_are_named(tmp_path):
    port = Port(outcome("x"))
    await run(tmp_path, port, task="a")
    await run(tmp_path, port, task="a", tools=[])
    assert [task.tools for task in port.tasks] == [None, ()]


async def test_a_long_answer_is_kept_whole_in_a_file(tmp_path):
    (end,) = await run(tmp_path, Port(outcome("y" * 90_000, is_error=True, stop_turn=True)), task="a")
    assert isinstance(end, ToolOutcome)
    assert len(end.content[0].text) <= 30_000
    assert (end.is_error, end.stop_turn) == (True, True)
    (kept,) = (tmp_path / "outputs").iterdir()
    assert kept.read_text() == "y" * 90_000


async def test_what_a_terminal_would_obey_is_taken_out(tmp_path):
    (end,) = await run(tmp_path, Port(outcome("a\x1b[2Jb\x00\ud800", shown=(Text("\x1b[1mx"),))), task="a")
    assert isinstance(end, ToolOutcome)
    assert end.content == (Text("ab�"),)
    assert end.shown[0] == Text("x")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({}, "task must not be empty"),
        ({"task": " \n"}, "task must not be empty"),
        ({"task": 7}, "task must be a string"),
        ({"task": "a", "tools": "grep"}, "tools must be a list"),
        ({"task": "a", "tools": ["grep", 7]}, "tools must be a list"),
    ],
)
async def test_bad_arguments_are_errors(tmp_path, arguments, says):
    port = Port(outcome("x"))
    with pytest.raises(ToolError, match=says):
        await run(tmp_path, port, **arguments)
    assert port.tasks == []


async def test_an_error_of_the_port_comes_through(tmp_path):
    with pytest.raises(ToolError, match="no tool magic"):
        await run(tmp_path, Port(ToolError("a subagent has no tool magic")), task="a")
    with pytest.raises(ToolError, match="without an answer"):
        await run(tmp_path, Port(), task="a")


async def test_it_is_offered_only_where_there_are_subagents(tmp_path):
    def names(port: Port | None) -> list[str]:
        return [tool.spec.name for tool in build_toolbox(context(tmp_path, port)).tools()]

    assert set(names(Port())) - set(names(None)) == {"subagent"}
    assert names(Port()) == sorted(names(Port()))


def test_how_it_is_announced(tmp_path):
    spec = Subagent(context(tmp_path, None), Port()).spec
    assert (spec.kind, spec.read_only) == (ToolKind.THINK, True)
    assert spec.describe({"task": "look\nat  it"}).title == "Subagent: look at it"
    assert spec.describe({"task": 7}).title == spec.describe({}).title == "Subagent"
    assert len(spec.describe({"task": "z" * 999}).title) <= 110
