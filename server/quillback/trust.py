"""Which directories the user trusts: what their files ask for has no effect before, nor after a change of a file."""

import fcntl
import json
import os
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from enum import Enum
from pathlib import Path

from attrs import frozen

from quillback.config import Settings
from quillback.trust_files import ProjectFiles, ProjectSettings, read_project

_NOTHING = ProjectSettings()


class TrustError(Exception):
    """The decision could not be read or stored; the text says why and what to do."""


class Standing(Enum):
    """EMPTY projects ask for nothing; UNFIT ones have files that cannot be trusted."""

    EMPTY = "empty"
    UNFIT = "unfit"
    NEW = "new"
    CHANGED = "changed"
    TRUSTED = "trusted"


@frozen
class Project:
    """A directory, by its real path, and what its files ask for, which holds only where `standing` is TRUSTED.

    `changed` are the files that are not as they were trusted. `problem` says what is wrong with the files, or with
    the file of the decisions.
    """

    root: str
    files: ProjectFiles
    standing: Standing
    changed: tuple[str, ...] = ()
    problem: str = ""

    @property
    def settings(self) -> ProjectSettings:
        """What has an effect: nothing, unless the files as they are were trusted."""
        return self.files.settings if self.standing is Standing.TRUSTED else _NOTHING


@frozen
class Decision:
    """`when` is milliseconds since the epoch; `digests` are those of `ProjectFiles`."""

    digests: Mapping[str, str]
    when: int


class Trust:
    """The decisions in `trust.json` of a home directory. `own` are directories that are never a project's."""

    def __init__(self, home: Path, own: tuple[Path, ...] = ()) -> None:
        self.file = home / "trust.json"
        self._own = frozenset(Path(os.path.realpath(path)) for path in (home, *own))

    def look(self, directory: Path) -> Project:
        """What the files of a directory ask for, and whether that was trusted. Never raises."""
        root = os.path.realpath(directory)
        files = read_project(Path(root), self._own)
        if files.problem:
            return Project(root, files, Standing.UNFIT, problem=files.problem)
        if files.settings.empty:
            return Project(root, files, Standing.EMPTY)
        try:
            decision = self._read().get(root)
        except TrustError as error:
            return Project(root, files, Standing.NEW, problem=str(error))
        if decision is None:
            return Project(root, files, Standing.NEW)
        names = {*decision.digests, *files.digests}
        changed = tuple(sorted(n for n in names if decision.digests.get(n) != files.digests.get(n)))
        return Project(root, files, Standing.CHANGED if changed else Standing.TRUSTED, changed)

    def grant(self, project: Project) -> None:
        """Trust the files as they were when `project` was looked at. Raises TrustError."""
        with self._changing() as decisions:
            decisions[project.root] = Decision(project.files.digests, time.time_ns() // 1_000_000)

    def revoke(self, directory: Path) -> bool:
        """Whether there was something to take back. Raises TrustError."""
        with self._changing() as decisions:
            return decisions.pop(os.path.realpath(directory), None) is not None

    def decisions(self) -> dict[str, Decision]:
        """Those there are, by the real path of the directory. Raises TrustError."""
        return self._read()

    # ------------------------------------------------------------ the file

    def _read(self) -> dict[str, Decision]:
        try:
            whole = json.loads(self.file.read_bytes())
            return {
                str(root): Decision({str(n): str(d) for n, d in entry["files"].items()}, int(entry["trusted_at"]))
                for root, entry in whole["directories"].items()
            }
        except (FileNotFoundError, NotADirectoryError):
            return {}
        except OSError as error:
            raise TrustError(f"{self.file} cannot be read: {error.strerror}") from None
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            raise TrustError(f"{self.file} is damaged, so nothing is trusted; move it away and trust again") from None

    @contextmanager
    def _changing(self) -> Iterator[dict[str, Decision]]:
        """The decisions, to be changed in place; other processes wait."""
        try:
            self.file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = os.open(self.file.with_suffix(".lock"), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX)
                decisions = self._read()
                yield decisions
                self._write(decisions)
            finally:
                os.close(lock)
        except OSError as error:
            raise TrustError(f"{self.file} cannot be written: {error.strerror}") from None

    def _write(self, decisions: Mapping[str, Decision]) -> None:
        """Whole or not at all, whenever the process ends."""
        directories = {root: {"files": dict(d.digests), "trusted_at": d.when} for root, d in sorted(decisions.items())}
        text = json.dumps({"version": 1, "directories": directories}, indent=1)
        handle, temporary = tempfile.mkstemp(prefix=".trust-", dir=self.file.parent)
        try:
            with os.fdopen(handle, "w", encoding="utf-8", errors="surrogateescape") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            Path(temporary).replace(self.file)
        except BaseException:
            with suppress(OSError):
                Path(temporary).unlink()
            raise


def trust_of(settings: Settings) -> Trust:
    return Trust(settings.home, (settings.config_file.parent,))


def load_project(settings: Settings, directory: Path) -> ProjectSettings:
    """What a directory's files may change: nothing, unless the user trusted them as they are."""
    return trust_of(settings).look(directory).settings
