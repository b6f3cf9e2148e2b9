"""Keeps other programs of the same user out of this process: its environment and its memory hold the key."""

import sys
from contextlib import suppress

_SET_DUMPABLE = 4


def keep_private() -> None:
    """From now on only root can read this process's memory and environment, or trace it (Linux).

    It leaves no core file either. Programs that it starts are not concerned.
    """
    if sys.platform != "linux":
        return
    with suppress(ImportError, OSError, AttributeError):
        import ctypes  # takes 2 ms, so this comes after the answer to `initialize`

        ctypes.CDLL(None).prctl(_SET_DUMPABLE, 0, 0, 0, 0)
