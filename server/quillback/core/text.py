"""Text of others that goes into titles and messages: one line, nothing that a terminal would obey, bounded."""

import re

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+")


def one_line(text: str, limit: int = 200) -> str:
    """`text` with control characters and line ends as spaces, at most `limit` characters."""
    short = text if len(text) <= limit * 4 else text[: limit * 4]
    line = " ".join(_CONTROL.sub(" ", short).split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"
