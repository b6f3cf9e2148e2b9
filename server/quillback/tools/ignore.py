"""Which files git would not look at: .gitignore of every level and .git/info/exclude."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import frozen

if TYPE_CHECKING:
    import pathspec

_RULES_LIMIT = 1024 * 1024


@frozen
class Rules:
    """The lines of one file, which hold below the directory `base`."""

    base: str
    spec: "pathspec.GitIgnoreSpec"

    def verdict(self, path: str, *, directory: bool) -> bool | None:
        """True for ignored, False for expressly not, None where nothing is said. `path` is below `base`."""
        relative = path[len(self.base) :].lstrip("/")
        return self.spec.check_file(relative + "/" if directory else relative).include


@frozen
class Ignore:
    """The rules that hold in one directory, the outermost first; later ones win."""

    rules: tuple[Rules, ...] = ()

    def enter(self, directory: str, handle: int | None = None) -> "Ignore":
        """With the directory's own rules, read from `handle` where it is open already."""
        found = _read(directory, Path(directory if handle is None else "", ".gitignore"), handle)
        return Ignore((*self.rules, found)) if found else self

    def ignored(self, path: str, *, directory: bool) -> bool:
        for rules in reversed(self.rules):
            if (verdict := rules.verdict(path, directory=directory)) is not None:
                return verdict
        return False


def rules_above(top: str) -> Ignore:
    """The rules of the repository around `top`, a real path, that hold in it.

    None when it is ignored itself: who names it wants to see it.
    """
    between = list(_up_to_repository(top))
    if not between:
        return Ignore()
    repository = between[-1]
    excluded = _read(repository, Path(repository, ".git", "info", "exclude"))
    ignore = Ignore((excluded,)) if excluded else Ignore()
    for directory in reversed(between):
        if directory != repository and ignore.ignored(directory, directory=True):
            return Ignore()
        if directory != top:
            ignore = ignore.enter(directory)
    return ignore


def _up_to_repository(top: str) -> Iterator[str]:
    """`top` and what is above it up to the nearest directory with a .git; nothing outside a repository."""
    places = [top, *map(str, Path(top).parents)]
    depth = next((index for index, place in enumerate(places) if os.path.lexists(Path(place, ".git"))), None)
    yield from [] if depth is None else places[: depth + 1]


def _read(base: str, path: Path, directory: int | None = None) -> Rules | None:
    """The rules in a file; none if it is missing, a link (as git has it), huge or no ordinary file."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)
        with os.fdopen(handle, "rb") as file:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                return None
            data = file.read(_RULES_LIMIT)
    except OSError:
        return None
    return _rules(base, data.removeprefix(b"\xef\xbb\xbf").decode(errors="replace"))


def _rules(base: str, text: str) -> Rules | None:
    # It takes longer to import than the rest of the tools together, and many sessions never search.
    from pathspec import GitIgnoreSpec

    def valid(line: str) -> bool:
        """Whether it is a pattern: git passes over broken ones."""
        try:
            return len(GitIgnoreSpec.from_lines([line])) > 0
        except ValueError:
            return False

    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#") and valid(line)]
    return Rules(base, GitIgnoreSpec.from_lines(lines)) if lines else None
