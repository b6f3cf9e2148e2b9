"""Small pictures, made by hand."""

import base64
import struct
import zlib


def png(width: int = 2, height: int = 2) -> str:
    """A PNG of one colour, as base64."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    rows = zlib.compress((b"\0" + b"\x7f\x00\xff" * width) * height)
    whole = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")
    return base64.b64encode(whole).decode()
