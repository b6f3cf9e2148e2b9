"""One session: its stream, its settings, and its prompts, which run one after the other."""

import asyncio
import logging
from collections import deque
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from attrs import evolve, frozen

from quillback.core.event import MessageAdded, Noticed, Retitled, StopReason, TurnCompleted
from quillback.core.mcp_server import McpServer
from quillback.core.message import Message, MessageState, Notice, Part, Role, Severity
from quillback.core.model import Model, ProviderError, Thinking
from quillback.core.ports import Editor, Mode, SessionRecord, StoreError
from quillback.core.text import one_line
from quillback.core.turn import Turn, next_seq
from quillback.core.turn_types import Setup
from quillback.session.attachments import with_linked_files
from quillback.session.driver import Driver
from quillback.session.history import known_files, user_said
from quillback.session.permits import Permits
from quillback.session.pipe import EventPipe
from quillback.session.saving import saved
from quillback.session.services import Services, ToolboxRequest
from quillback.session.toolrunner import Runner

TITLE_LENGTH = 80
FAILED = TurnCompleted(StopReason.END_TURN, error="Quillback failed inside; its log says more.", error_kind="internal")
log = logging.getLogger(__name__)


class BusyError(Exception):
    """A prompt came while a turn was running, and prompts are not queued."""


class ClosedError(Exception):
    """The session was closed."""


