"""Text of foreign programs made fit to show: valid, without control sequences, bounded."""

import os
import re
import tempfile
from pathlib import Path

from attrs import field, frozen

from quillback.core.mask import Mask

RESULT_LIMIT = 30_000
"""Characters of a result that go to the model."""

_HEAD = 14_700
_TAIL = 14_700
_SLICE = 64 * 1024
_ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # colours and cursor moves
    r"|\x1b[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)?"  # titles, links, device strings
    r"|\x1b[ -/]*[0-~]?"
)
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_BLANKS = re.compile(r"\s+")
_UNFIT = re.compile(r"[^A-Za-z0-9_-]")
_PREFIX_LIMIT = 120


def clean(text: str) -> str:
    """`text` without control characters other than tab and line feed, and without halves of characters."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if "\x1b" in text or "\x9b" in text:
        text = _ESCAPES.sub("", text)
    # in slices, so that other threads get their turn in the middle of megabytes
    return "".join(_CONTROLS.sub("", text[at : at + _SLICE]) for at in range(0, len(text), _SLICE))


def one_line(text: str, limit: int) -> str:
    """`text` on one line, cut to `limit` characters."""
    line = _BLANKS.sub(" ", clean(text)).strip()
    return line if len(line) <= limit else line[: limit - 1] + "…"


@frozen
class Keep:
    """Where what is too long for a result goes: new files (0600) of `directory`, made on demand, named `name-...`."""

    directory: Path
    name: str
    mask: Mask = field(factory=Mask)

    def file(self, data: bytes, suffix: str) -> str:
        """The path of a new file with `data`, or nothing if that failed."""
        prefix = _UNFIT.sub("_", self.name)[:_PREFIX_LIMIT]
        try:
            self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle, path = tempfile.mkstemp(prefix=f"{prefix}-", suffix=suffix, dir=self.directory)
            with os.fdopen(handle, "wb") as file:
                file.write(data)
        except OSError:
            return ""
        return path

    def bounded(self, text: str) -> str:
        """`text` when it is short enough for a result, else head and tail, with the whole in a file."""
        text = self.mask.hide(text)
        if len(text) <= RESULT_LIMIT:
            return text
        kept = self.file(text.encode("utf-8", "replace"), ".txt")
        where = f"the whole is in {kept}" if kept else "the whole could not be kept"
        return f"{text[:_HEAD]}\n[... {len(text) - _HEAD - _TAIL:,} characters omitted; {where} ...]\n{text[-_TAIL:]}"
