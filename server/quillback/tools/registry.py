"""The server tools of one session, and what they keep alive."""

from collections.abc import Sequence

from attrs import frozen

from quillback.core.ports import Tool, Toolbox
from quillback.core.prompts import NoPrompts
from quillback.tools.ask import AskUser
from quillback.tools.command import Commands
from quillback.tools.context import ToolContext
from quillback.tools.edit import EditFile
from quillback.tools.jobs import Jobs, ShellKill, ShellOutput
from quillback.tools.listing import Glob, ListDir
from quillback.tools.read import ReadFile
from quillback.tools.sandbox import Cell
from quillback.tools.search import Grep
from quillback.tools.shell import Shell
from quillback.tools.subagent import Subagent
from quillback.tools.todo import TodoWrite
from quillback.tools.write import WriteFile


@frozen
class SessionToolbox(NoPrompts):
    """Closing it ends the session's commands and jobs; a command started later is refused."""

    _tools: tuple[Tool, ...]
    _commands: Commands
    _cell: Cell | None

    def tools(self) -> Sequence[Tool]:
        return self._tools

    async def ready(self) -> None:
        """All are there from the start; only how commands are confined is found out."""
        if self._cell is not None:
            await self._cell.look()

    async def close(self) -> None:
        try:
            await self._commands.close()
        finally:
            if self._cell is not None:
                await self._cell.close()


def build_toolbox(context: ToolContext) -> Toolbox:
    """The tools of a session, sorted by name. Nothing is started and no file is touched yet."""
    commands = Commands()
    jobs = Jobs(context, commands)
    box = context.sandbox
    cell = Cell(box, context.cwd, context.roots, context.outputs) if box is not None else None
    tools: list[Tool] = [
        AskUser(context),
        EditFile(context),
        Glob(context),
        Grep(context),
        ListDir(context),
        ReadFile(context),
        Shell(context, commands, jobs, cell),
        ShellKill(jobs),
        ShellOutput(jobs),
        TodoWrite(),
        WriteFile(context),
    ]
    if context.subagents is not None:
        tools.append(Subagent(context, context.subagents))
    return SessionToolbox(tuple(sorted(tools, key=lambda tool: tool.spec.name)), commands, cell)
