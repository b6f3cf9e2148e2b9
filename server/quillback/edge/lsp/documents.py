"""The open documents of the editor, unsaved text included. Columns count as the editor counts only in here."""

import asyncio
import logging
import re
from collections.abc import Sequence
from pathlib import Path

from lsprotocol import types
from pygls.uris import to_fs_path
from pygls.workspace import PositionCodec, TextDocument

log = logging.getLogger(__name__)
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
"""The protocol knows three line ends. Python's `splitlines` knows more: below a form feed every line would be off."""


def split_lines(text: str) -> list[str]:
    """The lines of a text with their ends, as the protocol counts them."""
    return _LINE.findall(text)


def real_path(uri: str) -> str:
    """The real path of a file's address; empty where it is none."""
    path = to_fs_path(uri)
    return str(Path(path).resolve()) if path and uri.lower().startswith("file:") else ""


class Document(TextDocument):
    """A text as the editor has it. Positions beyond the end of a line or of the text mean that end."""

    text: str

    def __init__(self, item: types.TextDocumentItem, codec: PositionCodec) -> None:
        super().__init__(item.uri, item.text, item.version, item.language_id, position_codec=codec)
        self.text = item.text
        self._lines: tuple[str, ...] | None = None

    @property
    def source(self) -> str:
        return self.text

    @property
    def lines(self) -> Sequence[str]:
        if self._lines is None:
            self._lines = tuple(split_lines(self.text))
        return self._lines

    def apply_change(self, change: types.TextDocumentContentChangeEvent) -> None:
        if isinstance(change, types.TextDocumentContentChangePartial):
            start = self.offset_at_position(change.range.start)
            end = max(start, self.offset_at_position(change.range.end))
            self.text = self.text[:start] + change.text + self.text[end:]
        else:
            self.text = change.text
        self._lines = None

    def offset_at_position(self, client_position: types.Position) -> int:
        lines, row = self.lines, client_position.line
        if row >= len(lines):
            return len(self.text)
        line = lines[row].rstrip("\r\n")
        return sum(map(len, lines[:row])) + _index(line, client_position.character, self.position_codec)

    def text_in_client_range(self, range: types.Range) -> str:
        start = self.offset_at_position(range.start)
        return self.text[start : max(start, self.offset_at_position(range.end))]


def _index(line: str, units: int, codec: PositionCodec) -> int:
    """How many characters of `line` the first `units` of the editor's units make."""
    if line.isascii():
        return min(units, len(line))
    counted = 0
    for index, character in enumerate(line):
        if counted >= units:
            return index
        counted += codec.client_num_units(character)
    return len(line)


class Documents:
    """By real path; one of another scheme, such as an unnamed buffer, is kept by its address only."""

    def __init__(self) -> None:
        self.codec = PositionCodec()
        self._by_uri: dict[str, Document] = {}
        self._by_path: dict[str, str] = {}
        self._changed = asyncio.Event()

    def opened(self, item: types.TextDocumentItem) -> None:
        self._by_uri[item.uri] = Document(item, self.codec)
        if path := real_path(item.uri):
            self._by_path[path] = item.uri
        self._tell()

    def changed(self, params: types.DidChangeTextDocumentParams) -> None:
        document = self._by_uri.get(params.text_document.uri)
        if document is None:
            log.warning("a change of %s, which is not open, is ignored", params.text_document.uri)
            return
        for change in params.content_changes:
            document.apply_change(change)
        document.version = params.text_document.version
        self._tell()

    def closed(self, uri: str) -> None:
        self._by_uri.pop(uri, None)
        self._by_path = {path: of for path, of in self._by_path.items() if of != uri}
        self._tell()

    def get(self, uri: str) -> Document | None:
        return self._by_uri.get(uri) or self.at(real_path(uri))

    def at(self, path: str) -> Document | None:
        """The open document of a file, by any path that leads to it."""
        if not path or not self._by_path:
            return None
        uri = self._by_path.get(path) or self._by_path.get(str(Path(path).resolve()))
        return self._by_uri.get(uri) if uri else None

    async def settled(self, document: Document, text: str, seconds: float) -> bool:
        """Wait until the editor has told that `document` is `text` now; whether it has."""
        try:
            async with asyncio.timeout(seconds):
                while document.text != text and self._by_uri.get(document.uri) is document:
                    await self._changed.wait()
        except TimeoutError:
            pass
        return document.text == text

    def _tell(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()
