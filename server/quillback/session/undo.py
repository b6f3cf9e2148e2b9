"""Takes back what the latest turn changed in files, and tells the model and the user of it."""

from collections.abc import Callable, Container, Sequence
from pathlib import PurePath

from attrs import evolve, frozen

from quillback.core.message import Message, Role, Text
from quillback.core.ports import Editor, SessionRecord
from quillback.core.text import one_line
from quillback.core.undo import Before, Fate, Left, Originals, Removed, Restored, RestoreFile, UndoReport, Untouched
from quillback.session.fork import ForkError, is_message
from quillback.session.services import Services

NOTHING = "There is nothing to undo: no turn of this session that changed files is left."
BUSY = "a turn is running in this session; wait for its end, or cancel it, and undo then"
SHELL = "What shell commands, MCP servers or the editor's own tools changed is not undone."
ONLY_OWN = "others had changed it between two changes of the agent; only what came after that was undone"
GIVEN_UP = "; it was given up after two tries, the next undo goes further back"
PROMPT_LENGTH = 80


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


async def undo_turn(
    originals: Originals, session_id: str, restore: RestoreFile, turns: Container[str] | None = None
) -> UndoReport:
    """Restore the files of the latest turn that changed any and is not undone yet; the newest change first. Where that
    turn is not among `turns`, the ids of prompts, nothing is done.

    What cannot be put back now, but perhaps later, stays for one more undo. Each file is settled as soon as it is
    dealt with, so an undo that is cut off goes on where it stopped. Raises StoreError.
    """
    while numbers := await originals.latest(session_id):
        fates: dict[str, list[Fate]] = {}
        prompt = ""
        for number in numbers:
            original = await originals.original(number)
            if original is None:
                continue
            if turns is not None and original.prompt not in turns:
                return UndoReport("")
            prompt = original.prompt
            fate = await restore(original)
            if isinstance(fate, Left) and fate.again and not original.failed:
                await originals.failed(number)
            else:
                if isinstance(fate, Left) and fate.again:
                    fate = evolve(fate, reason=fate.reason + GIVEN_UP)
                await originals.settle(number)
            if not isinstance(fate, Untouched):
                fates.setdefault(original.name, []).append(fate)
        if fates:
            return _report(prompt, fates)
    return UndoReport("")


def _report(prompt: str, fates: dict[str, list[Fate]]) -> UndoReport:
    restored, removed, kept = [], [], []
    for path in sorted(fates):
        left = [fate for fate in fates[path] if isinstance(fate, Left)]
        if len(left) == len(fates[path]):
            kept.append((path, left[0].reason))
        elif left:
            kept.append((path, ONLY_OWN))
        elif isinstance(fates[path][-1], Removed):
            removed.append(path)
        elif isinstance(fates[path][-1], Restored):
            restored.append(path)
    return UndoReport(prompt, tuple(restored), tuple(removed), tuple(kept))


# ---------------------------------------------------------------- what is said of it


def undo_text(report: UndoReport, cwd: str, prompt: str = "") -> str:
    """For the user, in Markdown's plain sense: a sentence and a list. `prompt` is the text of the turn's prompt."""
    if not report.prompt:
        return NOTHING
    of = f" of the turn “{one_line(prompt, PROMPT_LENGTH)}”" if prompt.strip() else " of the latest turn that made any"
    done = bool(report.restored or report.removed)
    head = f"Undid the file changes{of}:" if done else f"The file changes{of} were not undone:"
    return "\n".join([head, "", *_lines(report, cwd), "", SHELL])


def _lines(report: UndoReport, cwd: str) -> list[str]:
    return [
        *(f"- restored {_short(path, cwd)}" for path in report.restored),
        *(f"- removed {_short(path, cwd)}" for path in report.removed),
        *(f"- left alone {_short(path, cwd)}: {reason}" for path, reason in report.kept),
    ]


def _short(path: str, cwd: str) -> str:
    pure = PurePath(path)
    return one_line(str(pure.relative_to(cwd)) if pure.is_relative_to(cwd) else path)


def _for_model(report: UndoReport, cwd: str, prompt: str) -> str:
    of = f'the turn that began with "{one_line(prompt, PROMPT_LENGTH)}"' if prompt.strip() else "an earlier turn"
    return "\n".join(
        [
            f"The user undid what {of} changed in files. The files are now as follows:",
            *_lines(report, cwd),
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


# ---------------------------------------------------------------- sessions that are not open


async def undo_stored(services: Services, record: SessionRecord, editor: Editor) -> tuple[UndoReport, str]:
    """Undo in a session that is not open here; the report, and the text of the turn's prompt.

    Raises SessionBusyError while another process has it open, and StoreError.
    """
    store = services.store
    await store.acquire(record.id)
    try:
        history = await store.messages(record.id)
        report = await undo_turn(store.originals, record.id, services.restore(record, editor))
        placed = [message for message in history if message.seq > 0]
        for message in undo_messages(
            report, placed, cwd=record.cwd, session_id=record.id, new_id=services.new_id, now=services.now
        ):
            store.put(message)
        await store.flush()
        return report, prompt_text(history, report)
    finally:
        await store.release(record.id)
