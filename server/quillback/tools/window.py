"""The lines of a text that one call shows, taken from it block by block so that its size does not matter."""

from quillback.core.mask import Mask

LINE_LIMIT = 2000
"""Characters of one line that are shown."""


class Window:
    """Takes `limit` lines from line `start` (from 1), up to `budget` bytes, and counts all lines."""

    def __init__(self, start: int, limit: int, budget: int, mask: Mask) -> None:
        self.start = start
        self.lines: list[str] = []
        self.full = False
        self.ends_open = False
        self._limit = limit
        self._mask = mask
        self._budget = budget
        self._line = 1
        self._kept = ""
        self._length = 0
        self._open = False

    def feed(self, text: str) -> None:
        if not text:
            return
        feeds = text.count("\n")
        if self.full or self._line + feeds < self.start:
            self._line += feeds
            self._open = not text.endswith("\n")
            return
        *whole, rest = text.split("\n")
        for piece in whole:
            self._grow(piece)
            self._end()
        self._grow(rest)

    def finish(self) -> None:
        """The text is over; a last line without a line feed counts too."""
        self.ends_open = self._open
        if self._open:
            self._end()

    @property
    def total(self) -> int:
        """Lines seen, once finished."""
        return self._line - 1

    @property
    def last(self) -> int:
        """The number of the last line taken."""
        return self.start + len(self.lines) - 1

    def _grow(self, piece: str) -> None:
        if piece:
            self._open = True
            self._kept += piece[: LINE_LIMIT + 1 - len(self._kept)]
            self._length += len(piece)

    def _end(self) -> None:
        if self._line >= self.start and not self.full:
            self._take()
        self._line += 1
        self._kept, self._length, self._open = "", 0, False

    def _take(self) -> None:
        line = self._kept
        if self._length > LINE_LIMIT:
            line = f"{self._mask.hide_growing(line[:LINE_LIMIT])}… [line cut: it has {self._length:,} characters]"
        line = line.removesuffix("\r")
        self._budget -= len(line.encode(errors="replace")) + 8
        if self._budget < 0 and self.lines:
            self.full = True
            return
        self.lines.append(line)
        self.full = len(self.lines) >= self._limit
