"""A change of a document as the few edits it takes, so that marks, folds and the cursor of the editor stay in place."""

from collections.abc import Iterator
from difflib import SequenceMatcher

from lsprotocol import types

from quillback.edge.lsp.documents import Document, split_lines

CLOSE_LOOK = 2_000
"""Lines up to which the differences are looked for one by one; more become one edit."""


def text_edits(document: Document, new: str) -> list[types.TextEdit]:
    """The edits of whole lines, from top to bottom, that make `new` of the document."""
    old, lines = list(document.lines), split_lines(new)
    top = 0
    while top < min(len(old), len(lines)) and old[top] == lines[top]:
        top += 1
    bottom = 0
    while bottom < min(len(old), len(lines)) - top and old[-1 - bottom] == lines[-1 - bottom]:
        bottom += 1
    a, b = old[top : len(old) - bottom], lines[top : len(lines) - bottom]
    return [
        types.TextEdit(types.Range(_start(document, top + i), _start(document, top + j)), "".join(b[m:n]))
        for i, j, m, n in _differences(a, b)
    ]


def _differences(a: list[str], b: list[str]) -> Iterator[tuple[int, int, int, int]]:
    if len(a) + len(b) > CLOSE_LOOK:
        yield 0, len(a), 0, len(b)
        return
    for tag, i, j, m, n in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if tag != "equal":
            yield i, j, m, n


def _start(document: Document, row: int) -> types.Position:
    """Where a line starts; behind the last one, where the text ends."""
    lines = document.lines
    if row < len(lines) or not lines or lines[-1].endswith(("\r", "\n")):
        return types.Position(row, 0)
    return types.Position(row - 1, document.position_codec.client_num_units(lines[-1]))
