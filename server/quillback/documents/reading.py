"""Reads a small file that may be anything: nothing here waits for a pipe, follows a device or fills the memory."""

import os
import stat
from pathlib import Path


class UnfitError(ValueError):
    """The file cannot be used; the text says why, without its name."""


class TooLargeError(UnfitError):
    """It holds more than is read."""


def read_bytes(path: Path, limit: int) -> bytes:
    """The content of a regular file of at most `limit` bytes. Raises UnfitError; OSError where there is none."""
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise UnfitError("it is not a regular file")
        with open(handle, "rb", closefd=False) as file:
            data = file.read(limit + 1)
    finally:
        os.close(handle)
    if len(data) > limit:
        raise TooLargeError(f"it is larger than {limit // 1024} KB")
    return data


def as_text(data: bytes) -> str:
    """UTF-8 with LF line ends. Raises UnfitError."""
    try:
        text = data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise UnfitError("it is not UTF-8 text") from None
    if "\0" in text:
        raise UnfitError("it is not text")
    return text
