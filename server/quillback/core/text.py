"""Text of others that goes into titles and messages: one line, nothing that a terminal would obey, bounded."""

import re
from decimal import Decimal

HIDDEN = r"\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb"
"""What turns the direction of text round, or is not seen: the inside of a class of characters."""

_LINE_END = re.compile(r"\r\n?|[\x85\u2028\u2029]")
_UNSEEN = re.compile(rf"[\x00-\x08\x0b-\x1f\xad\u034f\u180e\x7f-\x9f\ud800-\udfff{HIDDEN}\U000e0000-\U000e007f]")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+")


def one_line(text: str, limit: int = 200) -> str:
    """`text` with control characters and line ends as spaces, at most `limit` characters."""
    short = text if len(text) <= limit * 4 else text[: limit * 4]
    line = " ".join(_CONTROL.sub(" ", short).split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def code(text: str) -> str:
    """`text` in one line between Markdown's backticks."""
    line = one_line(text, 300)
    return f"`` {line} ``" if "`" in line else f"`{line}`"


def number(value: float) -> str:
    """`value` in plain digits, without those behind the point that say nothing."""
    text = format(Decimal(repr(value)), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def plain(text: str) -> str:
    """`text` with LF line ends, without what a terminal would obey or nobody would see. Emoji stay whole."""
    return _UNSEEN.sub("", _LINE_END.sub("\n", text))
