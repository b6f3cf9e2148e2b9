"""Reads and writes descriptors as the editor left them. They may be non-blocking: that is shared with whoever else has
them, so it is lived with and not changed. Imports light modules only: the fast handshake needs it.
"""

import fcntl
import os
import select

_ACCESS = os.O_RDONLY | os.O_WRONLY | os.O_RDWR


def read(fd: int, size: int) -> bytes:
    """What has come, after a wait for it; empty at the end of the input and when it cannot be read any more."""
    while True:
        try:
            return os.read(fd, size)
        except BlockingIOError:
            _wait(fd, select.POLLIN)
        except OSError:
            return b""


def write(fd: int, data: bytes | memoryview) -> int:
    """Write some of it, after a wait for room; how much it was. Raises OSError when nobody can take it any more."""
    while True:
        try:
            return os.write(fd, data)
        except BlockingIOError:
            _wait(fd, select.POLLOUT)


def unusable() -> str:
    """What is wrong with standard input or output for a server; empty if nothing is.

    A closed stderr is opened on nothing, so that no other file gets its number and the log in it.
    """
    for fd, name, verb, wrong in ((0, "input", "read", os.O_WRONLY), (1, "output", "written", os.O_RDONLY)):
        try:
            access = fcntl.fcntl(fd, fcntl.F_GETFL) & _ACCESS
        except OSError:
            return f"standard {name} is closed; an editor talks to Quillback through standard input and output"
        if access == wrong:
            return f"standard {name} cannot be {verb}; an editor talks to Quillback through standard input and output"
    try:
        os.fstat(2)
    except OSError:
        nothing = os.open(os.devnull, os.O_WRONLY)
        if nothing != 2:
            os.dup2(nothing, 2)
            os.close(nothing)
    return ""


def _wait(fd: int, what: int) -> None:
    poll = select.poll()
    poll.register(fd, what)
    poll.poll()
