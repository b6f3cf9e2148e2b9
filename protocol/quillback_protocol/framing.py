"""Bytes to JSON values and back, without I/O: newline-delimited JSON (ACP) and Content-Length headers (LSP).

Both framers take any split of the input, cost linear time, and turn what cannot be read into a FramingError value:
a bad frame never ends the stream.
"""

import json
import math
import re
from enum import Enum

import orjson
from attrs import frozen

from quillback_protocol.jsonrpc import INVALID_REQUEST, PARSE_ERROR

DEFAULT_LIMIT = 32 * 1024 * 1024
_BOM = b"\xef\xbb\xbf"
_BLANK = b" \t\r\n"
_MAX_HEADER_LINE = 8192

# Maps digits to "0" and all else to " ": a run of 19 zeros then shows a number that may not fit 64 bits.
_DIGITS = bytes(0x30 if 0x30 <= byte <= 0x39 else 0x20 for byte in range(256))
_LONG_NUMBER = b"0" * 19
_SURROGATE_ESCAPE = re.compile(rb"\\u[dD][89a-fA-F]")
_PAIR_OR_ESCAPE = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(?P<lone>\\u[dD][89a-fA-F][0-9a-fA-F]{2})|\\."
)
_HALF = "\ud800"
_HEADER = re.compile(rb"([\w-]+)[ \t]*:[ \t]*(.*)")
_LENGTH = re.compile(rb"[0-9]{1,20}")
_RESYNC = re.compile(rb"content-length:[ \t]{0,8}[0-9]{1,20}[ \t]{0,8}\r?\n", re.IGNORECASE)
_RESYNC_TAIL = 64  # longer than any match of _RESYNC, so one that arrives in pieces is still found


@frozen
class FramingError:
    """A frame that could not be read; answered with id null. `code` is -32700, or -32600 for one over the limit."""

    code: int
    message: str


class EncodeError(ValueError):
    """The value has no JSON form (a foreign type, or nested too deeply)."""


def too_large(limit: int) -> FramingError:
    return FramingError(INVALID_REQUEST, f"message larger than the limit of {limit} bytes")


def decode(data: bytes | bytearray) -> object:
    """One JSON value, or a FramingError. Integers keep all digits; lone surrogates become U+FFFD.

    One in the `id` of an object stays one, so that nobody takes it for another id.
    """
    data = data.removeprefix(_BOM)
    try:
        if _LONG_NUMBER in data.translate(_DIGITS):
            return _decode_exactly(data)
        return orjson.loads(data)
    except (ValueError, RecursionError) as error:
        if isinstance(error, ValueError) and _SURROGATE_ESCAPE.search(data):
            mended = _mended(data)
            if mended != data:
                return _with_half_id(decode(mended), data)
        return FramingError(PARSE_ERROR, f"parse error: {_reason(data, error)}")


def _decode_exactly(data: bytes | bytearray) -> object:
    # orjson turns integers beyond 64 bits into floats; an id must be echoed digit by digit.
    mended = _mended(data) if _SURROGATE_ESCAPE.search(data) else data
    value = json.loads(mended.decode(), parse_constant=_finite, parse_float=_finite)
    return value if mended == data else _with_half_id(value, data)


def _mended(data: bytes | bytearray, half: bytes = rb"\ufffd") -> bytes:
    return _PAIR_OR_ESCAPE.sub(lambda m: half if m["lone"] else m[0], data)


def _with_half_id(value: object, data: bytes | bytearray) -> object:
    """`value`, with half a character as its `id` if that had one in `data`: then another mending gives another id."""
    if isinstance(value, dict) and isinstance(value.get("id"), str) and "\ufffd" in value["id"]:
        other = decode(_mended(data, rb"\ufffe"))
        if isinstance(other, dict) and other["id"] != value["id"]:
            value["id"] = _HALF
    return value


def _finite(text: str) -> float:
    if not math.isfinite(number := float(text)):
        raise ValueError("a number out of range")
    return number


def _reason(data: bytes | bytearray, error: Exception) -> str:
    try:
        data.decode()
    except UnicodeDecodeError:
        return "not valid UTF-8"
    match error:
        case RecursionError():
            return "nested too deeply"
        case json.JSONDecodeError():
            return f"{error.msg} at character {error.pos}"
        case _:
            return "a number out of range"


