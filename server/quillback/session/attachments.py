"""Reads the files that a prompt links to, so that the model has their text without asking."""

import os
import stat
from collections.abc import Iterable, Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit

from quillback.core.mask import Mask
from quillback.core.message import Part, Resource, ResourceLink

LIMIT = 100_000


def with_linked_files(parts: Sequence[Part], roots: Iterable[str], mask: Mask) -> tuple[Part, ...]:
    """`parts` with the text of each linked file of the workspace behind its link, secrets masked.

    Small UTF-8 files inside `roots` only; any other link stays a link, which the model may follow with its tools.
    """
    known = tuple(roots)
    out: list[Part] = []
    for part in parts:
        out.append(part)
        if isinstance(part, ResourceLink) and (text := _text(part.uri, known)) is not None:
            out.append(Resource(part.uri, text=mask.hide(text), mime_type=part.mime_type))
    return tuple(out)


def _text(uri: str, roots: tuple[str, ...]) -> str | None:
    try:
        parsed = urlsplit(uri)
        if parsed.scheme != "file" or parsed.netloc not in ("", "localhost"):
            return None
        path = Path(unquote(parsed.path)).resolve()
        if not any(path.is_relative_to(root) for root in roots):
            return None
        # a fifo or a device must not block the loop
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError, RuntimeError):  # the last is a circle of links
        return None
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode) or status.st_size > LIMIT:
            return None
        return os.read(fd, LIMIT + 1).decode("utf-8")
    except (OSError, UnicodeDecodeError):
        return None
    finally:
        os.close(fd)
