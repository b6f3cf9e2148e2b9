"""Runs the tool calls of a step: prepared, permitted, then run; side by side where they do not meet."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import nullcontext

from attrs import field, frozen

from quillback.core.calls import error_result
from quillback.core.event import Event, ToolChanged, ToolProgressed, ToolStarted
from quillback.core.mask import Mask
from quillback.core.message import ToolResult, ToolUse
from quillback.core.ports import PreparedCall, Store, StoreError, Tool, ToolError, ToolOutcome, ToolProgress
from quillback.core.turn_types import ToolFinished
from quillback.session.lanes import Lanes
from quillback.session.masking import hidden_outcome, hidden_shown
from quillback.session.permits import AskCancelled, Permits, Refused
from quillback.session.questions import Questions
from quillback.session.tool_hooks import Before, HookRefused, ToolHooks, ended, with_lines

log = logging.getLogger(__name__)


@frozen
class _Step:
    """What the calls of one step share."""

    lanes: Lanes
    slots: asyncio.Semaphore
    hook_slots: asyncio.Semaphore
    questions: Questions


@frozen
class Runner:
    """The session's side of running tools."""

    permits: Permits
    store: Store
    emit: Callable[[Event], None]
    finished: Callable[[ToolFinished], Awaitable[None]]
    concurrency: int
    stop_on_reject: bool
    mask: Mask
    hooks: ToolHooks = field(factory=ToolHooks)
    _with_hooks: dict[str, ToolFinished] = field(factory=dict, init=False)

    async def run(self, calls: Sequence[ToolUse], tools: Mapping[str, Tool]) -> None:
        """Run all of `calls`; `finished` hears of each result as soon as it exists."""
        lanes = Lanes(call.id for call in calls)
        slots, hook_slots = asyncio.Semaphore(self.concurrency), asyncio.Semaphore(self.concurrency)
        step = _Step(lanes, slots, hook_slots, Questions())
        async with asyncio.TaskGroup() as group:
            for call in calls:
                step.questions.expect(call.id)
                group.create_task(self._one(call, tools[call.name], step))

    def waiting(self) -> list[ToolFinished]:
        """The results of calls that have ended and whose hooks still run, taken as they are: the turn is cancelled."""
        taken = list(self._with_hooks.values())
        self._with_hooks.clear()
        return taken

    async def _one(self, call: ToolUse, tool: Tool, step: _Step) -> None:
        try:
            finished = await self._settled(call, tool, step)
            if finished is not None:
                await self.finished(finished)
        finally:
            step.questions.settled(call.id)
            step.lanes.leave(call.id)

    async def _settled(self, call: ToolUse, tool: Tool, step: _Step) -> ToolFinished | None:
        """How the call ended, its hooks included; None where the turn has ended with it."""
        before, ran = Before(call), True
        try:
            before = await self._before(call, tool, step)
            finished = await self._outcome(before, tool, step)
        except ToolError as error:
            finished = self._failed(call, str(error))
        except HookRefused as error:
            self.permits.refuse(call, error.finding)
            return self._failed(call, str(error), say=ended(error.halt) if error.halt else "")
        except Refused as error:
            finished, ran = self._failed(call, str(error), stop_turn=error.by_user and self.stop_on_reject), False
        except StoreError as error:
            finished, ran = self._failed(call, f"not run: {error}"), False
        except AskCancelled:
            return None
        except asyncio.CancelledError:
            if _is_being_cancelled():
                raise
            finished = self._failed(call, f"{call.name} was interrupted from inside; it may have had effects.")
        except Exception as error:
            log.exception("tool %s failed", call.name)
            finished = self._failed(call, f"{call.name} failed inside: {type(error).__name__}. Try another way.")
        finished = with_lines(finished, before.lines)
        return await self._after(before.call, finished, step) if ran else finished

    async def _before(self, call: ToolUse, tool: Tool, step: _Step) -> Before:
        self.permits.check_mode(call)
        async with step.hook_slots:
            before = await self.hooks.before(call, tool.spec, self.permits.mode())
        if before.call is not call:
            self.emit(ToolChanged(before.call))
        return before

    async def _outcome(self, before: Before, tool: Tool, step: _Step) -> ToolFinished:
        call = before.call
        await step.lanes.enter(call.id, _keys(tool, call))
        prepared = await tool.prepare(call.id, call.input)
        await self.permits.ask(call, tool.spec, prepared, step.questions, before.findings)
        step.questions.settled(call.id)
        async with nullcontext() if tool.spec.frontend else step.slots:  # the editor's own tools take none of ours
            self.permits.check_mode(call)  # it may have changed while the call waited
            outcome = await self._run(call, prepared)
        result = _result(call, outcome)
        return ToolFinished(result, outcome.stop_turn, outcome.say, outcome.final, outcome.cost, outcome.usage)

    async def _after(self, call: ToolUse, finished: ToolFinished, step: _Step) -> ToolFinished:
        """A cancel meanwhile loses what the hooks say, not the result: see `waiting`."""
        step.questions.settled(call.id)
        self._with_hooks[call.id] = finished
        try:
            async with step.hook_slots:
                return await self.hooks.after(call, finished, self.permits.mode())
        except asyncio.CancelledError:
            if _is_being_cancelled():
                raise
            return finished
        except Exception:
            log.exception("the hooks after %s failed", call.name)
            return finished
        finally:
            self._with_hooks.pop(call.id, None)

    async def _run(self, call: ToolUse, prepared: PreparedCall) -> ToolOutcome:
        await self.store.flush()
        self.emit(ToolStarted(call))
        steps = prepared.run()
        try:
            async for item in steps:
                match item:
                    case ToolProgress(shown=shown):
                        self.emit(ToolProgressed(call.id, hidden_shown(self.mask, shown, growing=True)))
                    case ToolOutcome():
                        return hidden_outcome(self.mask, item)
        finally:
            if isinstance(steps, AsyncGenerator):
                await steps.aclose()
        raise ToolError(f"{call.name} ended without a result")

    def _failed(self, call: ToolUse, text: str, *, stop_turn: bool = False, say: str = "") -> ToolFinished:
        return ToolFinished(error_result(call, self.mask.hide(text)), stop_turn or say != "", say)


def _keys(tool: Tool, call: ToolUse) -> frozenset[str]:
    """What the call must not share; a tool that cannot tell will say why when it is prepared."""
    try:
        return tool.touches(call.input)
    except Exception:
        log.exception("tool %s could not say what it touches", call.name)
        return frozenset()


def _is_being_cancelled() -> bool:
    """Whether the running task was told to stop, or only something that it waited for."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _result(call: ToolUse, outcome: ToolOutcome) -> ToolResult:
    return ToolResult(
        call_id=call.id,
        content=outcome.content,
        is_error=outcome.is_error,
        shown=outcome.shown,
        locations=outcome.locations,
        raw_output=outcome.raw_output,
        plan=outcome.plan,
        seen=outcome.seen,
    )
