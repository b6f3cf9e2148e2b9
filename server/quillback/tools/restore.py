"""Puts a file back as it was before a turn changed it, and only where nobody else has changed it since."""

import logging
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import assert_never

from attrs import evolve, frozen

from quillback.core.ports import Editor, SessionRecord, ToolError
from quillback.core.undo import KEPT_BYTES, NO_FILE, Fate, Left, Original, Removed, Restored, Untouched
from quillback.tools.atomic import remove_file, replace_file, require_writable, sweep
from quillback.tools.context import ToolContext
from quillback.tools.files import State, look
from quillback.tools.paths import Target, label
from quillback.tools.places import MOVED

CHANGED = "changed since the agent wrote it"
GONE = "removed since the agent wrote it"
ELSEWHERE = "its path leads elsewhere now"
TOO_LARGE = f"it was larger than {KEPT_BYTES // 1024**2} MB, so what it held was not kept"
UNSAVED = "it has unsaved text in the editor; save or discard that, then undo again"
log = logging.getLogger(__name__)


def restorer(record: SessionRecord, editor: Editor) -> "Restorer":
    roots = tuple(Path(root).resolve() for root in record.roots)
    return Restorer(ToolContext(record.id, Path(record.cwd), roots, editor, {}, Path()))


@frozen
class Restorer:
    """Implements RestoreFile."""

    context: ToolContext

    async def __call__(self, original: Original) -> Fate:
        target = Target(label(self.context.cwd, original.name), original.name, original.path, link=False)
        try:
            return await self._restore(target, original)
        except ToolError as error:
            text = str(error).removeprefix(target.label).lstrip(": ").removeprefix("is ")
            moved = text.endswith(MOVED)
            return Left(ELSEWHERE) if moved else Left(text or "it cannot be changed", again=True)
        except Exception as error:
            log.exception("%s could not be put back", original.path)
            return Left(f"it could not be put back ({type(error).__name__})", again=True)

    async def _restore(self, target: Target, original: Original) -> Fate:
        state = await look(self.context, target)
        verdict = _verdict(original, state)
        if not isinstance(verdict, Restored | Removed) or state.disk_digest == original.before:
            _remove_directories(target.real, original.made)  # a write that was cut off may have made them
            return verdict
        require_writable(target, state.stat)
        match verdict:
            case Restored():
                assert original.content is not None
                await replace_file(target, original.content, state, original.mode)
            case Removed():
                await remove_file(target, state)
                _remove_directories(target.real, original.made)
            case _:
                assert_never(verdict)
        return verdict


def _verdict(original: Original, state: State) -> Fate:
    """What is to come of the file; Restored or Removed is to be made so, if it is not so already."""
    now = state.disk_digest
    goal = Removed() if original.before == NO_FILE else Restored()
    if state.unsaved is not None:
        return Left(UNSAVED, again=True)
    if now == original.before:
        return evolve(goal, already=True) if original.written else Untouched()
    if now == NO_FILE:
        return Left(GONE)
    if now not in (original.written, original.writing):
        return Left(CHANGED)
    return Left(TOO_LARGE) if original.before != NO_FILE and original.content is None else goal


def _remove_directories(path: str, made: str) -> None:
    """The directories that were made for the file, as far as nothing else is in them."""
    with suppress(OSError):
        for directory in _below(path, made):
            sweep(directory)
            directory.rmdir()


def _below(path: str, made: str) -> Iterator[Path]:
    for directory in Path(path).parents:
        if not made or not directory.is_relative_to(made):
            return
        yield directory
