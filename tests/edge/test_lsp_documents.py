"""Positions, changes and edits of documents, in every encoding, against a slow model that is plainly right."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lsprotocol import types
from pygls.workspace import PositionCodec

from quillback.edge.lsp.documents import Document, Documents
from quillback.edge.lsp.edits import text_edits

pytestmark = pytest.mark.anyio
ENCODINGS = list(types.PositionEncodingKind)
TEXTS = st.lists(
    st.sampled_from(["a", "é", "😀", "\n", "\r\n", "\r", "\f", "\u2028", "x = 1\n", " "]), max_size=30
).map("".join)


def document(text: str, encoding: types.PositionEncodingKind = types.PositionEncodingKind.Utf16) -> Document:
    return Document(types.TextDocumentItem("file:///d/a.py", "python", 1, text), PositionCodec(encoding))


def offset(text: str, position: types.Position, encoding: types.PositionEncodingKind) -> int:
    """As the protocol says it: three line ends, columns in units, what is beyond a line is its end."""
    starts = [0, *(m.end() for m in re.finditer("\r\n|\r|\n", text))]
    if position.line >= len(starts):
        return len(text)
    start = starts[position.line]
    line = re.split("[\r\n]", text[start:])[0]
    size = {"utf-8": 1, "utf-16": 2, "utf-32": 4}[encoding.value]
    name = encoding.value if size == 1 else f"{encoding.value}-le"
    for length in range(len(line) + 1):
        if len(line[:length].encode(name)) // size >= position.character:
            return start + length
    return start + len(line)


@given(TEXTS, st.integers(0, 12), st.integers(0, 40), st.sampled_from(ENCODINGS))
def test_a_position_is_found(text, line, character, encoding):
    position = types.Position(line, character)
    assert document(text, encoding).offset_at_position(position) == offset(text, position, encoding)


@given(TEXTS, TEXTS, st.sampled_from(ENCODINGS))
def test_edits_make_the_new_text(text, new, encoding):
    before = document(text, encoding)
    edits = text_edits(before, new)
    after = text
    for edit in reversed(edits):
        start, end = (offset(text, p, encoding) for p in (edit.range.start, edit.range.end))
        after = after[:start] + edit.new_text + after[end:]
    assert after == new
    assert bool(edits) is (text != new)


@given(TEXTS, TEXTS, st.tuples(*[st.integers(0, 8)] * 4), st.sampled_from(ENCODINGS))
def test_a_change_is_applied_where_it_is(text, inserted, span, encoding):
    it = document(text, encoding)
    start, end = sorted((span[:2], span[2:]))
    span = types.Range(types.Position(*start), types.Position(*end))
    it.apply_change(types.TextDocumentContentChangePartial(span, inserted))
    a, b = offset(text, span.start, encoding), offset(text, span.end, encoding)
    assert it.source == text[:a] + inserted + text[max(a, b) :]


def test_far_changes_are_edits_of_their_own():
    lines = [f"line {n}\n" for n in range(50)]
    new = [*lines[:3], "other\n", *lines[4:40], *lines[41:]]
    edits = text_edits(document("".join(lines)), "".join(new))
    assert [(e.range.start.line, e.range.end.line, e.new_text) for e in edits] == [(3, 4, "other\n"), (40, 41, "")]


async def test_a_document_is_found_by_any_path(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    uri = (tmp_path / "link" / "a b.py").as_uri()
    documents = Documents()
    documents.opened(types.TextDocumentItem(uri, "python", 1, "x"))
    documents.opened(types.TextDocumentItem("untitled:one", "python", 1, "y"))
    for path in (tmp_path / "link" / "a b.py", tmp_path / "real" / "a b.py"):
        assert documents.at(str(path)).source == "x"
    assert documents.get("untitled:one").source == "y"
    assert await documents.settled(documents.get(uri), "z", 0.01) is False
    documents.closed(uri)
    assert documents.at(str(tmp_path / "real" / "a b.py")) is None
