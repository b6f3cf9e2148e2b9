"""Reads a shell line with tree-sitter, and notices where its reading is not bash's.

The grammar is the only judge of structure, so whatever it skips over must be a blank, a line break or a comment.
"""

import re
from collections.abc import Collection, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from quillback.inspectors.shell_findings import clock
from quillback.inspectors.shell_syntax_words import MisreadError

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

# From these numbers on some texts take the parser long without a chance to stop it.
PIPES_LIMIT = 1500
HERE_DOCUMENTS_LIMIT = 300
_ODD = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]|\ufffe|[\ud800-\udfff]")
_DELIMITER = re.compile(r"'([\w.-]+)'|\"([\w.-]+)\"|\\?([A-Za-z_]\w*)", re.ASCII)
_ENDS_WORD = frozenset(b" \t\n;&|()<>")
_KEYWORD = re.compile(r"[a-z]+|[{}!]|\[\[?|\]\]?")
_NUMBER = re.compile(rb"(?:^|[\s;&|()<>])\d+$")
_BRACE_OR_QUOTE = re.compile(rb"[{}'\"`]|\\(?:[{}'\"`\\\n]|$)")
_BEFORE_COMMENT = re.compile(rb"(?:^|[\s;&|()])$")


class UnreadableError(Exception):
    """The line cannot be read at all; the text says why."""


def tree(source: bytes, deadline: float) -> "Node":
    """The syntax tree of a text. Raises UnreadableError without the parser, and when it would take too long."""
    if source.count(b"|") > PIPES_LIMIT or source.count(b"<<") > HERE_DOCUMENTS_LIMIT:
        raise UnreadableError("it is too involved to be looked into")
    parser = _parser()
    try:
        return parser.parse(
            lambda offset, _: source[offset : offset + 65_536],
            progress_callback=lambda _offset, _error: clock() > deadline,
        ).root_node
    except ValueError:
        parser.reset()
        raise UnreadableError("it is too involved to be looked into") from None


@lru_cache(maxsize=1)
def _parser() -> "Parser":
    try:
        import tree_sitter_bash
        from tree_sitter import Language, Parser
    except ImportError:
        raise UnreadableError("the parser for shell lines (tree-sitter-bash) is not installed") from None
    return Parser(Language(tree_sitter_bash.language()))


def odd_characters(line: str) -> bool:
    """Control characters, which bash, the parser and the user's eyes take for different things."""
    return _ODD.search(line) is not None


def plain(line: str) -> str:
    """`line` with a blank for each odd character, to be read for what is plainly in it."""
    return _ODD.sub(" ", line)


def check_gap(source: bytes, start: int, end: int) -> None:
    """Raises MisreadError when more than white space and line continuations lies between two nodes."""
    if source[start:end].replace(b"\\\n", b"").strip(b" \t\n"):
        raise MisreadError("something was passed over")


def check_ends(root: "Node", source: bytes) -> None:
    """Raises MisreadError when something before or after all nodes was passed over."""
    children = root.children
    check_gap(source, 0, children[0].start_byte if children else len(source))
    if children:
        check_gap(source, children[-1].end_byte, len(source))


def check_token(node: "Node", source: bytes) -> None:
    """Raises MisreadError for a sign with something else in it, and for a keyword that is a part of a word for bash."""
    if source[node.start_byte : node.end_byte] != node.type.encode():
        raise MisreadError(f"{node.type} is read in two ways")
    if not _KEYWORD.fullmatch(node.type):
        return
    before, after = source[max(0, node.start_byte - 2) : node.start_byte], source[node.end_byte : node.end_byte + 1]
    if (before and before[-1] not in _ENDS_WORD) or before == b"\\\n" or (after and after[0] not in _ENDS_WORD):
        raise MisreadError(f"{node.type} is read in two ways")


def check_end(node: "Node", source: bytes) -> None:
    """Raises MisreadError when a word goes on right after the node."""
    after = source[node.end_byte : node.end_byte + 1]
    if after and after[0] not in _ENDS_WORD:
        raise MisreadError("a redirection is read in two ways")


