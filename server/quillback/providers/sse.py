"""Server-sent events from bytes, as sans-io as the rest: tolerant of line ends, comments and cuts anywhere.

The SDK's own decoder drops events of servers that send no `event:` line, and costs twice as much a delta.
"""

_BOM = b"\xef\xbb\xbf"


class SseParser:
    """Feed it what the network brings; it gives back (event name, data) pairs, the name empty if not told."""

    def __init__(self) -> None:
        self._partial: list[bytes] = []
        self._name = b""
        self._data: list[bytes] = []
        self._after_cr = False
        self._first_line = True

    def feed(self, chunk: bytes) -> list[tuple[str, str]]:
        if not chunk:
            return []
        if self._after_cr and chunk.startswith(b"\n"):
            chunk = chunk[1:]
            self._after_cr = False
        if b"\r" in chunk:
            self._after_cr = chunk.endswith(b"\r")
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        elif chunk:
            self._after_cr = False
        if b"\n" not in chunk:
            self._partial.append(chunk)
            return []
        lines = chunk.split(b"\n")
        lines[0] = b"".join(self._partial) + lines[0]
        self._partial = [lines.pop()]
        return self._lines(lines)

    def finish(self) -> list[tuple[str, str]]:
        """What a server left without its blank line at the end."""
        lines = [b"".join(self._partial), b""]
        self._partial = []
        return self._lines(lines)

    def _lines(self, lines: list[bytes]) -> list[tuple[str, str]]:
        events: list[tuple[str, str]] = []
        if self._first_line:
            self._first_line = False
            lines[0] = lines[0].removeprefix(_BOM)
        for line in lines:
            if line.startswith(b"data:"):
                self._data.append(_value(line, 5))
            elif line.startswith(b"event:"):
                self._name = _value(line, 6)
            elif line == b"data":
                self._data.append(b"")
            elif not line:
                if self._data:
                    events.append((_decoded(self._name), _decoded(b"\n".join(self._data))))
                    self._data = []
                self._name = b""
        return events


def _value(line: bytes, start: int) -> bytes:
    """The field's value; one space after the colon does not belong to it."""
    return line[start + 1 :] if line.startswith(b" ", start) else line[start:]


def _decoded(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        pass
    try:
        # some servers write the halves of a character as if each were one; their reader joins them again
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace")
