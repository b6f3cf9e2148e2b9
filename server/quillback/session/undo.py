"""Takes back what the latest turn changed in files, and tells the model and the user of it."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Container, Coroutine, Sequence
from typing import Any

from attrs import define, evolve, field, frozen

from quillback.core.message import Message, Role, Text
from quillback.core.ports import Editor, SessionRecord, StoreError
from quillback.core.text import one_line
from quillback.core.undo import (
    PROMPT_LENGTH,
    Before,
    Fate,
    Left,
    Original,
    Originals,
    Removed,
    Restored,
    RestoreFile,
    UndoReport,
    Untouched,
    undo_lines,
    undo_text,
)
from quillback.session.fork import ForkError, is_message
from quillback.session.past import Past
from quillback.session.services import Services

BUSY = "a turn is running in this session; wait for its end, or cancel it, and undo then"
ONLY_OWN = "others had changed it between two changes of the agent; only what came after that was undone"
GIVEN_UP = "; it was given up after two tries, the next undo goes further back"
CUT_OFF = "the undo was cut off; undo again to go on"
AFTER_CANCEL = 3.0
"""Seconds that an undo may go on for after it was cancelled."""
Tell = Callable[[UndoReport], Awaitable[None]]
"""Has the model and the user told; on disk when it returns. Raises StoreError."""
log = logging.getLogger(__name__)


class UndoBusyError(ValueError):
    """A turn is running: what it changes cannot be undone yet."""

    def __init__(self) -> None:
        super().__init__(BUSY)


@frozen
class Keeper:
    """Implements KeepOriginal for the turns of one session. `prompt` gives the id of the running turn's prompt."""

    originals: Originals
    session_id: str
    prompt: Callable[[], str]

    async def __call__(self, before: Before, after: str) -> None:
        await self.originals.keep(self.session_id, self.prompt(), before, after)

    async def written(self, path: str, digest: str) -> None:
        await self.originals.written(self.session_id, self.prompt(), path, digest)


def turns_after(history: Sequence[Message], after: str) -> Container[str] | None:
    """The ids of the messages behind `after`, one that the editor was shown: turns that began with one of them may be
    undone. None, which is any turn, where `after` is empty. Raises ForkError where there is no such message."""
    if not after:
        return None
    at = next((i for i, message in enumerate(history) if is_message(message, after)), None)
    if at is None:
        raise ForkError(f"there is no message {after!r} in this session")
    return {message.id for message in history[at + 1 :]}


@define
class _Undoing:
    """What came of a turn's files so far, by name; `numbers` are those dealt with, `again` those of them that stay."""

    prompt: str = ""
    fates: dict[str, list[Fate]] = field(factory=dict)
    numbers: list[int] = field(factory=list)
    again: set[int] = field(factory=set)

    def take(self, original: Original, fate: Fate) -> None:
        if isinstance(fate, Left) and fate.again:
            if original.failed:
                fate = evolve(fate, reason=fate.reason + GIVEN_UP)
            else:
                self.again.add(original.number)
        self.numbers.append(original.number)
        self.show(original, fate)

    def show(self, original: Original, fate: Fate) -> None:
        self.prompt = original.prompt
        if not isinstance(fate, Untouched):
            self.fates.setdefault(original.name, []).append(fate)

    def report(self) -> UndoReport:
        return _report(self.prompt, self.fates)


async def nobody(_: UndoReport) -> None:
    """For an undo of which nobody is told."""


async def undo_turn(
    originals: Originals,
    session_id: str,
    restore: RestoreFile,
    tell: Tell = nobody,
    turns: Container[str] | None = None,
) -> UndoReport:
    """Restore the files of the latest turn that changed any and is not undone yet; the newest change first. Where that
    turn is not among `turns`, the ids of prompts, nothing is done.

    What cannot be put back now, but perhaps later, stays for one more undo. Nothing is settled before `tell` has had
    the report: an undo that is killed is done over by the next one, which tells of all of it. So is one that is
    cancelled; its report names what is left. Raises StoreError where what was kept cannot be read.
    """
    while numbers := await originals.latest(session_id):
        if turns is not None and not await _is_among(originals, numbers, turns):
            return UndoReport("")
        undoing = _Undoing()
        try:
            await _restore(originals, numbers, restore, undoing)
        except asyncio.CancelledError:
            for number in numbers[len(undoing.numbers) :]:
                if (original := await originals.original(number)) is not None:
                    undoing.show(original, Left(CUT_OFF))
            undoing.numbers.clear()
        except StoreError as error:
            undoing.numbers.clear()
            if undoing.fates:
                await _finish(originals, undoing, tell)
            raise StoreError(f"The undo did not come to its end; undo again to go on. {error}") from error
        if undoing.fates:
            await _finish(originals, undoing, tell)
            return undoing.report()
        await _settle(originals, undoing)
    return UndoReport("")


async def _finish(originals: Originals, undoing: _Undoing, tell: Tell) -> None:
    """The files are as the report says, whatever the store does: that must not be lost with an error."""
    try:
        await tell(undoing.report())
        await _settle(originals, undoing)
    except StoreError as error:
        log.warning("what was undone is not all written down; the next undo does it over: %s", error)


async def _restore(originals: Originals, numbers: Sequence[int], restore: RestoreFile, undoing: _Undoing) -> None:
    for number in numbers:
        original = await originals.original(number)
        if original is None:
            undoing.numbers.append(number)
        else:
            undoing.take(original, await restore(original))


