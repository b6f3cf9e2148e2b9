"""Replaces files whole: a reader, or a restart after a kill, finds the old content or the new one, never a part."""

import errno
import os
import re
import secrets
import stat
import threading
import time
from contextlib import suppress
from pathlib import Path

from attrs import frozen

from quillback.core.ports import ToolError
from quillback.tools.files import BLOCK, State, unchanged
from quillback.tools.paths import Target
from quillback.tools.places import open_directory, problem, require_still
from quillback.tools.threads import check, in_thread

_LEFTOVER = re.compile(r"\..*\.quillback-(\d+)-[0-9a-f]{8}\.tmp", re.DOTALL)
_LEFTOVER_AGE = 3600.0


def is_leftover(name: str) -> bool:
    """Whether a file name is that of a write in progress, or of one that was killed: never content."""
    return _LEFTOVER.fullmatch(name) is not None


def require_writable(target: Target, status: os.stat_result | None) -> None:
    """Raises ToolError where replacing the file would override that it is read-only."""
    if status is not None and (not status.st_mode & 0o222 or not os.access(target.real, os.W_OK)):
        raise ToolError(f"{target.label} is read-only (mode {stat.S_IMODE(status.st_mode):04o})")


async def replace_file(target: Target, data: bytes, before: State, mode: int | None = None) -> None:
    """Put `data` in the place of what `before` saw; mode, owner and attributes stay, missing parents are made.

    A `mode` takes the place of the file's own. Hard links to the old content keep the old content. Raises ToolError.
    The new content is written beside the file in a thread. The rename that makes it count happens on the event loop
    with no await after the last check, so a cancel comes either before it, and nothing has changed, or after the whole
    of it.
    """
    staged = await in_thread(lambda stop: _stage(target, data, before.stat, stop, mode), _Staged.discard)
    try:
        require_still(target, staged.directory)
        if not unchanged(before, staged.directory, staged.name):
            raise ToolError(f"{target.label} changed at the last moment; read it again")
        os.replace(staged.temporary, staged.name, src_dir_fd=staged.directory, dst_dir_fd=staged.directory)
    except OSError as error:
        raise ToolError(f"{target.label}: {problem(error)}") from None
    finally:
        staged.discard()


@frozen
class _Staged:
    """New content beside its place, both named within one open directory."""

    directory: int
    temporary: str
    name: str

    def discard(self) -> None:
        _remove(self.directory, self.temporary)
        os.close(self.directory)


async def remove_file(target: Target, before: State) -> None:
    """Remove what `before` saw. Raises ToolError. Nothing else happens between the last check and the removal."""
    place = Path(target.real)
    try:
        directory = await in_thread(lambda _: open_directory(str(place.parent)), os.close)
    except OSError as error:
        raise ToolError(f"{target.label}: {unusable(error)}") from None
    try:
        require_still(target, directory)
        if not unchanged(before, directory, place.name):
            raise ToolError(f"{target.label} changed at the last moment")
        os.unlink(place.name, dir_fd=directory)
    except OSError as error:
        raise ToolError(f"{target.label}: {problem(error)}") from None
    finally:
        os.close(directory)


def _stage(
    target: Target, data: bytes, status: os.stat_result | None, stop: threading.Event, mode: int | None = None
) -> _Staged:
    place = Path(target.real)
    check(stop)
    try:
        directory = open_directory(str(place.parent), make=True)
    except OSError as error:
        raise ToolError(f"{target.label}: {unusable(error)}") from None
    temporary = f".{place.name[:40]}.quillback-{os.getpid()}-{secrets.token_hex(4)}.tmp"
    try:
        _sweep(directory)
        _write(directory, temporary, data, status, place.name, stop, mode)
    except BaseException as error:
        _remove(directory, temporary)
        os.close(directory)
        if isinstance(error, OSError):
            raise ToolError(f"{target.label}: {problem(error)}") from None
        raise
    return _Staged(directory, temporary, place.name)


def unusable(error: OSError) -> str:
    """Why the directory of a file cannot be used or made."""
    reason = (error.strerror or "").lower()
    return problem(error) if error.errno == errno.ELOOP else f"cannot use its directory: {reason}"


def _write(
    directory: int,
    name: str,
    data: bytes,
    status: os.stat_result | None,
    place: str,
    stop: threading.Event,
    mode: int | None = None,
) -> None:
    first = 0o666 if status is None else 0o600
    handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, first, dir_fd=directory)
    with os.fdopen(handle, "wb", buffering=0) as file:
        rest = memoryview(data)
        while rest:
            check(stop)
            rest = rest[file.write(rest[:BLOCK]) :]
        if status is not None:
            _keep_metadata(handle, status, directory, place)
        if mode is not None:
            os.fchmod(handle, mode)
        os.fsync(handle)


def _keep_metadata(handle: int, status: os.stat_result, directory: int, place: str) -> None:
    """Owner and attributes as far as we may, then the mode, which a change of owner would reduce."""
    own = os.fstat(handle)
    if (own.st_uid, own.st_gid) != (status.st_uid, status.st_gid):
        with suppress(OSError):
            os.fchown(handle, status.st_uid, status.st_gid)
    if hasattr(os, "listxattr"):
        with suppress(OSError):
            _copy_attributes(directory, place, handle)
    os.fchmod(handle, stat.S_IMODE(status.st_mode))


def _copy_attributes(directory: int, place: str, handle: int) -> None:
    old = os.open(place, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)
    try:
        for name in os.listxattr(old):
            with suppress(OSError):
                os.setxattr(handle, name, os.getxattr(old, name))
    finally:
        os.close(old)


def sweep(directory: Path) -> None:
    """Remove what killed writers left in a directory. Raises OSError."""
    handle = open_directory(str(directory))
    try:
        _sweep(handle)
    finally:
        os.close(handle)


def _sweep(directory: int) -> None:
    """Remove what killed writers left here: their process is gone, or it is an hour old."""
    with os.scandir(directory) as entries:
        found = [(entry.name, match) for entry in entries if (match := _LEFTOVER.fullmatch(entry.name))]
    for name, match in found:
        with suppress(OSError):
            age = time.time() - os.stat(name, dir_fd=directory, follow_symlinks=False).st_mtime
            if age > _LEFTOVER_AGE or not _alive(int(match[1])):
                os.unlink(name, dir_fd=directory)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


def _remove(directory: int, name: str) -> None:
    with suppress(OSError):
        os.unlink(name, dir_fd=directory)
