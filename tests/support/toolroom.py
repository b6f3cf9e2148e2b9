"""A session's tools in a workspace of their own, and an editor that does what a test says."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

import jsonschema
from attrs import define, field

from quillback.core.frontend import FrontendTool
from quillback.core.message import Text
from quillback.core.ports import (
    Choice,
    EditorCapabilities,
    EditorError,
    PermissionAsk,
    PreparedCall,
    TerminalOutput,
    Tool,
    Toolbox,
    ToolError,
    ToolOutcome,
    ToolProgress,
)
from quillback.core.undo import KeepOriginal, KeepsNothing
from quillback.tools.context import ToolContext
from quillback.tools.registry import build_toolbox
from quillback.tools.sandbox import Sandbox


@define
class FakeEditor:
    """Offers nothing at first. `buffers` holds unsaved text by path; other files are read from and saved to disk."""

    capabilities: EditorCapabilities = field(factory=EditorCapabilities)
    buffers: dict[str, str] = field(factory=dict)
    saves: bool = True
    formats: bool = False
    read_error: EditorError | None = None
    write_error: EditorError | None = None
    terminal_error: EditorError | None = None
    read_paths: list[str] = field(factory=list)
    written: list[tuple[str, str]] = field(factory=list)
    created: list[tuple[str, str, Mapping[str, str]]] = field(factory=list)
    ended: list[tuple[str, bool]] = field(factory=list)
    terminal: TerminalOutput = field(factory=lambda: TerminalOutput("", False, True, 0))
    terminal_done: asyncio.Event = field(factory=asyncio.Event)

    def offer(self, *, read: bool = False, write: bool = False, terminal: bool = False) -> None:
        self.capabilities = EditorCapabilities(read, write, terminal)

    async def ask_permission(self, session_id: str, ask: PermissionAsk) -> Choice:
        raise AssertionError("tools do not ask")

    def frontend_tools(self, session_id: str) -> tuple[FrontendTool, ...]:
        return ()

    async def read_text(self, session_id: str, path: str) -> str:
        assert self.capabilities.read_text
        self.read_paths.append(path)
        await asyncio.sleep(0)
        if self.read_error is not None:
            raise self.read_error
        if path in self.buffers:
            return self.buffers[path]
        try:
            return Path(path).read_bytes().decode(errors="replace")
        except OSError as error:
            raise EditorError(str(error), -32002) from None

    async def write_text(self, session_id: str, path: str, content: str) -> None:
        assert self.capabilities.write_text
        await asyncio.sleep(0)
        if self.write_error is not None:
            raise self.write_error
        self.written.append((path, content))
        if not self.saves:
            self.buffers[path] = content
            return
        self.buffers.pop(path, None)
        Path(path).write_bytes((content.replace("  ", " ") if self.formats else content).encode())

    async def create_terminal(
        self, session_id: str, command: str, cwd: str, env: Mapping[str, str], output_limit: int
    ) -> str:
        assert self.capabilities.terminal
        if self.terminal_error is not None:
            raise self.terminal_error
        self.created.append((command, cwd, env))
        return f"term_{len(self.created)}"

    async def terminal_output(self, session_id: str, terminal_id: str) -> TerminalOutput:
        assert not self.ended, "a released terminal has no output"
        return self.terminal

    async def wait_terminal(self, session_id: str, terminal_id: str) -> TerminalOutput:
        await self.terminal_done.wait()
        return self.terminal

    def end_terminal(self, session_id: str, terminal_id: str, *, kill: bool) -> None:
        self.ended.append((terminal_id, kill))


@define
class Room:
    """`workspace` is the session's directory and only root; `home` is above it."""

    home: Path
    editor: FakeEditor = field(factory=FakeEditor)
    shell_in_editor: bool = False
    secret_env: frozenset[str] = frozenset()
    sandbox: Sandbox | None = None
    more_roots: tuple[Path, ...] = ()
    keep_original: KeepOriginal = field(factory=KeepsNothing)
    context: ToolContext = field(init=False)
    toolbox: Toolbox = field(init=False)
    progress: list[ToolProgress] = field(factory=list)
    calls: int = 0

    def __attrs_post_init__(self) -> None:
        self.workspace.mkdir(exist_ok=True)
        self.open()

    @property
    def workspace(self) -> Path:
        return self.home / "ws"

    def open(self, cwd: Path | None = None) -> None:
        """Make the tools, with what was set on the room since."""
        self.context = ToolContext(
            session_id="s1",
            cwd=cwd or self.workspace,
            roots=((cwd or self.workspace).resolve(), *self.more_roots),
            editor=self.editor,
            known={},
            outputs=self.home / "outputs",
            shell_in_editor=self.shell_in_editor,
            secret_env=self.secret_env,
            sandbox=self.sandbox,
            keep_original=self.keep_original,
        )
        self.toolbox = build_toolbox(self.context)

    def file(self, name: str, content: bytes | str = b"", mode: int | None = None) -> Path:
        path = self.workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        if mode is not None:
            path.chmod(mode)
        return path

    def tool(self, name: str) -> Tool:
        return next(tool for tool in self.toolbox.tools() if tool.spec.name == name)

    async def prepare(self, name: str, **arguments: object) -> PreparedCall:
        tool = self.tool(name)
        jsonschema.validate(arguments, tool.spec.input_schema)
        self.calls += 1
        return await tool.prepare(f"call_{self.calls}", arguments)

    async def run(self, prepared: PreparedCall) -> ToolOutcome:
        self.progress = []
        outcome = None
        async for step in prepared.run():
            assert outcome is None, "nothing comes after the outcome"
            match step:
                case ToolProgress():
                    self.progress.append(step)
                case ToolOutcome():
                    outcome = step
        assert outcome is not None
        return outcome

    async def call(self, name: str, **arguments: object) -> ToolOutcome:
        return await self.run(await self.prepare(name, **arguments))

    async def text(self, name: str, **arguments: object) -> str:
        return text(await self.call(name, **arguments))

    async def refused(self, name: str, **arguments: object) -> str:
        """What the model is told when the call fails."""
        try:
            outcome = await self.call(name, **arguments)
        except ToolError as error:
            return str(error)
        raise AssertionError(f"{name} was not refused: {outcome}")


def text(outcome: ToolOutcome) -> str:
    return "".join(part.text for part in outcome.content if isinstance(part, Text))
