"""One session: its stream, its settings, and its prompts, which run one after the other."""

import asyncio
import logging
from collections import deque
from collections.abc import Coroutine, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from attrs import evolve

from quillback.core.event import Event, Noticed, StopReason, TurnCompleted
from quillback.core.facts import user_said
from quillback.core.hooks import HookPoint
from quillback.core.mcp_server import McpServer
from quillback.core.message import Message, MessageState, Part, Role, Severity, Text
from quillback.core.model import Model, ProviderError, Thinking
from quillback.core.ports import Editor, Mode, SessionRecord, StoreError
from quillback.core.turn_types import Aim, Steered
from quillback.core.undo import UndoReport
from quillback.session.attachments import with_linked_files
from quillback.session.beside import Rest
from quillback.session.desk import SessionDesk
from quillback.session.driver import Driver
from quillback.session.entry import Entry, Reception, says_something
from quillback.session.history import known_files
from quillback.session.job import Job
from quillback.session.moments import Moments
from quillback.session.past import Past
from quillback.session.pipe import EventPipe
from quillback.session.saving import saved
from quillback.session.services import CommandsRequest, Services, ToolboxRequest
from quillback.session.subagent import SubagentsOf
from quillback.session.title import Titles
from quillback.session.turns import driver_of
from quillback.session.undo import Keeper, UndoBusyError, undo_open

HOOK_SECONDS = 0.8
"""How long the hooks of the end of a session may take when all of it ends."""
NOT_TOLD = "A message for the turn came too late for it and was not run. Send it again as a prompt."
FAILED = TurnCompleted(StopReason.END_TURN, error="Quillback failed inside; its log says more.", error_kind="internal")
log = logging.getLogger(__name__)


class BusyError(Exception):
    """A prompt came while a turn was running, and prompts are not queued."""


class ClosedError(Exception):
    """The session was closed."""


class NotRunningError(Exception):
    """A message for the running turn came when there was none."""


