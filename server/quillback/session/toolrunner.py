"""Runs the tool calls of a step: prepared, permitted, then run; side by side where they do not meet."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence

from attrs import frozen

from quillback.core.calls import error_result
from quillback.core.event import Event, ToolProgressed, ToolStarted
from quillback.core.mask import Mask
from quillback.core.message import ToolResult, ToolUse
from quillback.core.ports import PreparedCall, Store, StoreError, Tool, ToolError, ToolOutcome, ToolProgress
from quillback.core.turn_types import ToolFinished
from quillback.session.masking import hidden_outcome, hidden_shown
from quillback.session.permits import AskCancelled, Permits, Refused
from quillback.session.questions import Questions

log = logging.getLogger(__name__)


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

    async def run(self, calls: Sequence[ToolUse], tools: Mapping[str, Tool]) -> None:
        """Run all of `calls`; `finished` hears of each result as soon as it exists."""
        slots, questions = asyncio.Semaphore(self.concurrency), Questions()
        last: dict[str, asyncio.Task[None]] = {}
        async with asyncio.TaskGroup() as group:
            for call in calls:
                tool = tools[call.name]
                keys = _keys(tool, call)
                before = {last[k] for k in keys if k in last}
                questions.expect(call.id)
                task = group.create_task(self._one(call, tool, before, slots, questions))
                last.update(dict.fromkeys(keys, task))

    async def _one(
        self,
        call: ToolUse,
        tool: Tool,
        before: set[asyncio.Task[None]],
        slots: asyncio.Semaphore,
        questions: Questions,
    ) -> None:
        if before:
            await asyncio.wait(before)
        try:
            self.permits.check_mode(call)
            prepared = await tool.prepare(call.id, call.input)
            await self.permits.ask(call, tool.spec, prepared, questions)
            questions.settled(call.id)
            async with slots:
                outcome = await self._run(call, prepared)
            finished = ToolFinished(_result(call, outcome), outcome.stop_turn, outcome.say)
        except ToolError as error:
            finished = self._failed(call, str(error))
        except Refused as error:
            finished = self._failed(call, str(error), stop_turn=error.by_user and self.stop_on_reject)
        except StoreError as error:
            finished = self._failed(call, f"not run: {error}")
        except AskCancelled:
            return
        except asyncio.CancelledError:
            if _is_being_cancelled():
                raise
            finished = self._failed(call, f"{call.name} was interrupted from inside; it may have had effects.")
        except Exception as error:
            log.exception("tool %s failed", call.name)
            finished = self._failed(call, f"{call.name} failed inside: {type(error).__name__}. Try another way.")
        finally:
            questions.settled(call.id)
        await self.finished(finished)

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

    def _failed(self, call: ToolUse, text: str, *, stop_turn: bool = False) -> ToolFinished:
        return ToolFinished(error_result(call, self.mask.hide(text)), stop_turn)


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