def dumps(obj: object) -> bytes:
    """Compact UTF-8 JSON in one line. NaN and infinities become null, lone surrogates U+FFFD. Raises EncodeError."""
    try:
        return orjson.dumps(obj)
    except TypeError:
        pass  # big integers, lone surrogates and depth beyond 254 are left to the slow way
    try:
        return json.dumps(_plain(obj), ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise EncodeError(f"not encodable as JSON: {type(error).__name__}") from error


def _plain(obj: object) -> object:
    match obj:
        case str():
            return obj.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        case float() if not math.isfinite(obj):
            return None
        case dict():
            return {_plain(key): _plain(value) for key, value in obj.items()}
        case list() | tuple():
            return [_plain(item) for item in obj]
        case _:
            return obj


class LineFramer:
    """One JSON value per line. `limit` is the longest line in bytes, its newline not counted."""

    def __init__(self, limit: int = DEFAULT_LIMIT) -> None:
        self._limit = limit
        self._line = bytearray()
        self._skipping = False

    @staticmethod
    def encode(obj: object) -> bytes:
        """Raises EncodeError."""
        data = dumps(obj)
        # Line readers of some runtimes (Node's readline) also split at these two.
        return data.replace(b"\xe2\x80\xa8", rb"\u2028").replace(b"\xe2\x80\xa9", rb"\u2029") + b"\n"

    def feed(self, data: bytes) -> list[object]:
        """The values (or FramingErrors) that `data` completes, in order."""
        found: list[object] = []
        start = 0
        while (end := data.find(b"\n", start)) >= 0:
            self._take(data[start:end], found)
            self._end_line(found)
            start = end + 1
        self._take(data[start:], found)
        return found

    def close(self) -> list[object]:
        """The last line, when the input ended without a newline."""
        found: list[object] = []
        self._end_line(found)
        return found

    def _take(self, piece: bytes, found: list[object]) -> None:
        if self._skipping:
            return
        if len(self._line) + len(piece) > self._limit:
            self._skipping = True
            self._line = bytearray()
            found.append(too_large(self._limit))
        else:
            self._line += piece

    def _end_line(self, found: list[object]) -> None:
        line, self._line = self._line.removeprefix(_BOM), bytearray()
        skipped, self._skipping = self._skipping, False
        if not skipped and line.strip(_BLANK):
            found.append(decode(line))


class _State(Enum):
    HEADERS = 1
    BODY = 2
    LOST = 3


class HeaderFramer:
    """Frames of `Content-Length: N` headers and N bytes of JSON. `limit` is the longest body in bytes.

    After a broken header, or a frame over the limit, everything up to the next Content-Length line is dropped.
    """

    def __init__(self, limit: int = DEFAULT_LIMIT) -> None:
        self._limit = limit
        self._buffer = bytearray()
        self._scanned = 0
        self._begin()

    @staticmethod
    def encode(obj: object) -> bytes:
        """Raises EncodeError."""
        body = dumps(obj)
        return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)

    def feed(self, data: bytes) -> list[object]:
        """The values (or FramingErrors) that `data` completes, in order."""
        self._buffer += data
        found: list[object] = []
        while self._step(found):
            pass
        return found

    def close(self) -> list[object]:
        """A FramingError when the input ended inside a body."""
        cut = self._state is _State.BODY
        self._buffer.clear()
        self._begin()
        return [FramingError(PARSE_ERROR, "parse error: the input ended inside a message")] if cut else []

    def _begin(self) -> None:
        self._state = _State.HEADERS
        self._length: int | None = None
        self._any_header = False

    def _step(self, found: list[object]) -> bool:
        """Advance by one header line or body; False when more bytes are needed."""
        match self._state:
            case _State.HEADERS:
                return self._header_line(found)
            case _State.BODY:
                return self._body(found)
            case _State.LOST:
                return self._resync()

    def _header_line(self, found: list[object]) -> bool:
        end = self._buffer.find(b"\n", self._scanned)
        if (len(self._buffer) if end < 0 else end) > _MAX_HEADER_LINE:
            return self._lose(found, "a header line is too long")
        if end < 0:
            self._scanned = len(self._buffer)
            return False
        self._scanned = 0
        line = bytes(self._buffer[:end]).removeprefix(_BOM).strip(_BLANK)
        if line and not self._read_header(line):
            return self._lose(found, "a header line is malformed")
        del self._buffer[: end + 1]
        return True if line else self._end_headers(found)

    def _read_header(self, line: bytes) -> bool:
        self._any_header = True
        if not (header := _HEADER.fullmatch(line)):
            return False
        if header[1].lower() == b"content-length":
            if not _LENGTH.fullmatch(header[2]):
                return False
            self._length = int(header[2])
        return True

    def _end_headers(self, found: list[object]) -> bool:
        if not self._any_header:
            return True  # a blank line between frames
        if self._length is None:
            return self._lose(found, "Content-Length is missing")
        if self._length > self._limit:
            found.append(too_large(self._limit))
            self._state = _State.LOST
        else:
            self._state = _State.BODY
        return True

    def _body(self, found: list[object]) -> bool:
        if self._length is None or len(self._buffer) < self._length:
            return False
        body = bytes(self._buffer[: self._length])
        del self._buffer[: self._length]
        self._begin()
        found.append(decode(body))
        return True

    def _lose(self, found: list[object], reason: str) -> bool:
        found.append(FramingError(PARSE_ERROR, f"parse error: {reason}"))
        self._state, self._scanned = _State.LOST, 0
        return True

    def _resync(self) -> bool:
        if match := _RESYNC.search(self._buffer):
            del self._buffer[: match.start()]
            self._begin()
            return True
        del self._buffer[: max(0, len(self._buffer) - _RESYNC_TAIL)]
        return False