async def _settle(originals: Originals, undoing: _Undoing) -> None:
    for number in undoing.numbers:
        await (originals.failed(number) if number in undoing.again else originals.settle(number))


async def _to_its_end(work: Coroutine[Any, Any, UndoReport]) -> UndoReport:
    """What `work` returns, also when the caller is cancelled: files that are half undone, and nobody told, are worse
    than waiting. After a cancel it has AFTER_CANCEL seconds; then it is cancelled itself."""
    task = asyncio.create_task(work, name="undo")
    limit: asyncio.TimerHandle | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            current = asyncio.current_task()
            assert current is not None
            current.uncancel()
            limit = limit or asyncio.get_running_loop().call_later(AFTER_CANCEL, task.cancel)
    if limit is not None:
        limit.cancel()
    return task.result()


def _report(prompt: str, fates: dict[str, list[Fate]]) -> UndoReport:
    restored: list[str] = []
    removed: list[str] = []
    kept: list[tuple[str, str]] = []
    already: list[str] = []
    for path in sorted(fates):
        left = [fate for fate in fates[path] if isinstance(fate, Left)]
        done = [fate for fate in fates[path] if isinstance(fate, Removed | Restored)]
        if not done:
            kept.append((path, left[0].reason))
        elif left:
            kept.append((path, ONLY_OWN))
        else:
            (removed if isinstance(done[-1], Removed) else restored).append(path)
            already += [path] if all(fate.already for fate in done) else []
    return UndoReport(prompt, tuple(restored), tuple(removed), tuple(kept), tuple(already))


# ---------------------------------------------------------------- what is said of it


def _for_model(report: UndoReport, cwd: str, prompt: str) -> str:
    of = f'the turn that began with "{one_line(prompt, PROMPT_LENGTH)}"' if prompt.strip() else "an earlier turn"
    return "\n".join(
        [
            f"The user undid what {of} changed in files. The files are now as follows:",
            *undo_lines(report, cwd),
            "Their content is not what you last saw; read a file again before you rely on it or change it. Do not redo "
            "the changes unless the user asks for them.",
        ]
    )


def prompt_text(history: Sequence[Message], report: UndoReport) -> str:
    """What the user wrote to begin the turn; empty where the stream does not have it any more."""
    return next((m.text() for m in history if m.id == report.prompt), "")


def undo_messages(
    report: UndoReport,
    history: Sequence[Message],
    *,
    cwd: str,
    session_id: str,
    new_id: Callable[[str], str],
    now: Callable[[], int],
    for_user: bool = True,
) -> list[Message]:
    """What enters the stream after an undo: a message that only the model sees and, unless the user is told in another
    way, one that only the user sees. Thinking of before is not sent any more. Nothing where nothing was undone."""
    if not report.prompt:
        return []
    prompt = prompt_text(history, report)
    seq = history[-1].seq + 1 if history else 1
    words = Text(_for_model(report, cwd, prompt))
    model = Message(new_id("msg"), session_id, seq, Role.USER, (words,), now(), visible_to_user=False)
    said = Text(undo_text(report, cwd, prompt), new_id("msg"))
    user = Message(new_id("msg"), session_id, seq + 1, Role.ASSISTANT, (said,), now(), visible_to_model=False)
    return [evolve(model, thoughts_end=True), *([user] if for_user else [])]


# ---------------------------------------------------------------- sessions that are open, and others


async def _is_among(originals: Originals, numbers: Sequence[int], turns: Container[str]) -> bool:
    found = [original for number in numbers if (original := await originals.original(number)) is not None]
    return all(original.prompt in turns for original in found)


async def undo_open(
    past: Past, record: SessionRecord, editor: Editor, *, for_user: bool, after: str = ""
) -> UndoReport:
    """Undo in a session that is open here and has no turn running; the model and, with `for_user`, the user are told.

    Goes on to its end when the caller is cancelled, and then returns as if it was not. Raises StoreError, and
    ForkError for an unknown `after` (see `turns_after`).
    """
    services = past.services

    async def tell(report: UndoReport) -> None:
        for message in undo_messages(
            report,
            past.history,
            cwd=record.cwd,
            session_id=record.id,
            new_id=services.new_id,
            now=services.now,
            for_user=for_user,
        ):
            past.enter(message)
        await services.store.flush()

    restore = services.restore(record, editor)
    turns = turns_after(past.history, after)
    return await _to_its_end(undo_turn(services.store.originals, record.id, restore, tell, turns))


async def undo_stored(services: Services, record: SessionRecord, editor: Editor) -> tuple[UndoReport, str]:
    """Undo in a session that is not open here; the report, and the text of the turn's prompt.

    Raises SessionBusyError while another process has it open, and StoreError.
    """
    store = services.store
    await store.acquire(record.id)
    try:
        history = await store.messages(record.id)
        placed = [message for message in history if message.seq > 0]

        async def tell(report: UndoReport) -> None:
            for message in undo_messages(
                report, placed, cwd=record.cwd, session_id=record.id, new_id=services.new_id, now=services.now
            ):
                store.put(message)
            await store.flush()

        restore = services.restore(record, editor)
        report = await _to_its_end(undo_turn(store.originals, record.id, restore, tell))
        return report, prompt_text(history, report)
    finally:
        await store.release(record.id)
