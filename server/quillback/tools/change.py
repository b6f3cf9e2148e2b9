"""One change of one file, from the look before the question to the last check before it counts."""

import os
import stat
from contextlib import suppress
from pathlib import Path

from attrs import frozen

from quillback.core.mask import masks_in
from quillback.core.message import Diff, FileSeen, Location, Shown, Text
from quillback.core.ports import Access, EditorError, StoreError, ToolError, ToolOutcome
from quillback.core.undo import Before
from quillback.tools.atomic import replace_file, require_writable, unusable
from quillback.tools.call import Prepared, single
from quillback.tools.codec import Encoding, NotTextError, decode, encode
from quillback.tools.context import ToolContext
from quillback.tools.diagnostics import after_change
from quillback.tools.files import State, digest_of, look
from quillback.tools.paths import Target
from quillback.tools.places import enter, require_still

_DIFF_LIMIT = 1024 * 1024


@frozen
class Change:
    """What a file was and what it shall be. `old` is None for a new file; `summary` is the result's first line."""

    target: Target
    before: State
    old: str | None
    new: str
    data: bytes
    encoding: Encoding
    summary: str
    line: int | None = None


async def known_state(context: ToolContext, target: Target) -> State:
    """The file as the agent knows it, or no file. Raises ToolError if the agent has not seen its present content."""
    state = await look(context, target)
    require_writable(target, state.stat)
    if not state.exists:
        _require_room(target)
        return state
    known = context.known.get(target.real)
    if known is None:
        raise ToolError(f"{target.label} exists and was not read in this session; read it first with read_file")
    if known != state.digest:
        raise ToolError(f"{target.label} changed since it was last read; read it again with read_file, then redo this")
    return state


def _require_room(target: Target) -> None:
    """Raises ToolError where something that is no directory stands in the way of a new file."""
    above = next((parent for parent in Path(target.real).parents if os.path.lexists(parent)), None)
    if above is not None and not above.is_dir():
        raise ToolError(f"{target.label}: {above} is not a directory")


def text_of(target: Target, state: State) -> tuple[str, Encoding]:
    """The text a change starts from: the editor's unsaved one, else the disk's. Raises ToolError."""
    if state.stat is not None and state.data is None:
        raise ToolError(f"{target.label} is too large to change here; use a shell command")
    try:
        text, encoding = decode(state.data or b"")
    except NotTextError:
        raise ToolError(f"{target.label} is a binary file, not text") from None
    return (text if state.unsaved is None else state.unsaved), encoding


def require_no_new_masks(new: str, old: str, name: str) -> None:
    """Raises ToolError if `new` has a mask that `old` has not: it would take the place of the secret it stands for."""
    if strange := masks_in(new) - masks_in(old):
        raise ToolError(
            f"{name} holds {min(strange)}, which stands for a secret that you are not shown; writing it would destroy "
            "the secret. Nothing was changed. Change the lines around it with edit_file and leave it as it is"
        )


def prepared(context: ToolContext, change: Change, call_id: str) -> Prepared:
    locations = (Location(change.target.path, change.line),)
    real = change.target.real
    shown = _shown(change)
    if change.before.unsaved is not None and not _faithful(context, change):
        raise ToolError(
            f"{change.target.label} has unsaved changes in the editor, and its encoding, line ends or link would not "
            "survive a write through the editor; ask the user to save it, then read it again"
        )

    async def run() -> ToolOutcome:
        await _require_same_content(context, change)
        note = await _apply(context, change)
        seen = (FileSeen(real, context.known[real]),)
        text = Text(change.summary + note + await after_change(context, change.target, call_id))
        return ToolOutcome(content=(text,), shown=shown, locations=locations, seen=seen)

    access = Access(reads=() if change.old is None else (real,), writes=(real,))
    return Prepared(single(run), access, shown, locations)


async def _require_same_content(context: ToolContext, change: Change) -> None:
    if (await look(context, change.target)).digest != change.before.digest:
        raise ToolError(f"{change.target.label} changed while this call waited; read it again, then redo this")


def _shown(change: Change) -> tuple[Shown, ...]:
    if max(len(change.new), len(change.old or "")) > _DIFF_LIMIT:
        return (Text(f"The difference is not shown: {change.target.label} is larger than {_DIFF_LIMIT:,} characters."),)
    return (Diff(change.target.path, change.old, change.new),)


def _faithful(context: ToolContext, change: Change) -> bool:
    """Whether the editor would write exactly these bytes: plain UTF-8 with LF, at the very path, in the roots."""
    offered = context.editor.capabilities
    return (
        offered.read_text
        and offered.write_text
        and context.inside(change.target.real)
        and not change.target.link
        and change.encoding.plain
        and not any("\r" in text for text in (change.new, change.old or ""))
        and not change.new.startswith("\ufeff")
        and b"\r" not in (change.before.data or b"")
    )


async def _apply(context: ToolContext, change: Change) -> str:
    """Write it and remember it as known; what a reader should know beyond that comes back as a note."""
    await _keep(context, change)
    if _faithful(context, change):
        await _require_same_content(context, change)  # keeping it may have taken a while
        note = await _through_editor(context, change)
        if note is not None:
            return note
    await replace_file(change.target, change.data, change.before)
    context.known[change.target.real] = digest_of(change.data)
    await _written(context, change.target, context.known[change.target.real])
    return ""


async def _keep(context: ToolContext, change: Change) -> None:
    """What an undo will bring back: the file, or the unsaved text of it that the change starts from."""
    target, before = change.target, change.before
    content = before.data if before.unsaved is None else encode(before.unsaved, change.encoding)
    mode = None if before.stat is None else stat.S_IMODE(before.stat.st_mode)
    original = Before(target.real, target.path, content, mode, _to_be_made(target))
    try:
        await context.keep_original(original, digest_of(change.data))
    except StoreError as error:
        raise ToolError(f"{target.label} was not changed, since it could not be kept for an undo: {error}") from None


def _to_be_made(target: Target) -> str:
    """The topmost directory that is missing; empty for none."""
    missing = [parent for parent in Path(target.real).parents if not os.path.lexists(parent)]
    return str(missing[-1]) if missing else ""


async def _written(context: ToolContext, target: Target, digest: str) -> None:
    with suppress(StoreError):  # an undo then goes by what was about to be written
        await context.keep_original.written(target.real, digest)


async def _through_editor(context: ToolContext, change: Change) -> str | None:
    """None when the editor refused and the disk may be written instead.

    The editor goes by the path: who swaps a directory in the moment between the check and its write is only noticed.
    """
    target = change.target
    try:
        directory = enter(str(Path(target.real).parent), make=True)
    except OSError as error:
        raise ToolError(f"{target.label}: {unusable(error)}") from None
    try:
        require_still(target, directory)
        await context.editor.write_text(context.session_id, target.path, change.new)
        require_still(target, directory)
    except EditorError as error:
        if change.before.unsaved is not None:
            raise ToolError(f"{target.label}: the editor did not take the change: {error}") from None
        return None
    finally:
        os.close(directory)
    after = await look(context, target)
    context.known[target.real] = after.digest
    await _written(context, target, after.disk_digest)
    if after.data == change.data:
        return ""
    if after.disk_digest == change.before.disk_digest:
        context.unsaved[target.real] = target
        return "\nThe editor holds the new text unsaved; commands still see the old file."
    return "\nThe editor saved it with changes of its own (formatting, for instance); read it before the next edit."
