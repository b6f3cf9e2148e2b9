"""Runs the tool calls of a step: prepared, inspected, asked about, then run; side by side where they do not meet."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from typing import assert_never

from attrs import frozen

from quillback.core.calls import error_result
from quillback.core.event import Event, ToolProgressed, ToolStarted
from quillback.core.message import ToolResult, ToolUse
from quillback.core.ports import (
    Choice,
    Editor,
    EditorError,
    Inspection,
    Mode,
    PermissionAsk,
    PreparedCall,
    Rule,
    RuleEffect,
    Store,
    StoreError,
    Tool,
    ToolError,
    ToolOutcome,
    ToolProgress,
)
from quillback.core.rules import pattern
from quillback.core.turn_types import ToolFinished
from quillback.core.verdict import Ask, Deny, Verdict

log = logging.getLogger(__name__)
CHAT = "not run: the session is in chat mode, where no tool runs. Describe what you would do instead."
REJECTED = "The user rejected this call. Do not try it again unless asked; go on another way, or ask the user."


class AskCancelled(Exception):
    """The editor answered a permission question with `cancelled`: the turn has ended, its calls are answered."""


class Refused(Exception):
    """The call does not run; the text is for the model. `by_user` when the user said no."""

    def __init__(self, text: str, *, by_user: bool = False) -> None:
        super().__init__(text)
        self.by_user = by_user


@frozen
class Runner:
    """The session's side of running tools. `mode` is read anew for each call, since it may change in mid-turn.

    `cancel` ends the turn, and with it what `run` is doing.
    """

    session_id: str
    root: str
    roots: tuple[str, ...]
    editor: Editor
    store: Store
    inspect: Callable[[Inspection], Awaitable[Verdict]]
    mode: Callable[[], Mode]
    emit: Callable[[Event], None]
    finished: Callable[[ToolFinished], Awaitable[None]]
    cancel: Callable[[], None]
    concurrency: int
    stop_on_reject: bool

    async def run(self, calls: Sequence[ToolUse], tools: Mapping[str, Tool]) -> None:
        """Run all of `calls`; `finished` hears of each result as soon as it exists."""
        slots, question = asyncio.Semaphore(self.concurrency), asyncio.Lock()
        last: dict[str, asyncio.Task[None]] = {}
        async with asyncio.TaskGroup() as group:
            for call in calls:
                tool = tools[call.name]
                keys = _keys(tool, call)
                before = {last[k] for k in keys if k in last}
                task = group.create_task(self._one(call, tool, before, slots, question))
                last.update(dict.fromkeys(keys, task))

    async def _one(
        self,
        call: ToolUse,
        tool: Tool,
        before: set[asyncio.Task[None]],
        slots: asyncio.Semaphore,
        question: asyncio.Lock,
    ) -> None:
        if before:
            await asyncio.wait(before)
        try:
            prepared = await tool.prepare(call.id, call.input)
            await self._permit(call, tool, prepared, question)
            async with slots:
                outcome = await self._run(call, prepared)
            finished = ToolFinished(_result(call, outcome), outcome.stop_turn, outcome.say)
        except ToolError as error:
            finished = _failed(call, str(error))
        except Refused as error:
            finished = _failed(call, str(error), stop_turn=error.by_user and self.stop_on_reject)
        except StoreError as error:
            finished = _failed(call, f"not run: {error}")
        except AskCancelled:
            return
        except asyncio.CancelledError:
            if _is_being_cancelled():
                raise
            finished = _failed(call, f"{call.name} was interrupted from inside; it may have had effects.")
        except Exception as error:
            log.exception("tool %s failed", call.name)
            finished = _failed(call, f"{call.name} failed inside: {type(error).__name__}. Try another way.")
        await self.finished(finished)

    async def _run(self, call: ToolUse, prepared: PreparedCall) -> ToolOutcome:
        await self.store.flush()
        self.emit(ToolStarted(call))
        steps = prepared.run()
        try:
            async for item in steps:
                match item:
                    case ToolProgress(shown=shown):
                        self.emit(ToolProgressed(call.id, shown))
                    case ToolOutcome():
                        return item
        finally:
            if isinstance(steps, AsyncGenerator):
                await steps.aclose()
        raise ToolError(f"{call.name} ended without a result")

    # ------------------------------------------------------------ permission

    async def _permit(self, call: ToolUse, tool: Tool, prepared: PreparedCall, question: asyncio.Lock) -> None:
        """Returns when the call may run. Raises Refused or AskCancelled.

        The editor decides about its own tools; only chat mode keeps them from running.
        """
        if tool.spec.frontend:
            if self.mode() is Mode.CHAT:
                raise Refused(CHAT)
            return
        inspection = await self._inspection(call, tool, prepared)
        verdict = await self.inspect(inspection)
        if isinstance(verdict, Ask):
            async with question:
                # the answer to a question before, or a change of mode, may have settled this one
                now = await self._inspection(call, tool, prepared)
                if now != inspection:
                    verdict = await self.inspect(now)
                if isinstance(verdict, Ask):
                    await self._ask(call, prepared, verdict.reason)
                    return
        if isinstance(verdict, Deny):
            raise Refused(verdict.reason)

    async def _inspection(self, call: ToolUse, tool: Tool, prepared: PreparedCall) -> Inspection:
        rules = tuple(await self.store.rules(self.root))
        return Inspection(
            session_id=self.session_id,
            call=call,
            spec=tool.spec,
            access=prepared.access,
            mode=self.mode(),
            roots=self.roots,
            rules=rules,
        )

    async def _ask(self, call: ToolUse, prepared: PreparedCall, reason: str) -> None:
        await self.store.flush()
        rule = pattern(call, prepared.access)
        ask = PermissionAsk(call, prepared.shown, prepared.locations or call.locations, reason, rule)
        try:
            choice = await self.editor.ask_permission(self.session_id, ask)
        except EditorError as error:
            raise Refused(f"not run: the user could not be asked for permission ({error})") from None
        match choice:
            case Choice.ALLOW_ONCE:
                return
            case Choice.ALLOW_ALWAYS:
                await self.store.add_rule(Rule(self.root, rule, RuleEffect.ALLOW))
            case Choice.REJECT_ALWAYS:
                await self.store.add_rule(Rule(self.root, rule, RuleEffect.REJECT))
                raise Refused(REJECTED, by_user=True)
            case Choice.REJECT_ONCE:
                raise Refused(REJECTED, by_user=True)
            case Choice.CANCELLED:
                self.cancel()  # before the next question is let through
                raise AskCancelled
            case _:
                assert_never(choice)


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


def _failed(call: ToolUse, text: str, *, stop_turn: bool = False) -> ToolFinished:
    return ToolFinished(error_result(call, text), stop_turn)
