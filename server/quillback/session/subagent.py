"""Subagents: a task is worked on by a session of its own, which borrows from its parent all that the user decides."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Coroutine
from typing import TYPE_CHECKING, Any

from attrs import evolve

from quillback.core.event import Noticed, StopReason, TurnCompleted, UsageChanged
from quillback.core.message import Role, Text
from quillback.core.ports import (
    Editor,
    Inspection,
    Mode,
    SessionRecord,
    StoreError,
    Toolbox,
    ToolError,
    ToolOutcome,
    ToolProgress,
)
from quillback.core.subagent import Task
from quillback.core.text import one_line
from quillback.core.turn_types import Aim, Limits
from quillback.session.permits import Inspected
from quillback.session.pipe import EventPipe
from quillback.session.services import Lender, Services, ToolboxRequest
from quillback.session.subagent_editor import ParentsEditor
from quillback.session.subagent_outcome import Ended, outcome_of
from quillback.session.subagent_parts import NEVER, ChosenTools, NoCommands, SubagentHooks
from quillback.session.subagent_view import SubagentView

if TYPE_CHECKING:
    from quillback.session.session import Session

TOGETHER = 4
FRAME = 0.2
TITLE_LENGTH = 80
LEAD = "Your task, from the agent that you work for:\n\n"
SYSTEM = """
You are a subagent: another agent has given you one task and reads nothing but your last message. Do what the task \
says and no more, then answer with all that was asked for, in full, and with what you could not do or are not sure of. \
You cannot ask anybody: where something is unclear do what is most likely meant, and say so.
"""
log = logging.getLogger(__name__)


class SubagentsOf:
    """Implements the Subagents port for one session. At most TOGETHER of its subagents work at one time."""

    def __init__(self, session: "Session", make: type["Session"], services: Services, editor: Editor) -> None:
        self._session = session
        self._make = make
        self._services = services
        self._editor = ParentsEditor(editor, session.record.id)
        self._slots = asyncio.Semaphore(TOGETHER)
        self._running: dict[str, Session | None] = {}
        self._spent: dict[str, float] = {}
        self._ending: set[asyncio.Task[None]] = set()

    def runs(self, session_id: str) -> bool:
        """Whether a subagent works in that session, or is about to."""
        return session_id in self._running

    def set_mode(self, mode: Mode) -> None:
        """The parent's mode has changed; it is that of its subagents too."""
        for child in self._running.values():
            if child is not None:
                child.set_mode(mode)

    async def close(self) -> None:
        """Wait for those that are still being ended behind a cancelled turn."""
        while self._ending:
            await asyncio.wait(self._ending)

    async def run(self, task: Task) -> AsyncGenerator[ToolProgress | ToolOutcome, None]:
        names = self._names(task.tools)
        if self._slots.locked():
            yield ToolProgress((Text(f"Waiting: {TOGETHER} subagents are at work."),))
        async with self._slots:
            hooks, view = SubagentHooks(self._session.moments.hooks), SubagentView()
            child = await self._begin(task, names, self._left(), hooks)
            watching = asyncio.create_task(self._watch(child, child.submit((Text(LEAD + task.text),), aim=Aim()), view))
            outcome: ToolOutcome | None = None
            try:
                while not (await asyncio.wait({watching}, timeout=FRAME))[0]:
                    if view.changed:
                        yield ToolProgress(view.shown())
                await asyncio.shield(self._aside(self._end(child, watching)))
                outcome = self._outcome(child, watching.result(), view, hooks)
                yield outcome
            finally:
                self._spent.pop(child.record.id, None)  # from here on the parent's turn counts it
                if outcome is None:
                    await asyncio.shield(self._aside(self._end(child, watching, charge=True)))

    # ------------------------------------------------------------ begin

    def _names(self, wanted: tuple[str, ...] | None) -> frozenset[str] | None:
        """Raises ToolError for a name that no subagent could use."""
        if wanted is None:
            return None
        there = sorted({tool.spec.name for tool in self._session.toolbox.tools()} - NEVER)
        if unknown := [name for name in wanted if name not in there]:
            named = ", ".join(one_line(name, 60) for name in unknown)
            raise ToolError(f"a subagent has no tool {named}; there are: {', '.join(there)}")
        return frozenset(wanted)

    def _left(self) -> Limits:
        """What the parent's turn may still use. Raises ToolError when that is nothing."""
        policy, driver = self._services.policy, self._session.driver
        steps, limits = policy.subagent_steps, policy.limits if driver is None else driver.turn.limits
        cost, duration = limits.max_cost, limits.max_duration
        if cost is not None:
            cost -= sum(self._spent.values()) + (driver.turn.cost if driver is not None else 0.0)
        if duration is not None and driver is not None:
            duration -= driver.elapsed
        if (cost is not None and cost <= 0) or (duration is not None and duration <= 0):
            raise ToolError("not begun: the cost or time limit of this turn is reached")
        return Limits(min(steps, limits.max_steps), cost, duration)

    async def _begin(self, task: Task, names: frozenset[str] | None, limits: Limits, hooks: SubagentHooks) -> "Session":
        """A child session that is stored and ours. Raises ToolError; where it fails or is cancelled nothing is left."""
        parent, store, now = self._session.record, self._services.store, self._services.now()
        record = SessionRecord(
            id=self._services.new_id("sess"),
            cwd=parent.cwd,
            roots=parent.roots,
            mode=parent.mode,
            model=parent.model,
            thinking=parent.thinking,
            created_at=now,
            updated_at=now,
            title=one_line(task.text, TITLE_LENGTH),
            parent=parent.id,
        )
        self._running[record.id] = None
        try:
            await store.create_session(record)
            await store.acquire(record.id)
            child = self._make(record, [], self._lent(names, limits, hooks), self._editor)
        except BaseException as error:
            del self._running[record.id]
            self._aside(store.delete_session(record.id))
            if isinstance(error, StoreError):
                raise ToolError(f"the subagent could not begin: {error}") from None
            raise
        self._running[record.id] = child
        if child.record.mode is not self._session.record.mode:  # it was changed meanwhile
            child.set_mode(self._session.record.mode)
        return child

    def _lent(self, names: frozenset[str] | None, limits: Limits, hooks: SubagentHooks) -> Services:
        """The parent's services as a child has them."""
        services, session = self._services, self._session

        def toolbox(request: ToolboxRequest) -> Toolbox:
            own = session.request
            lent = evolve(
                request,
                known=own.known,
                servers=(),
                notice=own.notice,
                keep_original=own.keep_original,
                subagents=None,
                lender=Lender(session.record.id, session.toolbox),
            )
            return ChosenTools(services.toolbox(lent), names)

        async def inspect(inspection: Inspection) -> Inspected:
            """What the user said is what they said to the parent; the task is a model's words."""
            task, said = session.said()
            return await services.inspect(evolve(inspection, session_id=session.record.id, task=task, said=said))

        return evolve(
            services,
            toolbox=toolbox,
            inspect=inspect,
            system=lambda record: services.system(record) + SYSTEM,
            hooks=lambda _: hooks,
            commands=lambda _: NoCommands(),
            title=None,
            policy=evolve(services.policy, limits=limits),
        )

    # ------------------------------------------------------------ work

    async def _watch(self, child: "Session", pipe: EventPipe, view: SubagentView) -> TurnCompleted:
        completed = TurnCompleted(StopReason.CANCELLED)
        async for event in pipe:
            view.take(event)
            match event:
                case UsageChanged(cost=cost):
                    self._spent[child.record.id] = cost
                    if self._too_much():
                        view.limit = "the cost limit of this turn is reached."
                        child.cancel()
                case Noticed(title=title):
                    self._session.note(f"Subagent: {title}")
                case TurnCompleted():
                    completed = event
                case _:
                    pass
        return completed

    def _too_much(self) -> bool:
        """Whether the parent's turn and its subagents together have reached the limit of cost."""
        driver = self._session.driver
        limit = driver.turn.limits.max_cost if driver is not None else None
        return driver is not None and limit is not None and driver.turn.cost + sum(self._spent.values()) >= limit

    # ------------------------------------------------------------ end

    async def _end(self, child: "Session", watching: "asyncio.Task[TurnCompleted]", *, charge: bool = False) -> None:
        """Its processes and jobs end with it; may come twice. `charge` where no outcome tells what it has cost."""
        try:
            await child.close()
            await asyncio.wait({watching})
        finally:
            record, parent = child.record, self._session.record
            self._running.pop(record.id, None)
            if charge and record.cost:
                self._session.change(evolve(parent, cost=parent.cost + record.cost))

    def _outcome(
        self, child: "Session", completed: TurnCompleted, view: SubagentView, hooks: SubagentHooks
    ) -> ToolOutcome:
        """Raises ToolError where it was cancelled by itself: the editor answered one of its questions with that, which
        cancels the parent's turn."""
        if completed.stop_reason is StopReason.CANCELLED and not view.limit:
            if self._session.driver is not None:
                self._session.driver.cancel()
            raise ToolError("the subagent was cancelled")
        rejected = completed.stop_reason is StopReason.END_TURN and not completed.error
        ended = Ended(
            session_id=child.record.id,
            history=child.history,
            completed=completed,
            calls=view.calls(),
            limit=view.limit,
            halt=hooks.halt,
            stops=rejected and self._services.policy.stop_on_reject and child.history[-1].role is Role.TOOL,
        )
        return outcome_of(ended)

    def _aside(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        task = asyncio.create_task(work)
        self._ending.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: "asyncio.Task[None]") -> None:
        self._ending.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.warning("a subagent could not be ended properly: %s", error)
