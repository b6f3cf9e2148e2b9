"""What a subagent is given in place of a session's own parts: tools that are lent, and nothing that is the user's."""

import asyncio
from collections.abc import Sequence

from attrs import define

from quillback.core.commands import CommandInfo, CommandResult, Desk
from quillback.core.hooks import HookAnswer, HookCall, HookPoint, Hooks
from quillback.core.ports import Tool, Toolbox
from quillback.core.prompts import NoPrompts

NEVER = frozenset({"subagent", "ask_user", "final_output"})
"""Tools that no subagent has: they are between the user and the agent that the user talks to."""
POINTS = frozenset(
    {HookPoint.PRE_TOOL_USE, HookPoint.POST_TOOL_USE, HookPoint.POST_TOOL_USE_FAILURE, HookPoint.PRE_COMPACT}
)


class ChosenTools(NoPrompts):
    """A toolbox of which only the tools in `names` are there; all for None, but never those of NEVER."""

    def __init__(self, inner: Toolbox, names: frozenset[str] | None) -> None:
        self._inner = inner
        self._names = names

    def tools(self) -> Sequence[Tool]:
        return [tool for tool in self._inner.tools() if self._has(tool.spec.name)]

    async def ready(self) -> None:
        await self._inner.ready()

    async def close(self) -> None:
        await self._inner.close()

    def _has(self, name: str) -> bool:
        return name not in NEVER and (self._names is None or name in self._names)


class LentTools(NoPrompts):
    """Another session's toolbox, without the tools of its editor; closing this does nothing to it."""

    def __init__(self, owner: Toolbox) -> None:
        self._owner = owner

    def tools(self) -> Sequence[Tool]:
        return [tool for tool in self._owner.tools() if not tool.spec.frontend]

    async def ready(self) -> None:
        await self._owner.ready()

    async def close(self) -> None:
        pass


@define
class SubagentHooks:
    """The hooks about tools, which hold for subagents too; those about prompts and turns are about the user's.

    `halt` is the reason why one of them ended the subagent's turn, which ends its parent's as well.
    """

    inner: Hooks
    halt: str = ""

    def any(self, point: HookPoint) -> bool:
        return point in POINTS and self.inner.any(point)

    async def fire(self, call: HookCall) -> HookAnswer:
        answer = await self.inner.fire(call) if call.point in POINTS else HookAnswer()
        self.halt = self.halt or answer.halt
        return answer


class NoCommands:
    """What a model writes is never a command."""

    def available(self) -> tuple[CommandInfo, ...]:
        return ()

    async def run(self, name: str, argument: str, desk: Desk) -> CommandResult | None:
        return None

    async def changed(self) -> None:
        """There is never a reason."""
        await asyncio.get_running_loop().create_future()
