"""The tools and hooks of a recorded session: they bring again what they brought then. Nothing is run."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence

from attrs import field, frozen

from quillback.core.hooks import NOTHING, HookAnswer, HookCall, HookPoint
from quillback.core.message import JsonObject, Text, ToolKind, ToolResult, ToolUse
from quillback.core.model import Sketch, ToolSpec
from quillback.core.ports import Access, Tool, ToolOutcome, ToolProgress
from quillback.core.prompts import NoPrompts
from quillback.core.turn_types import Compacting
from quillback.transcripts.replay_record import Record, by_cancel, ends_early, had_begun
from quillback.transcripts.replay_stage import Stage

_ANY = {"type": "object"}
_THE_TOOLS_ARE = "the tools are: "
_UNKNOWN = "there is no tool "


class PlayedTools(NoPrompts):
    """Implements the Toolbox port: in each step the tools that the next reply calls."""

    def __init__(self, stage: Callable[[], Stage]) -> None:
        self._stage = stage

    def tools(self) -> Sequence[Tool]:
        stage = self._stage()
        reply = stage.record.coming
        calls = reply.tool_uses() if reply is not None else ()
        unknown = {call.name for call in calls if call.problem.startswith(_UNKNOWN)}
        named = [call.problem.partition(_THE_TOOLS_ARE)[2] for call in calls if call.name in unknown]
        known = {name for names in named for name in names.split(", ") if name and name != "none"}
        names = known | {call.name for call in calls} - unknown
        return [PlayedTool(stage, name, tuple(c for c in calls if c.name == name)) for name in sorted(names)]

    async def ready(self) -> None:
        pass

    async def close(self) -> None:
        pass


@frozen
class PlayedTool:
    """Implements the Tool port. `calls` are those of the next reply."""

    stage: Stage
    name: str
    calls: tuple[ToolUse, ...]

    @property
    def spec(self) -> ToolSpec:
        kind = self.calls[0].kind if self.calls else ToolKind.OTHER
        schema = self.stage.schemas.get(self.name, _ANY)
        return ToolSpec(self.name, "", schema, kind, self._describe)

    def touches(self, arguments: JsonObject) -> frozenset[str]:
        return frozenset()

    async def prepare(self, call_id: str, arguments: JsonObject) -> "PlayedCall":
        stage = self.stage
        result = stage.record.match(call_id, self.name, arguments)
        if result is None:
            return PlayedCall(stage, ToolResult(call_id, (Text(stage.record.trouble),), is_error=True))
        if ends_early(result) and not had_begun(result):
            await _hang(stage)
        return PlayedCall(stage, result)

    def _describe(self, arguments: JsonObject) -> Sketch:
        same = [c for c in self.calls if c.input == arguments] or [c for c in self.calls if not c.input]
        return Sketch(same[0].title, same[0].locations) if same else Sketch(self.name)


@frozen
class PlayedCall:
    """Implements the PreparedCall port."""

    stage: Stage
    result: ToolResult
    access: Access = field(factory=Access)
    shown: tuple[()] = ()
    locations: tuple[()] = ()

    async def run(self) -> AsyncIterator[ToolProgress | ToolOutcome]:
        stage, result = self.stage, self.result
        if ends_early(result):
            await _hang(stage)
        await stage.until(self._is_due)
        say = stage.record.ending() if stage.record.is_last(result) else None
        yield ToolOutcome(
            content=result.content,
            is_error=result.is_error,
            shown=result.shown,
            locations=result.locations,
            raw_output=result.raw_output,
            plan=result.plan,
            seen=result.seen,
            stop_turn=say is not None,
            say=say or "",
        )

    def _is_due(self) -> bool:
        before = self.stage.record.before(self.result)
        return before is not None and before <= _answered(self.stage)


def _answered(stage: Stage) -> set[str]:
    return {result.call_id for message in stage.running.turn.history for result in message.tool_results()}


async def _hang(stage: Stage) -> None:
    """Never returns: when all that ended early stand here, and all others have ended, the turn is ended."""
    stage.hanging += 1
    early = [result for result in stage.record.results() if ends_early(result)]
    if stage.hanging == len(early):
        others = {r.call_id for r in stage.record.results()} - {r.call_id for r in early}
        await stage.until(lambda: stage.record.ended(others) <= _answered(stage))
        stage.hanging = 0
        cancel = any(map(by_cancel, early))
        asyncio.get_running_loop().call_soon(lambda: stage.end(cancel=cancel))
    await asyncio.Event().wait()


# ---------------------------------------------------------------- hooks and policy


@frozen
class PlayedHooks:
    """Implements the Hooks port: the Stop hook is the one that the stream tells of."""

    stage: Callable[[], Stage]

    def any(self, point: HookPoint) -> bool:
        return point is HookPoint.STOP

    async def fire(self, call: HookCall) -> HookAnswer:
        if call.point is not HookPoint.STOP:
            return NOTHING
        return HookAnswer(blocked=self.stage().record.hook_said_no())


@frozen
class PlayedCompacting(Compacting):
    """A conversation is compacted where it was: when that was due depends on settings that are not in the record."""

    record: Record | None = None

    def due(self, used: int, window: int) -> bool:
        return self.record is not None and self.record.compaction_due()
