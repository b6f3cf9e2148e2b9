"""Starts wardens: the process, its three pipes, and what it is told."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from quillback.core.ports import ToolError

_WARDEN = str(Path(__file__).with_name("warden.py"))


def start(
    cwd: str, environment: Mapping[str, str], *, boxed: bool = False, handles: Mapping[str, int] | None = None
) -> "subprocess.Popen[bytes]":
    """A warden that waits for its command; `boxed` says that the command is a sandbox. Raises ToolError.

    `handles` are what the command gets as `stdin` and `stderr`; the caller closes its own.
    """
    passed = [f"{word}={number}" for word, number in (handles or {}).items()]
    try:
        return subprocess.Popen(
            [sys.executable, "-I", "-S", _WARDEN, *(("boxed",) if boxed else ()), *passed],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            cwd=cwd,
            env=environment,
            start_new_session=True,
            pass_fds=tuple((handles or {}).values()),
        )
    except OSError as error:
        raise ToolError(f"the command could not be started: {error.strerror}") from None


def ends(warden: "subprocess.Popen[bytes]") -> tuple[int, int, int]:
    """Our ends of its three pipes, taken over from the objects that would close them."""
    files = (warden.stdin, warden.stdout, warden.stderr)
    handles = [os.dup(file.fileno()) for file in files if file is not None]
    for file in files:
        if file is not None:
            file.close()
    control, output, status = handles
    return control, output, status


def write_all(handle: int, data: bytes) -> None:
    """Blocks at most until the warden has begun to read."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(handle, rest) :]
