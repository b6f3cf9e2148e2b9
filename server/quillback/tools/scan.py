"""Searches files for a regular expression when there is no ripgrep.

A script of its own, with the standard library only, so that a pattern that never comes to an end can be killed. Its
arguments are the pattern and `literal`, `ignore-case` or neither; the files come on fd 0, NUL after each. For each
line that matches it prints path, NUL, line number, colon and text. Exit status 2: the pattern is not valid.
"""

import io
import os
import re
import stat
import sys
from contextlib import suppress

_SNIFFED = 8192
_PIECE = 1024 * 1024
_WIDTH = 1000
_ENTER = os.O_DIRECTORY | os.O_NOFOLLOW | getattr(os, "O_PATH", os.O_RDONLY)
_MARKS = (
    (b"\xff\xfe\0\0", "utf-32"),
    (b"\0\0\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
    (b"\xef\xbb\xbf", "utf-8-sig"),
)


def main() -> None:
    pattern, *options = sys.argv[1:]
    try:
        wanted = re.compile(
            re.escape(pattern) if "literal" in options else pattern, re.IGNORECASE if "ignore-case" in options else 0
        )
    except (re.error, RecursionError, OverflowError) as error:
        sys.stderr.write(f"{error}")
        sys.exit(2)
    rest = b""
    while block := os.read(0, _PIECE):
        *paths, rest = (rest + block).split(b"\0")
        for path in paths:
            with suppress(OSError, UnicodeError):
                _search(path, wanted)


def _search(path: bytes, wanted: "re.Pattern[str]") -> None:
    """One regular file, line by line; a line longer than 1 MiB in pieces. Stops where it turns out to be binary."""
    handle = _open(path)
    with os.fdopen(handle, "rb") as raw:
        head = raw.read(_SNIFFED) if stat.S_ISREG(os.fstat(handle).st_mode) else b"\0"
        encoding = next((name for mark, name in _MARKS if head.startswith(mark)), "utf-8")
        if b"\0" in head and not encoding.startswith(("utf-16", "utf-32")):
            return
        raw.seek(0)
        number = 1
        file = io.TextIOWrapper(raw, encoding=encoding, errors="replace", newline="\n")
        while piece := file.readline(_PIECE):
            if "\0" in piece:
                return
            line = piece.removesuffix("\n").removesuffix("\r")
            if wanted.search(line):
                _print(path, number, line)
            number += piece.endswith("\n")


def _open(path: bytes) -> int:
    """Name by name, since a directory may have been replaced by a link after it was listed."""
    *directories, name = path.split(b"/")
    handles: list[int] = []
    try:
        for directory in directories:
            handles.append(os.open(directory, _ENTER, dir_fd=handles[-1] if handles else None))
        flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW
        return os.open(name, flags, dir_fd=handles[-1] if handles else None)
    finally:
        for handle in handles:
            os.close(handle)


def _print(path: bytes, number: int, line: str) -> None:
    text = line[:_WIDTH].replace("\n", " ").encode(errors="replace")
    sys.stdout.buffer.write(b"%s\0%d:%s\n" % (path, number, text))
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
