"""Makes text of models, files and commands harmless for a terminal: what could steer it becomes visible instead."""

import re

# control characters but tab and newline, what reorders text on the screen, and halves of characters
_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_PICTURES = 0x2400
_DELETE = "\u2421"
_UNKNOWN = "\ufffd"


def clean(text: str) -> str:
    """`text` without any character that a terminal acts on, but for tabs and line ends."""
    return _STEERING.sub(_shown, text.replace("\r\n", "\n"))


def one_line(text: str, limit: int = 0) -> str:
    """`text` in one line, cut to `limit` characters if there is one."""
    line = " ".join(clean(text).split())
    return line if not limit or len(line) <= limit else line[: limit - 1] + "…"


def _shown(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:
        return chr(_PICTURES + code)
    return _DELETE if code == 0x7F else _UNKNOWN
