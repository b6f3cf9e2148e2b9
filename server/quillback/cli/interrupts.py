"""Ctrl-C and its relatives: the first one ends what runs in good order, the second one ends the process."""

import asyncio
import os
import signal
import sys
from collections.abc import Callable

from quillback.cli.exits import CANCELLED

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupts:
    """Takes the signals from now on, until the loop ends.

    `first` is what the first one does, `last` what is done before the second one ends the process.
    """

    def __init__(self, first: Callable[[], object], last: Callable[[], object]) -> None:
        self.came = False
        self.first = first
        self._last = last
        for number in SIGNALS:
            if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:  # nohup ignores it
                asyncio.get_running_loop().add_signal_handler(number, self._signalled)

    def leave(self, code: int) -> None:
        """End the process if a signal came: what still blocks in a thread, the keyring for one, is not waited for."""
        if self.came:
            for stream in (sys.stdout, sys.stderr):
                if stream:
                    stream.flush()
            os._exit(code)

    def _signalled(self) -> None:
        if self.came:
            self._last()
            os._exit(CANCELLED)
        self.came = True
        self.first()
