"""Turns that a plain LSP client has begun: progress while they run, a document or a message at the end."""

import asyncio
import logging
from collections.abc import Coroutine
from pathlib import Path

from attrs import frozen
from lsprotocol.types import MessageType

from quillback.core.event import (
    Event,
    Growth,
    MessageAdded,
    Noticed,
    PartGrew,
    RetryScheduled,
    StopReason,
    ToolStarted,
    TurnCompleted,
)
from quillback.core.message import Diff, Severity, Text
from quillback.core.text import one_line
from quillback.edge.connection import Connection, opened
from quillback.edge.lsp.editor import LspEditor
from quillback.session.pipe import EventPipe
from quillback.session.session import BusyError, ClosedError, Session
from quillback_protocol.jsonrpc import INVALID_REQUEST, RpcError

REPORT_SECONDS = 0.25
LINE = 100
SHORT = 300
"""Characters up to which an answer beside a change is a message; a longer one is a document."""
log = logging.getLogger(__name__)


@frozen
class Job:
    """`title` is the turn in one line; `reads` says that the answer is what the user wants."""

    title: str
    prompt: str
    reads: bool


class Turns:
    """One conversation for each directory, until a new one is asked for."""

    def __init__(self, connection: Connection, editor: LspEditor) -> None:
        self._connection = connection
        self._editor = editor
        self._client = editor.client
        self._sessions: dict[str, str] = {}
        self._opening = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()
        self._shown: dict[str, tuple[Session, EventPipe]] = {}

    async def session(self, roots: tuple[str, ...]) -> Session:
        """The conversation about `roots`, the first of which is its directory. Raises RpcError."""
        async with self._opening:
            known = self._sessions.get(roots[0])
            if known is not None:
                try:
                    return self._connection.session(known)
                except RpcError:
                    pass  # it was closed or deleted by its id
            self._connection.check_configuration()
            session = await opened(self._connection.sessions.new(roots[0], roots[1:]))
            self._sessions[roots[0]] = session.record.id
            return session

    def current(self, roots: tuple[str, ...]) -> Session | None:
        """The conversation about `roots`, if there is one."""
        try:
            return self._connection.session(self._sessions.get(roots[0], ""))
        except RpcError:
            return None

    def forget(self, roots: tuple[str, ...]) -> None:
        """The next turn begins a new conversation."""
        self._sessions.pop(roots[0], None)

    def begin(self, session: Session, job: Job) -> None:
        """Submit a prompt, and show what comes of it from now on. Raises RpcError."""
        try:
            pipe = session.submit((Text(job.prompt),))
        except (BusyError, ClosedError) as error:
            raise RpcError(INVALID_REQUEST, str(error)) from None
        self.aside(self._show(session, pipe, job))

    def aside(self, work: Coroutine[object, object, None]) -> None:
        """Do something of which no answer waits for the end; a failure is told to the user."""
        task = asyncio.create_task(self._told(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def withdraw(self, token: str) -> None:
        """The user cancelled the turn whose progress has this token."""
        if shown := self._shown.get(token):
            session, pipe = shown
            session.withdraw(pipe)

    def cancel(self) -> None:
        """Cancel what runs in every conversation, and what waits behind it."""
        for session_id in self._sessions.values():
            try:
                self._connection.session(session_id).cancel()
            except RpcError:
                continue

    async def ended(self) -> None:
        if self._tasks:
            await asyncio.wait(self._tasks)

    def drop(self) -> None:
        for task in self._tasks:
            task.cancel()

    async def _told(self, work: Coroutine[object, object, None]) -> None:
        try:
            await work
        except RpcError as error:
            self._client.message(f"Quillback: {error.message}", MessageType.Error)
        except Exception:
            log.exception("a turn could not be shown")
            self._client.message("Quillback failed inside; its log says more.", MessageType.Error)

    # ------------------------------------------------------------ what is shown

    async def _show(self, session: Session, pipe: EventPipe, job: Job) -> None:
        token = ""
        completed = TurnCompleted(StopReason.CANCELLED)
        changed: dict[str, None] = {}
        try:
            token = await self._client.begin(f"Quillback: {job.title}")
            if token:
                self._shown[token] = session, pipe
            view = _Line()
            async for event in pipe:
                if line := view.line(event, asyncio.get_running_loop().time()):
                    self._client.report(token, line)
                changed.update(dict.fromkeys(_changed(event)))
                match event:
                    case Noticed(title=title, severity=Severity.WARNING | Severity.ERROR):
                        self._client.message(f"Quillback: {title}", MessageType.Warning)
                    case TurnCompleted():
                        completed = event
                    case _:
                        pass
        finally:
            pipe.never_full()
            self._shown.pop(token, None)
            self._client.end(token, _end(completed))
        await self._answer(job, completed, list(changed))

    async def _answer(self, job: Job, completed: TurnCompleted, changed: list[str]) -> None:
        if completed.error:
            self._client.message(f"Quillback: {one_line(completed.error, 1_000)}", MessageType.Error)
            return
        if completed.stop_reason is StopReason.CANCELLED:
            return
        text = completed.text.strip() or "Done."
        if not job.reads and len(text) <= SHORT:
            self._client.message(f"Quillback: {text}{_unsaved(self._editor, changed)}")
            return
        if await self._show_document(job, text, changed):
            if note := _unsaved(self._editor, changed):
                self._client.message(f"Quillback: {note.strip()}")
            return
        self._client.message(f"Quillback: {text}")

    async def _show_document(self, job: Job, text: str, changed: list[str]) -> bool:
        files = "".join(f"\n- `{path}`" for path in changed)
        whole = f"# {job.title}\n\n{text}\n" + (f"\nChanged files:\n{files}\n" if files else "")
        try:
            path = await asyncio.to_thread(self._editor.answers.write, job.title, ".md", whole)
        except OSError as error:
            log.warning("the answer could not be written: %s", error)
            return False
        return await self._client.show(path, focus=job.reads)


class _Line:
    """What a turn does now, in one line, not too often."""

    def __init__(self) -> None:
        self._next = 0.0
        self._text = ""

    def line(self, event: Event, now: float) -> str:
        """Empty where there is nothing new to say."""
        match event:
            case ToolStarted(call=call):
                self._text = ""
                return one_line(call.title or call.name, LINE)
            case RetryScheduled(reason=reason, delay=delay):
                return one_line(f"{reason} Trying again in {delay:.0f} s.", LINE)
            case PartGrew(growth=Growth.TEXT | Growth.THOUGHT as growth, text=text):
                self._text = (self._text + text)[-4 * LINE :]
                if now < self._next:
                    return ""
                self._next = now + REPORT_SECONDS
                last = next((line for line in reversed(self._text.splitlines()) if line.strip()), "")
                return one_line(last, LINE) if growth is Growth.TEXT else "Thinking"
            case _:
                return ""


def _changed(event: Event) -> list[str]:
    match event:
        case MessageAdded(message=message):
            done = [result for result in message.tool_results() if not result.is_error]
            return [shown.path for result in done for shown in result.shown if isinstance(shown, Diff)]
        case _:
            return []


def _unsaved(editor: LspEditor, changed: list[str]) -> str:
    """What the user has to save themselves: commands see the disk."""
    names = [Path(path).name for path in changed if editor.documents.at(path) is not None]
    return f"\nChanged in the editor and not saved yet: {', '.join(names)}." if names else ""


def _end(completed: TurnCompleted) -> str:
    if completed.error:
        return "failed"
    return "cancelled" if completed.stop_reason is StopReason.CANCELLED else "done"
