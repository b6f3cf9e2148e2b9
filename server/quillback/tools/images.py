"""Tells images by their first bytes and finds their size, so that none is sent that the model's side would refuse."""

import struct
from collections.abc import Iterator

MIME_TYPES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_BARE = frozenset({0x01, *range(0xD0, 0xD9)})


def mime_type(head: bytes) -> str:
    """The type of an image by its first 12 bytes; empty for anything else."""
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "image/webp"
    return next((mime for magic, mime in MIME_TYPES if head.startswith(magic)), "")


def dimensions(data: bytes) -> tuple[int, int] | None:
    """Width and height in pixels; None when the image is damaged."""
    try:
        match mime_type(data):
            case "image/png" if data[12:16] == b"IHDR":
                width, height = struct.unpack(">II", data[16:24])
            case "image/gif":
                width, height = struct.unpack("<HH", data[6:10])
            case "image/jpeg":
                width, height = next(_jpeg_frames(data))
            case "image/webp":
                width, height = _webp(data)
            case _:
                return None
    except (struct.error, StopIteration, IndexError):
        return None
    return (width, height) if width and height else None


def _jpeg_frames(data: bytes) -> Iterator[tuple[int, int]]:
    at = 2
    while at + 4 <= len(data):
        if data[at] != 0xFF:
            return
        kind = data[at + 1]
        if kind == 0xFF or kind in _BARE:
            at += 1 if kind == 0xFF else 2
            continue
        if kind in _FRAMES:
            height, width = struct.unpack(">HH", data[at + 5 : at + 9])
            yield width, height
        at += 2 + int(struct.unpack(">H", data[at + 2 : at + 4])[0])


def _webp(data: bytes) -> tuple[int, int]:
    match data[12:16]:
        case b"VP8 ":
            width, height = struct.unpack("<HH", data[26:30])
            return width & 0x3FFF, height & 0x3FFF
        case b"VP8L":
            bits = int(struct.unpack("<I", data[21:25])[0])
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8X":
            return int.from_bytes(data[24:27], "little") + 1, int.from_bytes(data[27:30], "little") + 1
        case _:
            raise IndexError
