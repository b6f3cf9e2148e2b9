"""Reads a small file that may be anything: nothing here waits for a pipe, follows a device or fills the memory."""

import os
import stat
import sys
from collections.abc import Callable
from pathlib import Path


class UnfitError(ValueError):
    """The file cannot be used; the text says why, without its name."""


class TooLargeError(UnfitError):
    """It holds more than is read."""


def read_bytes(path: Path, limit: int) -> bytes:
    """The content of a regular file of at most `limit` bytes. Raises UnfitError; OSError where there is none."""
    return read_real(path, limit)[0]


def read_real(path: Path, limit: int, fits: Callable[[Path], str] = lambda _: "") -> tuple[bytes, Path]:
    """The same with the path of what was opened, links followed. `fits` is asked before anything is read; what it says
    is why the file is not read. A link that is turned elsewhere meanwhile leads nobody to another file."""
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise UnfitError("it is not a regular file")
        real = _real(handle, path)
        if why := fits(real):
            raise UnfitError(why)
        with open(handle, "rb", closefd=False) as file:
            data = file.read(limit + 1)
    finally:
        os.close(handle)
    if len(data) > limit:
        raise TooLargeError(f"it is larger than {limit // 1024} KB")
    return data, real


def _real(handle: int, path: Path) -> Path:
    """Where an open file is. Raises UnfitError where the system does not tell and the path leads elsewhere now."""
    try:
        if sys.platform == "darwin":
            import fcntl

            return Path(os.fsdecode(fcntl.fcntl(handle, fcntl.F_GETPATH, bytes(1024)).rstrip(b"\0")))
        return Path(f"/proc/self/fd/{handle}").readlink()
    except OSError:
        real = Path(os.path.realpath(path))
        if not os.path.samestat(os.fstat(handle), real.lstat()):
            raise UnfitError("it was exchanged while it was read") from None
        return real


def as_text(data: bytes) -> str:
    """UTF-8 with LF line ends. Raises UnfitError."""
    try:
        text = data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise UnfitError("it is not UTF-8 text") from None
    if "\0" in text:
        raise UnfitError("it is not text")
    return text
