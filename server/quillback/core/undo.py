"""What is kept of files before they are changed, and what an undo did with it."""

from typing import Protocol

from attrs import frozen


@frozen
class UndoReport:
    """Absolute paths. `restored` are as they were before the turn, `kept` were left alone, each with the reason.
    `prompt` is the id of the turn's prompt, empty when there is nothing to undo."""

    prompt: str
    restored: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    kept: tuple[tuple[str, str], ...] = ()


class KeepOriginal(Protocol):
    """Called by a tool right before it changes a file."""

    async def __call__(self, path: str, before: bytes | None, mode: int | None) -> None:
        """Keep what the file at the real `path` holds (`before` is None for no file) if this turn has not changed it
        yet. On disk when it returns. Raises StoreError: then the file must not be changed."""
        ...
