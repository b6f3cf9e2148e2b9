"""How commands end: the exit codes, and the errors that are for the person at the terminal."""

import errno
import sys
from contextlib import suppress

from quillback.cli.clean import clean

DONE = 0
FAILED = 1
USAGE = 2
CANCELLED = 3
NO_CREDENTIALS = 4


class CliError(Exception):
    """The command cannot go on; the text says why and what to do."""

    def __init__(self, message: str, code: int = FAILED) -> None:
        super().__init__(message)
        self.code = code


class UnwritableError(BrokenPipeError):
    """Nobody reads what is written, and not because they have seen enough: the text says why."""

    def __init__(self, error: OSError) -> None:
        super().__init__(f"the output cannot be written: {error.strerror or error}")


def is_unwritable(error: OSError) -> bool:
    """Whether an error without a file's name is about a full or broken place, and so about standard output."""
    return error.filename is None and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


def complain(message: str) -> None:
    """A line for the person at the terminal, whatever stdout is used for."""
    with suppress(OSError):
        print(f"quillback: {clean(message)}", file=sys.stderr, flush=True)
