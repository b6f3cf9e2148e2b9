"""A command's output on its way into results: cleaned, bounded, and how the command ended."""

import signal
from contextlib import suppress
from pathlib import Path

from quillback.core.mask import Mask, Veil
from quillback.tools.text import Cleaner, Collector

NOTHING = "(no output)"


class Output:
    """Takes bytes as they come. Each `take` gives what came since the last one, cut in the middle when too long.

    Secrets are masked before anything is kept or told.
    """

    def __init__(self, directory: Path, name: str, mask: Mask) -> None:
        self._veil = Veil(mask)
        self._directory = directory
        self._name = name
        self._cleaner = Cleaner()
        self._collector = Collector(directory, name)
        self.received = 0

    def feed(self, data: bytes) -> None:
        self.received += len(data)
        self._collector.add(self._veil.feed(self._cleaner.feed(data)))

    def tail(self, limit: int) -> str:
        """The last characters of what came since the last `take`."""
        return (self._collector.peek(limit) + self._veil.peek(self._cleaner.pending))[-limit:]

    def take(self, *, final: bool = False) -> str:
        rest = self._cleaner.feed(b"", final=True) if final else self._cleaner.flush()
        self._collector.add(self._veil.feed(rest, final=final))
        self._collector.close()
        text = self._collector.text().rstrip("\n")
        self._collector = Collector(self._directory, self._name)
        return text


def ending(status: int) -> str:
    """How a command ended, as a line for its result; empty for success. A negative status is a signal."""
    if status == 0:
        return ""
    number = -status if status < 0 else status - 128
    name = ""
    with suppress(ValueError):
        name = signal.Signals(number).name
    if status < 0:
        return f"[ended by signal {name or number}]"
    return f"[exit code {status}: {name}]" if name else f"[exit code {status}]"
