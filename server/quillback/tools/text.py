"""Text that is fit for a result: valid, free of control sequences, bounded, with the whole kept in a file."""

import codecs
import os
import re
import tempfile
from pathlib import Path
from typing import IO

RESULT_LIMIT = 30_000
"""Characters of a result that go to the model."""

SPOOL_LIMIT = 64 * 1024 * 1024
"""Characters of one output that are kept in a file."""

TITLE_LIMIT = 200
"""Characters of a title, and of a name in a result."""

_READ_AHEAD = 20
_WHOLE = 29_600
_HEAD = 14_500
_TAIL = 14_500
_PENDING_LIMIT = 64 * 1024
_REDRAWN_LIMIT = 4 * 1024

_ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # colours and cursor moves
    r"|\x1b\][^\x07\x1b\n]*(?:\x07|\x1b\\)?"  # titles and links
    r"|\x1b[PX^_][^\x1b\n]*(?:\x1b\\)?"  # device strings
    r"|\x1b[ -/]*[0-~]?"
)
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_SURROGATES = re.compile(r"[\ud800-\udfff]")
_HIDING = re.compile(r"[\ud800-\udfff\u200b\u2060\ufeff\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]")
_BLANKS = re.compile(r"[\s\x00-\x1f\x7f-\x9f]+")
_PICTURES = {code: 0x2400 + code for code in range(0x20) if code not in (0x09, 0x0A)} | {0x7F: 0x2421}


def one_line(text: str, limit: int = TITLE_LIMIT) -> str:
    """`text` on one line, cut to `limit` characters; what would hide or turn around others is shown as such."""
    whole = text.lstrip()
    head = whole[: _READ_AHEAD * limit]
    line = _HIDING.sub("�", _BLANKS.sub(" ", head)).strip()
    return line if len(line) <= limit and len(head) == len(whole) else line[: limit - 1] + "…"


def visible(text: str) -> str:
    """`text` with control characters other than tab and line feed shown as their pictures, one for one."""
    return _SURROGATES.sub("�", text.translate(_PICTURES))


def clean(text: str) -> str:
    """What a terminal would show of `text`: no control sequences, redrawn lines in their last state."""
    if "\x1b" in text or "\x9b" in text:
        text = _ESCAPES.sub("", text)
    if "\r" in text:
        text = "\n".join(_last_state(line) for line in text.split("\n"))
    while "\b" in text and (shorter := re.sub(r"[^\n\x08]\x08", "", text)) != text:
        text = shorter
    return _SURROGATES.sub("�", _CONTROLS.sub("", text))


def _last_state(line: str) -> str:
    line = line.rstrip("\r")
    return line[line.rfind("\r") + 1 :]


class Cleaner:
    """Decodes and cleans output as it comes; a line that may still be redrawn is held back."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._pending = ""

    def feed(self, data: bytes, *, final: bool = False) -> str:
        """The text that is settled by now; after `final` nothing is held back."""
        text = self._pending + self._decoder.decode(data, final)
        cut = len(text) if final else text.rfind("\n") + 1
        rest = text[cut:]
        if len(rest) > _REDRAWN_LIMIT:
            redrawn = rest.rfind("\r", 0, len(rest) - 1) + 1
            cut, rest = (cut, rest[redrawn:]) if redrawn else (cut, rest)
        settled = clean(text[:cut])
        if len(rest) > _PENDING_LIMIT:
            escape = rest.rfind("\x1b", len(rest) - 256)
            keep = len(rest) - escape if escape >= 0 else int(rest.endswith("\r"))
            settled += clean(rest[: len(rest) - keep])
            rest = rest[len(rest) - keep :]
        self._pending = rest
        return settled

    def flush(self) -> str:
        """The open line, given up as settled."""
        text, self._pending = self.pending, ""
        return text

    @property
    def pending(self) -> str:
        """The line that is still open, as it looks now."""
        return clean(self._pending)


class Collector:
    """Keeps head and tail of a growing text in memory and, once it is too long for a result, all of it in a file.

    `directory` is made on demand. Write errors never fail the call: the note then says that nothing was kept.
    """

    def __init__(self, directory: Path, name: str) -> None:
        self._directory = directory
        self._name = re.sub(r"[^A-Za-z0-9_-]", "_", name)[:60]
        self._head = ""
        self._tail = ""
        self._file: IO[str] | None = None
        self._spooled = 0
        self._problem = ""
        self._closed = False
        self.path = ""
        self.size = 0

    def add(self, text: str) -> None:
        if not text:
            return
        before, self.size = self.size, self.size + len(text)
        if before < _WHOLE:
            self._head += text[: _WHOLE - before]
        self._tail = (self._tail + text)[-_TAIL:]
        if self.size > _WHOLE and not self._problem and not self._closed:
            self._spool(text if self._spooled else self._head[:before] + text)

    def _spool(self, text: str) -> None:
        text = text[: SPOOL_LIMIT - self._spooled]
        self._spooled += len(text)
        try:
            if self._file is None:
                self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
                handle, self.path = tempfile.mkstemp(prefix=f"{self._name}-", suffix=".txt", dir=self._directory)
                self._file = os.fdopen(handle, "w", encoding="utf-8", errors="replace", newline="")
            self._file.write(text)
        except OSError as error:
            self._problem = error.strerror or "write error"

    def peek(self, limit: int) -> str:
        """The last characters, at most `limit`."""
        return self._tail[-limit:]

    def text(self) -> str:
        """All of it, or head and tail with a note between them; RESULT_LIMIT leaves room for a line after it."""
        if self.size <= _WHOLE:
            return self._head
        omitted = self.size - _HEAD - _TAIL
        return f"{self._head[:_HEAD]}\n[... {omitted:,} characters omitted; {self._where()} ...]\n{self._tail}"

    def _where(self) -> str:
        if self._problem:
            return f"the whole could not be kept ({self._problem})"
        if self.size > SPOOL_LIMIT:
            return f"the first {SPOOL_LIMIT:,} are in {self.path}"
        return f"the whole is in {self.path}"

    def close(self) -> None:
        """Finish the file, before its name is told to anyone; text added later is only counted."""
        self._closed = True
        if self._file is None:
            return
        try:
            self._file.close()
        except OSError as error:
            self._problem = error.strerror or "write error"


def bounded(text: str, directory: Path, name: str) -> str:
    """`text` as a result: unchanged when short, else head and tail, with the whole in a file of `directory`."""
    collector = Collector(directory, name)
    collector.add(text)
    collector.close()
    return collector.text()
