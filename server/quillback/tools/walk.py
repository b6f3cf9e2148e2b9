"""Walks a directory the way git would look at it, within limits, and never through a link."""

import os
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from operator import attrgetter

from attrs import frozen

from quillback.tools.atomic import is_leftover
from quillback.tools.ignore import Ignore, rules_above
from quillback.tools.places import descend, listable
from quillback.tools.threads import check

ENTRY_LIMIT = 300_000
SECONDS = 20.0


@frozen
class _Entry:
    """`path` is relative to the top; `ignore` are the rules of the directory it is in."""

    path: str
    directory: bool
    link: bool
    file: bool
    ignore: Ignore


class Walk:
    """The files below `top`, a real path that is open as `handle`, by name. `cut` says why some are missing, if so."""

    def __init__(self, top: str, handle: int, stop: threading.Event) -> None:
        self.cut = ""
        self._top = top
        self._handle = handle
        self._stop = stop
        self._deadline = time.monotonic() + SECONDS
        self._entries = 0

    def files(self) -> Iterator[tuple[str, bool]]:
        """Path relative to `top`, and whether it is a symbolic link. Ignored files and .git are left out."""
        stack = [self._listing("", rules_above(self._top))]
        while stack:
            entry = next(stack[-1], None)
            if entry is None:
                stack.pop()
                continue
            self._entries += 1
            check(self._stop)
            if self._entries > ENTRY_LIMIT or time.monotonic() > self._deadline:
                self.cut = f"stopped after {self._entries:,} files and directories"
                return
            if entry.ignore.ignored(f"{self._top}/{entry.path}", directory=entry.directory):
                continue
            if entry.directory:
                stack.append(self._listing(entry.path, entry.ignore))
            elif entry.link or entry.file:
                yield entry.path, entry.link

    def _listing(self, path: str, above: Ignore) -> Iterator[_Entry]:
        """The entries of a directory, by name, with the rules for them; nothing when it cannot be read."""
        found: list[_Entry] = []
        with suppress(OSError):
            handle = listable(descend(os.dup(self._handle), path.split("/") if path else ()))
            try:
                ignore = above.enter(f"{self._top}/{path}".rstrip("/"), handle)
                with os.scandir(handle) as entries:
                    found = [_seen(entry, path, ignore) for entry in sorted(entries, key=attrgetter("name"))]
            finally:
                os.close(handle)
        return (entry for entry in found if not _is_ours(entry.path))


def _seen(entry: "os.DirEntry[str]", above: str, ignore: Ignore) -> _Entry:
    return _Entry(
        f"{above}/{entry.name}" if above else entry.name,
        entry.is_dir(follow_symlinks=False),
        entry.is_symlink(),
        entry.is_file(follow_symlinks=False),
        ignore,
    )


def _is_ours(path: str) -> bool:
    """Whether it is git's own directory, or a write in progress."""
    name = path.rpartition("/")[2]
    return name == ".git" or is_leftover(name)
