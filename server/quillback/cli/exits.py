"""How commands end: the exit codes, and the errors that are for the person at the terminal."""

import sys

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


def complain(message: str) -> None:
    """A line for the person at the terminal, whatever stdout is used for."""
    print(f"quillback: {clean(message)}", file=sys.stderr, flush=True)
