"""Undo: what is kept of files before a turn changes them, how that is stored, and what comes of putting it back."""

import hashlib
from pathlib import PurePath
from typing import Protocol

from attrs import frozen

from quillback.core.text import code, one_line

KEPT_BYTES = 10 * 1024 * 1024
"""Bytes of a file up to which what it held is kept."""
KEPT_TURNS = 100
"""Turns of a session that can be undone; what older ones changed is forgotten."""
KEPT_TOTAL = 256 * 1024 * 1024
"""Bytes that are kept of a session; the oldest turns go first, the latest stays whatever its size."""
NO_FILE = ""
"""The digest of a file that is not there."""


def digest_of(content: bytes | None) -> str:
    """SHA-256 in hex; NO_FILE where there is none."""
    return NO_FILE if content is None else hashlib.sha256(content).hexdigest()


@frozen
class Before:
    """A file that is about to be changed. `content` and `mode` are None for no file.

    `path` is where it really is, `name` the absolute path by which the editor knows it. `made` is the topmost of the
    directories that have to be made for it, empty for none.
    """

    path: str
    name: str
    content: bytes | None
    mode: int | None
    made: str = ""


@frozen
class Original:
    """What a file held before a turn changed it. See `Before` for the other fields.

    `content` is None for no file, and for one too large to be kept; `before` is its digest. `written` is the digest of
    what the turn last wrote, empty before it has; `writing` that of what it was about to write. `failed` says that it
    could not be put back once.
    """

    number: int
    prompt: str
    path: str
    name: str
    content: bytes | None
    mode: int | None
    made: str
    before: str
    written: str
    writing: str
    failed: bool = False


@frozen
class Untouched:
    """The turn was about to change the file and never did."""


@frozen
class Restored:
    """It holds again what it held before; `already` says that it did so before the undo."""

    already: bool = False


@frozen
class Removed:
    """It was made by the turn and is gone again; `already` says that it was so before the undo."""

    already: bool = False


@frozen
class Left:
    """It is as it was found, for this reason; `again` says that another try may help."""

    reason: str
    again: bool = False


Fate = Untouched | Restored | Removed | Left


@frozen
class UndoReport:
    """Absolute paths. `restored` are as they were before the turn, `removed` are gone again, `kept` were left alone,
    each with the reason. `already` are those of the first two that were so before the undo. `prompt` is the id of the
    turn's prompt, empty when there is nothing to undo."""

    prompt: str
    restored: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    kept: tuple[tuple[str, str], ...] = ()
    already: tuple[str, ...] = ()


class KeepOriginal(Protocol):
    """What a tool tells of a file that it changes."""

    async def __call__(self, before: Before, after: str) -> None:
        """Right before it: keep what the file holds, if this turn has not changed it yet; `after` is the digest of what
        will be written. On disk when it returns. Raises StoreError: then the file must not be changed."""
        ...

    async def written(self, path: str, digest: str) -> None:
        """Right after it: the file at the real `path` now has this digest. Raises StoreError."""
        ...


class KeepsNothing:
    """Implements KeepOriginal where nothing can be undone."""

    async def __call__(self, before: Before, after: str) -> None:
        pass

    async def written(self, path: str, digest: str) -> None:
        pass


class RestoreFile(Protocol):
    async def __call__(self, original: Original) -> Fate:
        """Put one file back, unless somebody else has changed it since. Never raises but for a cancel, which comes
        either before the file changes or after."""
        ...


class Originals(Protocol):
    """What is kept, by session and turn; a turn is known by the id of its prompt. Methods raise StoreError."""

    async def keep(self, session_id: str, prompt: str, before: Before, after: str) -> None:
        """See KeepOriginal. Changes that others made between two changes of one turn begin a new original, so that
        undoing takes back the turn's own changes only."""
        ...

    async def written(self, session_id: str, prompt: str, path: str, digest: str) -> None: ...

    async def latest(self, session_id: str) -> list[int]:
        """The numbers of what is kept of the latest turn that has anything left, newest first."""
        ...

    async def original(self, number: int) -> Original | None: ...

    async def settle(self, number: int) -> None:
        """It is put back, or never will be: forget it."""
        ...

    async def failed(self, number: int) -> None:
        """It could not be put back this time."""
        ...


# ---------------------------------------------------------------- what is said of it

NOTHING = "There is nothing to undo: no turn of this session that changed files is left."
SHELL = "What shell commands, MCP servers or the editor's own tools changed is not undone."
PROMPT_LENGTH = 80


def undo_text(report: UndoReport, cwd: str, prompt: str = "") -> str:
    """For the user, as Markdown: a sentence and a list. `prompt` is the text of the turn's prompt."""
    if not report.prompt:
        return NOTHING
    of = f" of the turn “{one_line(prompt, PROMPT_LENGTH)}”" if prompt.strip() else " of the latest turn that made any"
    if {*report.restored, *report.removed} - {*report.already}:
        head = f"Undid the file changes{of}:"
    elif report.kept:
        head = f"The file changes{of} were not undone:"
    else:
        head = f"The file changes{of} were undone already:"
    return "\n".join([head, "", *undo_lines(report, cwd), "", SHELL])


def undo_lines(report: UndoReport, cwd: str) -> list[str]:
    def line(path: str, done: str, was: str) -> str:
        return f"- {was if path in report.already else done} {_short(path, cwd)}"

    return [
        *(line(path, "restored", "already as it was before:") for path in report.restored),
        *(line(path, "removed", "already gone:") for path in report.removed),
        *(f"- left alone {_short(path, cwd)}: {reason}" for path, reason in report.kept),
    ]


def _short(path: str, cwd: str) -> str:
    pure = PurePath(path)
    return code(str(pure.relative_to(cwd)) if pure.is_relative_to(cwd) else path)
