"""Walks a directory the way git would look at it, within limits, and never through a link."""

import os
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from quillback.tools.atomic import is_leftover
from quillback.tools.ignore import Ignore, rules_above
from quillback.tools.threads import check

ENTRY_LIMIT = 300_000
SECONDS = 20.0


class Walk:
    """The files below `top` (a real path), by name. `cut` says why some are missing, if so."""

    def __init__(self, top: str, stop: threading.Event) -> None:
        self.cut = ""
        self._top = top
        self._stop = stop
        self._deadline = time.monotonic() + SECONDS
        self._entries = 0

    def files(self) -> Iterator[tuple[str, bool]]:
        """Path relative to `top`, and whether it is a symbolic link. Ignored files and .git are left out."""
        stack = [self._listing(self._top, rules_above(self._top))]
        while stack:
            entry, ignore = next(stack[-1], (None, None))
            if entry is None or ignore is None:
                stack.pop()
                continue
            directory = entry.is_dir(follow_symlinks=False)
            self._entries += 1
            check(self._stop)
            if self._entries > ENTRY_LIMIT or time.monotonic() > self._deadline:
                self.cut = f"stopped after {self._entries:,} files and directories"
                return
            if entry.name == ".git" or is_leftover(entry.name) or ignore.ignored(entry.path, directory=directory):
                continue
            if directory:
                stack.append(self._listing(entry.path, ignore))
            elif entry.is_symlink() or entry.is_file(follow_symlinks=False):
                yield entry.path[len(self._top) :].lstrip("/"), entry.is_symlink()

    def _listing(self, directory: str, above: Ignore) -> "Iterator[tuple[os.DirEntry[str], Ignore]]":
        """The entries of a directory, by name, with the rules for them; nothing when it cannot be read."""
        ignore = above.enter(directory)
        entries: list[os.DirEntry[str]] = []
        with suppress(OSError), os.scandir(Path(directory)) as found:
            entries = sorted(found, key=lambda entry: entry.name)
        return iter([(entry, ignore) for entry in entries])
