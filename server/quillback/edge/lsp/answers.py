"""Texts for the user to read in the editor, as files: answers in Markdown, and diffs to be approved."""

import os
import re
import time
from contextlib import suppress
from pathlib import Path

KEPT = 100
KEPT_SECONDS = 7 * 24 * 3600
_UNFIT = re.compile(r"[^a-z0-9]+")
STEM = 40


class Answers:
    """In one directory, which only the user can read; the newest are kept for a week."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def write(self, title: str, suffix: str, text: str) -> Path:
        """A new file whose name tells of `title`. Raises OSError."""
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._clean()
        stem = _UNFIT.sub("-", title.lower()).strip("-")[:STEM].strip("-") or "answer"
        moment = time.strftime("%Y%m%d-%H%M%S")
        for number in range(1, 1000):
            path = self._directory / f"{moment}{f'-{number}' if number > 1 else ''}-{stem}{suffix}"
            with suppress(FileExistsError):
                file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
                with os.fdopen(file, "w", encoding="utf-8", errors="replace") as out:
                    out.write(text)
                return path
        raise FileExistsError(self._directory)

    def _clean(self) -> None:
        """Others may clean at the same time."""
        files = []
        for path in self._directory.iterdir():
            with suppress(OSError):
                files.append((path.stat().st_mtime, path))
        files.sort(reverse=True)
        oldest = time.time() - KEPT_SECONDS
        for number, (changed, path) in enumerate(files):
            if number >= KEPT - 1 or changed < oldest:
                with suppress(OSError):
                    path.unlink()
