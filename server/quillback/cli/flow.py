"""Gives Markdown its styles line by line while it is still arriving."""

import re

_UNDECIDED = re.compile(r" {0,3}(`{0,2}|~{0,2}|#{0,6})")
_FENCE = re.compile(r" {0,3}(```|~~~)")
_HEADING = re.compile(r" {0,3}#{1,6}\s")

Styled = tuple[str, str]


class MarkdownFlow:
    """Text as (text, style), nothing added or left out. Only the first characters of a line are ever held back."""

    def __init__(self) -> None:
        self._head: str | None = ""
        self._style = ""
        self._fenced = False

    def feed(self, text: str) -> list[Styled]:
        out: list[Styled] = []
        for line in text.splitlines(keepends=True) if "\n" in text else [text]:
            self._piece(out, line)
        return out

    def end(self) -> list[Styled]:
        """What is still held back."""
        out: list[Styled] = []
        if self._head:
            self._decide(out, self._head)
        return out

    def _piece(self, out: list[Styled], piece: str) -> None:
        ended = piece.endswith("\n")
        if self._head is None:
            out.append((piece, self._style))
        else:
            self._head += piece
            if ended or not _UNDECIDED.fullmatch(self._head):
                self._decide(out, self._head)
        if ended:
            self._head = ""

    def _decide(self, out: list[Styled], head: str) -> None:
        """Choose the style of the line that begins with `head`."""
        if _FENCE.match(head):
            self._fenced, self._style = not self._fenced, "dim"
        elif self._fenced:
            self._style = "cyan"
        else:
            self._style = "bold" if _HEADING.match(head) else ""
        self._head = None
        out.append((head, self._style))
