"""Writes messages of transcripts: in one line where there is room, else with a line for each key."""

import json
from collections.abc import Iterable, Iterator

from quillback.transcripts.pattern import NAME, Arr, Kind, Name, Obj, Pattern, Regex, Scalar, Words

WIDTH = 110
STEP = 2


def write_pattern(pattern: Pattern, indent: int = 0, used: int = 0, width: int = WIDTH) -> str:
    """`indent` is that of following lines, `used` what the first line has already."""
    line = in_line(pattern)
    if indent + used + len(line) <= width or not isinstance(pattern, Obj | Arr):
        return line
    if isinstance(pattern, Obj) and (hugged := _hugged(pattern, indent, used, width)):
        return hugged
    opening, closing = "{}" if isinstance(pattern, Obj) else "[]"
    inner = "\n" + " " * (indent + STEP)
    lines = f",{inner}".join(_lines(pattern, indent + STEP, width))
    return f"{opening}{inner}{lines}\n{' ' * indent}{closing}"


def _hugged(pattern: Obj, indent: int, used: int, width: int) -> str:
    """With all but the last value in the first line, where there is room and the last is the one that needs lines."""
    if not pattern.fields:
        return ""
    *before, (key, last) = pattern.fields
    head = "{" + "".join(f"{_quoted(k)}: {in_line(item)}, " for k, item in before) + f"{_quoted(key)}: "
    if not isinstance(last, Obj | Arr) or indent + used + len(head) + 1 > width:
        return ""
    return f"{head}{write_pattern(last, indent, used + len(head), width)}{', ...' if pattern.rest else ''}}}"


def in_line(pattern: Pattern) -> str:
    match pattern:
        case Name(name=name):
            return f"${name}"
        case Kind(value=kind):
            return f"<{kind}>"
        case Regex(source=source):
            return "/" + source.replace("/", "\\/") + "/"
        case Words(pieces=pieces):
            return '"' + "".join(_piece(piece) for piece in pieces) + '"'
        case Scalar(value=value):
            return json.dumps(value)
        case Obj(fields=fields, rest=rest):
            return "{" + ", ".join(_with_rest((f"{_quoted(key)}: {in_line(item)}" for key, item in fields), rest)) + "}"
        case Arr(items=items, rest=rest):
            return "[" + ", ".join(_with_rest(map(in_line, items), rest)) + "]"


def _lines(pattern: Obj | Arr, indent: int, width: int) -> Iterator[str]:
    match pattern:
        case Obj(fields=fields, rest=rest):
            heads = ((f"{_quoted(key)}: ", item) for key, item in fields)
            yield from _with_rest((head + write_pattern(item, indent, len(head), width) for head, item in heads), rest)
        case Arr(items=items, rest=rest):
            yield from _with_rest((write_pattern(item, indent, width=width) for item in items), rest)


def _with_rest(written: Iterable[str], rest: bool) -> Iterator[str]:
    yield from written
    if rest:
        yield "..."


def _piece(piece: str | Name) -> str:
    """A dollar of the text itself is written so that it begins no name."""
    if isinstance(piece, Name):
        return f"${piece.name}"
    return NAME.sub(lambda found: rf"\u0024{found[1]}", _quoted(piece)[1:-1])


def _quoted(text: str) -> str:
    halves = any("\ud800" <= c <= "\udfff" for c in text)  # they have no UTF-8
    return json.dumps(text, ensure_ascii=halves)
