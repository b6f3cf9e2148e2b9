"""Bytes of a file to text and back without a changed byte: encodings, byte order marks, line ends."""

import codecs

from attrs import frozen

from quillback.core.ports import ToolError

SNIFFED = 8192
"""Bytes at the start of a file that decide whether it is text."""

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # starts like UTF-16's, so it comes first
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


class NotTextError(Exception):
    """The bytes are no text in an encoding we can tell."""


@frozen
class Encoding:
    """How a file's text is written: a Python codec and the byte order mark in front."""

    name: str = "utf-8"
    mark: bytes = b""

    @property
    def plain(self) -> bool:
        """Whether every editor writes it back as it was."""
        return self.name == "utf-8" and not self.mark

    @property
    def remark(self) -> str:
        """What a reader should know of it; empty for plain UTF-8."""
        if self.name == "latin-1":
            return "not valid UTF-8; shown as Latin-1, other bytes are kept by edits"
        if self.plain:
            return ""
        return f"{self.name.upper().removesuffix('-LE').removesuffix('-BE')} with a byte order mark, kept by edits"


def sniff(head: bytes) -> Encoding:
    """The encoding announced by the first SNIFFED bytes; UTF-8 when nothing is. Raises NotTextError."""
    for mark, name in _MARKS:
        if head.startswith(mark):
            return Encoding(name, mark)
    if b"\0" in head[:SNIFFED]:
        raise NotTextError
    return Encoding()


def decode(data: bytes) -> tuple[str, Encoding]:
    """Text without its mark: by the mark, else UTF-8, else Latin-1 (which maps every byte). Raises NotTextError."""
    encoding = sniff(data[:SNIFFED])
    try:
        return data[len(encoding.mark) :].decode(encoding.name), encoding
    except UnicodeDecodeError:
        if encoding.mark and encoding.name != "utf-8":
            raise NotTextError from None
        return data.decode("latin-1"), Encoding("latin-1")


def encode(text: str, encoding: Encoding) -> bytes:
    """The inverse of `decode`. Raises ToolError for characters the encoding does not have."""
    try:
        return encoding.mark + text.encode(encoding.name)
    except UnicodeEncodeError as error:
        character = text[error.start]
        if "\ud800" <= character <= "\udfff":
            raise ToolError(
                f"the text holds a lone surrogate (U+{ord(character):04X}), which no file can hold"
            ) from None
        raise ToolError(
            f"the file is not UTF-8 (it is read as {encoding.name}), and {character!r} cannot be written in it; "
            "use characters it has, or convert the file first"
        ) from None


def line_end(text: str) -> str:
    """The line end most lines of `text` have: CR LF or LF; empty for a single line."""
    pairs = text.count("\r\n")
    singles = text.count("\n") - pairs
    if not pairs and not singles:
        return ""
    return "\r\n" if pairs > singles else "\n"
