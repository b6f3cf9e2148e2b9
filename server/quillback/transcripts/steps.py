"""The lines of an `acp` block: what is sent, what must come, and what may come."""

import re
from enum import StrEnum
from itertools import pairwise

from attrs import frozen

from quillback.transcripts.errors import TranscriptError
from quillback.transcripts.pattern import Obj, Pattern, Words
from quillback.transcripts.pattern_reading import PatternError, read_pattern

_HEAD = re.compile(r"(->|<-[?*&]?|skip)(?= |$)(?: raw(?= |$))? ?")
_VERSION = ("jsonrpc", Words(("2.0",)))
"""It says nothing, so it may be written or left out."""
_ALLOWED = "`-> {...}`, `<- {...}`, `<-? {...}`, `<-* {...}`, `<-& {...}`, `skip {...}` or `# remark`"


class Mark(StrEnum):
    """`MAY` comes once or not at all, `MANY` any number of times; neighbours with `MIXED` in any order. `SKIP` is
    passed over from there on, wherever it comes."""

    SEND = "->"
    MUST = "<-"
    MAY = "<-?"
    MANY = "<-*"
    MIXED = "<-&"
    SKIP = "skip"


@frozen
class Step:
    """`lines` are the first line in the file and the one behind the last, from 0. `source` is how it is written.

    `message` is None where `raw` is a line as it is, which need not be JSON.
    """

    mark: Mark
    message: Pattern | None
    raw: str
    lines: tuple[int, int]
    source: str

    @property
    def optional(self) -> bool:
        return self.mark in (Mark.MAY, Mark.MANY)


def read_steps(lines: list[str], first: int, place: str) -> list[Step]:
    """`first` is the line of the file that `lines` begin at, from 0. Raises TranscriptError."""
    heads = [i for i, line in enumerate(lines) if line and not line[0].isspace() and line[0] not in "}]"]
    for number in range(heads[0] if heads else len(lines)):
        if lines[number].strip():
            raise TranscriptError(place, first + number + 1, f"this line continues nothing; begin with {_ALLOWED}")
    steps = []
    for start, after in pairwise([*heads, len(lines)]):
        if lines[start].startswith("#"):
            continue
        steps.append(_step(lines[start : _end(lines, start, after)], first + start, place))
    return steps


def _end(lines: list[str], start: int, after: int) -> int:
    """Blank lines and remarks behind a message are not part of it."""
    while after > start + 1 and not lines[after - 1].strip():
        after -= 1
    return after


def _step(lines: list[str], first: int, place: str) -> Step:
    source = "\n".join(lines)
    head = _HEAD.match(source)
    if head is None:
        shown = lines[0][:40]
        raise TranscriptError(place, first + 1, f"`{shown}` is not known; a line begins with {_ALLOWED}")
    mark, span = Mark(head[1]), (first, first + len(lines))
    rest = source[head.end() :]
    if " raw" in head[0]:
        if mark not in (Mark.SEND, Mark.MUST) or len(lines) > 1:
            raise TranscriptError(place, first + 1, "`raw` is for one line that is sent, `->`, or must come, `<-`")
        return Step(mark, None, rest, span, source)
    try:
        message = read_pattern(rest)
    except PatternError as error:
        raise TranscriptError(place, first + error.line + 1, str(error)) from None
    if not isinstance(message, Obj):
        what = "a message is an object, `{...}`; any other line is written `raw`"
        raise TranscriptError(place, first + 1, what)
    if mark is not Mark.SEND:
        message = Obj(tuple(field for field in message.fields if field != _VERSION), message.rest)
    return Step(mark, message, "", span, source)