def misses_descriptor(node: "Node", source: bytes) -> bool:
    """Whether the number before a redirection was taken for a word."""
    before = source[max(0, node.start_byte - 80) : node.start_byte].replace(b"\\\n", b"")
    return _NUMBER.search(before) is not None


def check_comment(node: "Node", source: bytes) -> None:
    before = source[max(0, node.start_byte - 2) : node.start_byte]
    if (
        not _BEFORE_COMMENT.search(before)
        or before.startswith(b"\\")
        or b"\n" in source[node.start_byte : node.end_byte]
    ):
        raise MisreadError("a comment is read in two ways")


def check_parentheses(node: "Node", source: bytes) -> None:
    """Raises MisreadError when bash would not end an arithmetic expression where the tree does."""
    depth = 0
    for kind in _leaf_kinds(node):
        depth += kind.count("(") - kind.count(")")
        if depth < 0:
            break
    if depth or re.search(rb"['\\]", source[node.start_byte : node.end_byte]):
        raise MisreadError("an arithmetic expression is read in two ways")


def check_braces(node: "Node", source: bytes, apart: Collection[str]) -> None:
    """Raises MisreadError when bash might end `${...}` elsewhere. Nodes of the types `apart` are not looked into."""
    rest, start = b"", node.children[0].end_byte
    for inner in _outermost(node, apart):
        rest += source[start : inner.start_byte] + b" "
        start = inner.end_byte
    rest += source[start : node.end_byte - 1]
    if _BRACE_OR_QUOTE.search(rest) or source[node.end_byte - 1 : node.end_byte] != b"}":
        raise MisreadError("an expansion is read in two ways")


def _outermost(node: "Node", kinds: Collection[str]) -> Iterator["Node"]:
    for child in node.children:
        if child.type in kinds:
            yield child
        else:
            yield from _outermost(child, kinds)


def _leaf_kinds(node: "Node") -> Iterator[str]:
    for child in node.children:
        yield from _leaf_kinds(child) if child.children else (child.type,)


def here_document(node: "Node", source: bytes) -> tuple[int, int, bool]:
    """Where the body of a here-document starts and ends, and whether its expansions are live.

    Raises MisreadError unless bash would find the same end.
    """
    kinds = {child.type: child for child in node.children}
    start, body, end = (kinds.get(k) for k in ("heredoc_start", "heredoc_body", "heredoc_end"))
    if start is None or body is None or end is None:
        raise MisreadError("a here-document does not end")
    named = _DELIMITER.fullmatch(source[start.start_byte : start.end_byte].decode())
    if named is None:
        raise MisreadError("a here-document is read in two ways")
    delimiter = (named[1] or named[2] or named[3]).encode()
    before = max(child.end_byte for child in node.children if child.end_byte <= body.start_byte and child != body)
    gap = source[before : body.start_byte]
    first = source.rfind(b"\n", 0, end.start_byte) + 1
    indent = b"\t" if "<<-" in kinds else b""
    closes = source[first : end.end_byte].lstrip(indent or b"\n")
    after = source[end.end_byte : end.end_byte + 1]
    joined = source[start.end_byte : start.end_byte + 1]
    if not gap.lstrip(b" \t").startswith(b"\n") or closes != delimiter or after not in (b"", b"\n"):
        raise MisreadError("a here-document is read in two ways")
    if joined and joined[0] not in _ENDS_WORD:
        raise MisreadError("a here-document is read in two ways")
    begin = before + gap.index(b"\n") + 1
    text, plain = source[begin:first], named[0] == named[3]
    readings = [text, text.replace(b"\\\n", b"")] if plain else [text]
    lines = [line for reading in readings for line in reading.split(b"\n")]
    if (plain and text.endswith(b"\\\n")) or any(line.lstrip(indent or b"\n") == delimiter for line in lines):
        raise MisreadError("a here-document is read in two ways")
    return begin, first, plain
