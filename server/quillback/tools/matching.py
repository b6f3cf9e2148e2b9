"""Finds and replaces passages whatever the file's line ends, and leaves every other character alone."""

import difflib
import re
from bisect import bisect_left
from itertools import takewhile

from attrs import frozen

from quillback.tools.codec import line_end
from quillback.tools.text import visible

COUNT_LIMIT = 1000
_SHOWN_LINES = 12
_SHOWN_WIDTH = 200
_COMPARED_LINES = 5000


@frozen
class View:
    """A text with CR LF read as LF. `pairs` are the positions in `lines` of the line feeds that had a CR."""

    text: str
    lines: str
    pairs: list[int]

    def place(self, position: int) -> int:
        """The position in `text` of one in `lines`."""
        return position + bisect_left(self.pairs, position)

    def line(self, position: int) -> int:
        return self.lines.count("\n", 0, position) + 1


def view(text: str) -> View:
    if "\r\n" not in text:
        return View(text, text, [])
    pairs = [match.start() - index for index, match in enumerate(re.finditer("\r\n", text))]
    return View(text, text.replace("\r\n", "\n"), pairs)


def unified(text: str) -> str:
    return text.replace("\r\n", "\n")


def find(seen: View, old: str, *, overlapping: bool) -> list[int]:
    """Where `old` (line feeds only) begins. Overlapping ones are all counted, up to COUNT_LIMIT."""
    found: list[int] = []
    at = seen.lines.find(old)
    while at >= 0 and not (overlapping and len(found) >= COUNT_LIMIT):
        found.append(at)
        at = seen.lines.find(old, at + (1 if overlapping else len(old)))
    return found


def replace(seen: View, starts: list[int], old: str, new: str) -> str:
    """The text with `new` in place of `old` at `starts`, which must not overlap.

    What both have in common at their ends is not touched, and new lines end as the replaced or the other lines do.
    """
    ends = line_end(new)
    old, new = unified(old), unified(new)
    front = _common(old, new)
    back = _common(old[front:][::-1], new[front:][::-1])
    core = new[front : len(new) - back]
    whole = line_end(seen.text) or ends
    pieces, last = [], 0
    for start in starts:
        first, beyond = seen.place(start + front), seen.place(start + len(old) - back)
        around = seen.text[seen.place(start) : seen.place(start + len(old))]
        crlf = (line_end(around) or whole) == "\r\n"
        pieces += [seen.text[last:first], core.replace("\n", "\r\n") if crlf else core]
        last = beyond
    return "".join([*pieces, seen.text[last:]])


def _common(one: str, other: str) -> int:
    """How many characters both begin with."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def closest(seen: View, old: str) -> str:
    """The numbered lines of the text that are most like `old`, with a sentence before them; empty if none is."""
    lines = seen.lines.split("\n")
    bare = [line.strip() for line in lines]
    wanted = [line.strip() for line in old.strip().split("\n")]
    size = len(wanted)
    for start in range(len(bare) - size + 1):
        if bare[start] == wanted[0] and bare[start : start + size] == wanted:
            return f"A passage that differs only in white space is there:\n{_numbered(lines, start, size)}"
    likeliest = _likeliest(bare, wanted)
    return "" if likeliest is None else f"The closest lines are:\n{_numbered(lines, likeliest, size)}"


def _likeliest(bare: list[str], wanted: list[str]) -> int | None:
    """Where the longest of the wanted lines, or the line most like it, would make the passage begin."""
    longest = max(range(len(wanted)), key=lambda index: len(wanted[index]))
    candidates = [line[:_SHOWN_WIDTH] for line in bare[:_COMPARED_LINES]]
    like = difflib.get_close_matches(wanted[longest][:_SHOWN_WIDTH], candidates, n=1, cutoff=0.5)
    return max(0, candidates.index(like[0]) - longest) if like else None


def _numbered(lines: list[str], start: int, size: int) -> str:
    part = lines[start : start + min(size, _SHOWN_LINES)]
    return "\n".join(f"{number:>6}\t{visible(line[:_SHOWN_WIDTH])}" for number, line in enumerate(part, start + 1))
