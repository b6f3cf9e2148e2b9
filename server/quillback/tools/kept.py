"""Kept outputs do not pile up: old ones are removed, and the oldest where they are too many together."""

import os
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path

from attrs import frozen

DAY = 86_400.0
AGE = 30 * DAY
"""Seconds that an output is kept."""

SIZE = 1024**3
"""Bytes of outputs that are kept together; the last day's do not count as too many."""


@frozen(order=True)
class _Kept:
    changed: float
    size: int
    path: str


def sweep(outputs: Path, live: Collection[str], now: float, *, age: float = AGE, size: int = SIZE) -> int:
    """Remove what was kept more than `age` seconds before `now`, then the oldest until `size` bytes are left.

    `live` are sessions that some process has open: nothing of theirs is touched. Returns how many files were removed.
    May take a while; never raises for a file. The history of a session that is opened again may name files that went.
    """
    found = sorted(kept for directory in _directories(outputs, live) for kept in _files(directory))
    left, removed = sum(kept.size for kept in found), 0
    for kept in found:
        old = now - kept.changed
        if old > age or (left > size and old > DAY):
            with suppress(OSError):
                Path(kept.path).unlink()
                removed += 1
                left -= kept.size
    for directory in {Path(kept.path).parent for kept in found}:
        with suppress(OSError):  # one that is not empty stays
            directory.rmdir()
    return removed


def _directories(outputs: Path, live: Collection[str]) -> Iterator[Path]:
    with suppress(OSError):
        for entry in list(os.scandir(outputs)):
            if entry.is_dir(follow_symlinks=False) and entry.name not in live:
                yield Path(entry.path)


def _files(directory: Path) -> Iterator[_Kept]:
    with suppress(OSError):
        for entry in list(os.scandir(directory)):
            with suppress(OSError):
                if entry.is_file(follow_symlinks=False):
                    status = entry.stat(follow_symlinks=False)
                    yield _Kept(status.st_mtime, status.st_size, entry.path)