@frozen
class _Job:
    """An accepted prompt and where its events go."""

    message: Message
    pipe: EventPipe


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
        self.root = str(Path(record.cwd).resolve())
        self._services = services
        self._editor = editor
        self._roots = tuple(dict.fromkeys((self.root, *(str(Path(r).resolve()) for r in record.roots))))
        self._known = known_files(history)
        self._notes: list[str] = []
        self._driver: Driver | None = None
        self._toolbox = services.toolbox(
            ToolboxRequest(
                session_id=record.id,
                cwd=Path(record.cwd),
                roots=tuple(map(Path, self._roots)),
                editor=editor,
                known=self._known,
                servers=tuple(servers),
                notice=self._note,
                message_of=self._message_of,
            )
        )
        self._queue: deque[_Job] = deque()
        self._worker: asyncio.Task[None] | None = None
        self._running: EventPipe | None = None
        self._dropped: list[Message] = []
        self._answers: set[asyncio.Task[None]] = set()
        self._closed = False

    @property
    def busy(self) -> bool:
        return self._worker is not None and not self._worker.done()

    @property
    def streaming(self) -> Message | None:
        """The reply that grows now, as far as it has come; it enters `history` when it ends."""
        return self._driver.turn.streaming if self._driver is not None else None

    @property
    def model(self) -> Model:
        return self._services.model(self.record.model)

    # ------------------------------------------------------------ prompts

    def submit(self, parts: Sequence[Part]) -> EventPipe:
        """Accept a prompt: it has its id and is on its way to the store when this returns.

        The pipe brings the turn's events and ends with its one TurnCompleted. Raises BusyError, ClosedError.
        """
        if self._closed:
            raise ClosedError("the session is closed")
        if self.busy and not self._services.policy.queue_when_busy:
            raise BusyError("a turn is running in this session; wait for it, or cancel it")
        services = self._services
        message = Message(
            id=services.new_id("msg"),
            session_id=self.record.id,
            seq=0,
            role=Role.USER,
            parts=with_linked_files(parts, self._roots, services.mask),
            created_at=services.now(),
            state=MessageState.QUEUED,
        )
        services.store.put(message)
        job = _Job(message, EventPipe())
        self._queue.append(job)
        if not self.busy:
            self._worker = asyncio.create_task(self._work(), name=f"turns of {self.record.id}")
        return job.pipe

    def cancel(self) -> None:
        """End the running turn and drop the queued prompts; nothing when idle."""
        while self._queue:
            self._drop(self._queue.popleft())
        if self._driver is not None:
            self._driver.cancel()

    def withdraw(self, pipe: EventPipe) -> None:
        """Cancel one prompt: the running one, or one that is still queued."""
        queued = next((job for job in self._queue if job.pipe is pipe), None)
        if queued is not None:
            self._queue.remove(queued)
            self._drop(queued)
        elif self._driver is not None and self._running is pipe:
            self._driver.cancel()

    def _drop(self, job: _Job) -> None:
        """The prompt is kept, but never runs and is never seen by the model. It enters the stream between turns."""
        self._dropped.append(evolve(job.message, state=MessageState.NOT_RUN, visible_to_model=False))
        if self._driver is None:
            self._enter_dropped()
        answer = asyncio.create_task(self._answer(job.pipe, TurnCompleted(StopReason.CANCELLED)))
        self._answers.add(answer)
        answer.add_done_callback(self._answers.discard)

    async def _answer(self, pipe: EventPipe, completed: TurnCompleted) -> None:
        """The last event of a prompt, whatever happens: with an error where not all of it could be saved."""
        try:
            completed = await saved(self._services.store, completed)
        finally:
            pipe.put(completed)

    def _enter_dropped(self) -> None:
        dropped, self._dropped = self._dropped, []
        for message in dropped:
            self._enter(message)

    async def close(self) -> None:
        """Cancel what runs, end every process of the session, save, and give the session up. Idempotent."""
        self._closed = True
        self.cancel()
        running = {*self._answers, self._worker} if self._worker is not None else self._answers
        if running:
            await asyncio.wait(running)
        try:
            await self._toolbox.close()
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
        self._change(evolve(self.record, mode=mode))

    def set_model(self, model: str) -> None:
        self._change(evolve(self.record, model=model))

    def set_thinking(self, thinking: Thinking) -> None:
        self._change(evolve(self.record, thinking=thinking))

    def _change(self, record: SessionRecord) -> None:
        self.record = evolve(record, updated_at=self._services.now())
        self._services.store.save_session(self.record)

    # ------------------------------------------------------------ turns

    async def _work(self) -> None:
        while self._queue:
            job = self._queue.popleft()
            self._running = job.pipe
            completed = FAILED
            try:
                completed = await self._turn(job)
            except ProviderError as error:
                completed = evolve(FAILED, error=error.message, error_kind=error.failure.value)
            except StoreError as error:
                completed = evolve(FAILED, error=str(error), error_kind="store")
            except Exception:
                log.exception("a turn of %s failed", self.record.id)
            finally:
                self._driver = None
                self._enter_dropped()
                await self._answer(job.pipe, completed)

    def _enter(self, message: Message) -> Message:
        """The message takes its place in the stream."""
        message = evolve(message, seq=next_seq(self.history))
        self.history.append(message)
        self._services.store.put(message)
        return message

    async def _turn(self, job: _Job) -> TurnCompleted:
        prompt = self._enter(evolve(job.message, state=MessageState.COMPLETE))
        job.pipe.put(MessageAdded(prompt))
        self._entitle(prompt, job.pipe)
        notes, self._notes = self._notes, []
        for text in notes:
            job.pipe.put(Noticed(self._services.new_id("msg"), text, Severity.WARNING))
        if not any(_says_something(p) for p in prompt.parts):
            return TurnCompleted(StopReason.END_TURN)
        model = self.model
        turn = Turn(self._setup(model), self.history)
        driver = self._driver = Driver(
            turn, self._services.provider(model), self._toolbox, self._services.store, job.pipe
        )
        driver.runner = runner = self._runner(driver, turn)
        completed = await driver.run()
        runner.permits.write_repeats()
        self._change(evolve(self.record, cost=self.record.cost + completed.cost))
        return completed

    def _setup(self, model: Model) -> Setup:
        services = self._services
        return Setup(
            session_id=self.record.id,
            model=model,
            system=services.system(self.record),
            thinking=self.record.thinking,
            new_id=services.new_id,
            now=services.now,
            jitter=services.jitter,
            limits=services.policy.limits,
            spent=self.record.cost,
        )

    def _message_of(self, call_id: str) -> str:
        """The id of the message that holds a call."""
        return next((m.id for m in reversed(self.history) if any(c.id == call_id for c in m.tool_uses())), "")

    def _note(self, text: str) -> None:
        """Tell the user, in the running turn or in the next one."""
        if self._driver is None or self._driver.ended:
            self._notes.append(text)
        else:
            self._driver.show(Noticed(self._services.new_id("msg"), text, Severity.WARNING))

    def _runner(self, driver: Driver, turn: Turn) -> Runner:
        services = self._services
        permits = Permits(
            session_id=self.record.id,
            root=self.root,
            roots=self._roots,
            editor=self._editor,
            store=services.store,
            inspect=services.inspect,
            rule=services.rule,
            mode=lambda: self.record.mode,
            said=lambda: user_said(self.history),
            now=services.now,
            cancel=driver.cancel,
            repeats=turn.repeats,
            mask=services.mask,
        )
        return Runner(
            permits=permits,
            store=services.store,
            emit=driver.show,
            finished=driver.tool_finished,
            concurrency=services.policy.tool_concurrency,
            stop_on_reject=services.policy.stop_on_reject,
            mask=services.mask,
        )

    def _entitle(self, prompt: Message, pipe: EventPipe) -> None:
        """The first prompt with words gives the session its title."""
        title = "" if self.record.title else one_line(prompt.text(), TITLE_LENGTH)
        if title:
            self._change(evolve(self.record, title=title))
            pipe.put(Retitled(title))


def _says_something(part: Part) -> bool:
    match part:
        case Notice():
            return False
        case _:
            text = getattr(part, "text", None)
            return not isinstance(text, str) or bool(text.strip())
