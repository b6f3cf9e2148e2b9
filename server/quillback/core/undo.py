"""Undo: what is kept of files before a turn changes them, how that is stored, and what comes of putting it back."""

import hashlib
from typing import Protocol

from attrs import frozen

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
    """It holds again what it held before."""


@frozen
class Removed:
    """It was made by the turn and is gone again."""


@frozen
class Left:
    """It is as it was found, for this reason; `again` says that another try may help."""

    reason: str
    again: bool = False


Fate = Untouched | Restored | Removed | Left


@frozen
class UndoReport:
    """Absolute paths. `restored` are as they were before the turn, `removed` are gone again, `kept` were left alone,
    each with the reason. `prompt` is the id of the turn's prompt, empty when there is nothing to undo."""

    prompt: str
    restored: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    kept: tuple[tuple[str, str], ...] = ()


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