class Session:
    """`history` is the stream, as stored. Its one owner is this object."""

    def __init__(
        self,
        record: SessionRecord,
        history: list[Message],
        services: Services,
        editor: Editor,
        servers: Sequence[McpServer] = (),
    ) -> None:
        self.record = record
        self.history = history
        self.past = Past(history, record.id, services)
        self.root = str(Path(record.cwd).resolve())
        self._services = services
        self.editor = editor
        self.roots = tuple(dict.fromkeys((self.root, *(str(Path(r).resolve()) for r in record.roots))))
        self._notes: list[str] = []
        self._driver: Driver | None = None
        self.moments = Moments(services.hooks(record), lambda: self.record.mode, self.note)
        self.subagents = SubagentsOf(self, Session, services, editor)
        self._titles = Titles(self, services.title, editor)
        self.request = ToolboxRequest(
            session_id=record.id,
            cwd=Path(record.cwd),
            roots=tuple(map(Path, self.roots)),
            editor=editor,
            known=known_files(history),
            servers=tuple(servers),
            notice=self.note,
            message_of=self._message_of,
            keep_original=Keeper(services.store.originals, record.id, self._prompt_id),
            subagents=self.subagents,
        )
        self.toolbox = services.toolbox(self.request)
        self.commands = services.commands(CommandsRequest(record, self.toolbox, self.note))
        self._queue: deque[Job] = deque()
        self._worker: asyncio.Task[None] | None = None
        self._running: Job | None = None
        self._receiving: asyncio.Task[Entry] | None = None
        self._withdrawn = False
        self._fresh = not history
        self._first = True
        self._alone = asyncio.Lock()
        self.rest = Rest()
        self._dropped: list[Message] = []
        self._behind: set[asyncio.Task[None]] = set()
        self._closed = False

    @property
    def busy(self) -> bool:
        return self._worker is not None and not self._worker.done()

    @property
    def streaming(self) -> Message | None:
        """The reply that grows now, as far as it has come; it enters `history` when it ends."""
        return self._driver.turn.streaming if self._driver is not None else None

    @property
    def driver(self) -> Driver | None:
        """That of the running turn."""
        return self._driver

    @property
    def model(self) -> Model:
        return self._services.model(self.record.model)

    # ------------------------------------------------------------ prompts

    def submit(self, parts: Sequence[Part], *, aim: Aim | None = None, for_model: Sequence[Part] = ()) -> EventPipe:
        """Accept a prompt: it has its id and is on its way to the store when this returns.

        The pipe brings the turn's events and ends with its one TurnCompleted. Raises BusyError, ClosedError.
        With an `aim` it is never taken for a slash command; `for_model` is what the model gets in its place.
        """
        if self._closed:
            raise ClosedError("the session is closed")
        if self.busy and not self._services.policy.queue_when_busy:
            raise BusyError("a turn is running in this session; wait for it, or cancel it")
        services = self._services
        message = self._user_message(with_linked_files(parts, self.roots, services.mask))
        services.store.put(message)
        job = Job(message, EventPipe(), aim, tuple(for_model))
        self._queue.append(job)
        if not self.busy:
            self._worker = asyncio.create_task(self._work(), name=f"turns of {self.record.id}")
        return job.pipe

    async def steer(self, parts: Sequence[Part]) -> str:
        """Add a user message to the running turn: the model gets it with the next step. Its id.

        Raises NotRunningError, StoreError; ValueError where a hook does not let it through.
        """
        driver = self._driver
        if not any(says_something(p) for p in parts):
            raise ValueError("it says nothing")
        text = "".join(p.text for p in parts if isinstance(p, Text))
        answer = await self.moments.fire(HookPoint.USER_PROMPT_SUBMIT, prompt=text)
        if driver is None or driver is not self._driver or driver.ended or driver.turn.only_compacts:
            raise NotRunningError("no turn is running in this session; send it as a prompt")
        if answer.blocked or answer.halt:
            raise ValueError(f"a hook did not let this message through: {answer.blocked or answer.halt}")
        linked = with_linked_files(parts, self.roots, self._services.mask)
        message = evolve(self._user_message((*linked, *(Text(f"\n\n{c}") for c in answer.context))), steered=True)
        self._services.store.put(message)
        driver.feed(Steered(message))
        await self._services.store.flush()
        return message.id

    def cancel(self) -> None:
        """End the running turn and drop the queued prompts; nothing when idle."""
        while self._queue:
            self._drop(self._queue.popleft())
        self._cancel_turn()

    def _cancel_turn(self) -> None:
        self._withdrawn = True
        if self._receiving is not None:
            self._receiving.cancel()
        if self._driver is not None:
            self._driver.cancel()

    def withdraw(self, pipe: EventPipe) -> None:
        """Cancel one prompt: the running one, or one that is still queued."""
        queued = next((job for job in self._queue if job.pipe is pipe), None)
        if queued is not None:
            self._queue.remove(queued)
            self._drop(queued)
        elif self._running is not None and self._running.pipe is pipe:
            self._cancel_turn()

    def _user_message(self, parts: Sequence[Part]) -> Message:
        """A message without a place in the stream yet."""
        return Message(
            id=self._services.new_id("msg"),
            session_id=self.record.id,
            seq=0,
            role=Role.USER,
            parts=tuple(parts),
            created_at=self._services.now(),
            state=MessageState.QUEUED,
        )

    def _drop(self, job: Job) -> None:
        """The prompt is kept, but never runs and is never seen by the model. It enters the stream between turns."""
        self._not_run(job.message)
        if self._running is None:
            self._enter_dropped()
        self._aside(self._answer(job.pipe, TurnCompleted(StopReason.CANCELLED)))

    def _not_run(self, message: Message) -> None:
        self._dropped.append(evolve(message, state=MessageState.NOT_RUN, visible_to_model=False))

    def _aside(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._behind.add(task)
        task.add_done_callback(self._behind.discard)

    async def _answer(self, pipe: EventPipe, completed: TurnCompleted) -> None:
        """The last event of a prompt, whatever happens: with an error where not all of it could be saved."""
        try:
            completed = await saved(self._services.store, completed, self.record.id)
        finally:
            pipe.put(completed)

    async def close(self, hook_seconds: float = HOOK_SECONDS) -> None:
        """Cancel what runs, end every process of the session, save, and give the session up. Idempotent."""
        self._closed = True
        self.cancel()
        running = {*self._behind, self._worker} if self._worker is not None else self._behind
        if running:
            await asyncio.wait(running)
        await self.moments.close(hook_seconds)
        try:
            await self._titles.close()
            await self.subagents.close()
            await self.toolbox.close()
        finally:
            await self._give_up()

    async def _give_up(self) -> None:
        """Save what is not saved, and let other processes have the session."""
        store = self._services.store
        for step in (store.flush, partial(store.release, self.record.id)):
            try:
                await step()
            except StoreError as error:
                log.error("closing %s: %s", self.record.id, error)

    # ------------------------------------------------------------ settings

    def set_mode(self, mode: Mode) -> None:
        self.change(evolve(self.record, mode=mode))
        self.subagents.set_mode(mode)

    def set_model(self, model: str) -> None:
        self.change(evolve(self.record, model=model))

    def set_thinking(self, thinking: Thinking) -> None:
        self.change(evolve(self.record, thinking=thinking))

    def change(self, record: SessionRecord) -> None:
        self.record = evolve(record, updated_at=self._services.now())
        self._services.store.save_session(self.record)

    # ------------------------------------------------------------ turns

    async def _work(self) -> None:
        while self._queue:
            job = self._running = self._queue.popleft()
            self._withdrawn = False
            completed = FAILED
            try:
                async with self._alone:
                    completed = await self._turn(job)
            except ProviderError as error:
                completed = evolve(FAILED, error=error.message, error_kind=error.failure.value)
            except StoreError as error:
                completed = evolve(FAILED, error=str(error), error_kind="store")
            except Exception:
                log.exception("a turn of %s failed", self.record.id)
            finally:
                if self._driver is not None:
                    for message in self._driver.turn.steers:
                        self._not_run(message)
                        self.tell(Noticed(message.id, NOT_TOLD, Severity.WARNING))
                self._driver = None
                self._enter_dropped()
                await self._answer(job.pipe, completed)
                self._running = None
            self.moments.pass_by(
                HookPoint.TURN_COMPLETED,
                stop_reason=completed.stop_reason.value,
                last_assistant_message=completed.text,
                error=completed.error,
            )

    async def _turn(self, job: Job) -> TurnCompleted:
        entry = None
        try:
            entry = await self._received(job)
        finally:
            if entry is None:
                self._not_run(job.message)
        if entry is None:
            return TurnCompleted(StopReason.CANCELLED)
        run = self._let_in(entry, job.pipe)
        if entry.clear:
            self.past.forget(job.pipe, self.record, self.model)
        if not entry.runs:
            reason = StopReason.CANCELLED if self._withdrawn else StopReason.END_TURN
            return TurnCompleted(reason, run, entry.for_user, refused=entry.refused)
        model = self.model
        self._driver = driver = driver_of(self, self._services, model, entry.aim, job.pipe)
        completed = await driver.run()
        assert driver.runner is not None
        driver.runner.permits.write_repeats()
        self.change(evolve(self.record, cost=self.record.cost + completed.cost))
        return completed

    async def _received(self, job: Job) -> Entry | None:
        """What the prompt stands for; None when it was cancelled before that was known."""
        if self._withdrawn:
            return None
        prompt, given = evolve(job.message, state=MessageState.COMPLETE), None
        if job.aim is not None:
            typed = evolve(prompt, visible_to_model=False) if job.for_model else prompt
            given = Entry(typed, for_model=job.for_model, aim=job.aim)
        reception = Reception(self.moments, self.commands, SessionDesk(self, self._services))
        received = reception.receive(prompt, given, first=self._first, fresh=self._fresh)
        work = self._receiving = asyncio.create_task(received)
        try:
            await asyncio.wait({work})
            entry = None if work.cancelled() else work.result()
            self._first = self._first and entry is None
            # a command that has done its work is told of all the same
            return None if entry is not None and entry.runs and self._withdrawn else entry
        finally:
            self._receiving = None

    def _let_in(self, entry: Entry, pipe: EventPipe) -> str:
        """The prompt and what belongs to it take their places in the stream. The run of what the user is told."""
        for text in entry.before:
            self.past.tell_model([Text(text)], pipe)
        prompt = self.past.enter(entry.prompt, pipe)
        if entry.runs and entry.aim.compact is None:
            self._titles.entitle(prompt, pipe)
        for noticed in self.take_notes():
            pipe.put(noticed)
        run = self.past.tell_user(entry.for_user, pipe) if entry.for_user else ""
        if entry.for_model:
            self.past.tell_model(entry.for_model, pipe)
        return run

    def _enter_dropped(self) -> None:
        dropped, self._dropped = self._dropped, []
        for message in dropped:
            self.past.enter(message)

    # ------------------------------------------------------------ undo

    async def undo(self, after: str = "") -> UndoReport:
        """Put the files of the latest turn back; see `turns_after`. Raises UndoBusyError, ForkError, StoreError."""
        if self.busy or self._alone.locked():
            raise UndoBusyError
        async with self._alone:
            return await self.undo_files(for_user=True, after=after)

    async def undo_files(self, *, for_user: bool, after: str = "") -> UndoReport:
        """Like `undo`, for the prompt that is being received."""
        return await undo_open(self.past, self.record, self.editor, for_user=for_user, after=after)

    # ------------------------------------------------------------ small things

    def said(self) -> tuple[str, tuple[str, ...]]:
        """What the user wrote in the first prompt, and in the last four."""
        return user_said(self.history)

    def _prompt_id(self) -> str:
        return self._running.message.id if self._running is not None else ""

    def _message_of(self, call_id: str) -> str:
        """The id of the message that holds a call."""
        return next((m.id for m in reversed(self.history) if any(c.id == call_id for c in m.tool_uses())), "")

    def note(self, text: str) -> None:
        """Tell the user, in the running turn or in the next one."""
        if self._driver is None or self._driver.ended:
            self._notes.append(text)
        else:
            self._driver.show(Noticed(self._services.new_id("msg"), text, Severity.WARNING))

    def take_notes(self) -> list[Noticed]:
        """What the user has not been told yet."""
        notes, self._notes = self._notes, []
        return [Noticed(self._services.new_id("msg"), text, Severity.WARNING) for text in notes]

    def tell(self, event: Event) -> None:
        """Pass something on to whoever watches the running prompt."""
        if self._running is not None:
            self._running.pipe.put(event)
