"""Text on its way to a terminal: cleaned, styled where the terminal can, and sent piece by piece."""

import os
import sys
from collections.abc import Mapping
from io import StringIO

from quillback.cli.clean import clean, one_line
from quillback.cli.sink import Sink

DULL = ("", "dumb", "unknown")


class Screen:
    """Plain text. What is written is sent by `flush`. Styles are rich's; here they are ignored."""

    coloured = False

    def __init__(self, sink: Sink, encoding: str = "utf-8") -> None:
        self._newlines = 2  # how many end what is written; no blank line is wanted at the top
        self._sink = sink
        self._encoding = encoding
        self._out = StringIO()

    def write(self, text: str, style: str = "") -> None:
        text = clean(text)
        if text:
            self._put(text, style)
            ending = len(text) - len(text.rstrip("\n"))
            self._newlines = ending if ending < len(text) else self._newlines + ending

    def line(self, text: str = "", style: str = "") -> None:
        self.write(text, style)
        self.write("\n")

    def blank_line(self) -> None:
        """End the line, and leave one free unless there is one."""
        self.write("\n" * (2 - self._newlines))

    def fresh_line(self) -> None:
        self.write("\n" * (1 - self._newlines))

    def status(self, text: str) -> None:
        """Show what is going on until the next text comes; only where a line can be taken back."""

    def sign(self, sign: str, plain: str) -> str:
        """`sign` if the terminal can show it."""
        try:
            sign.encode(self._encoding)
        except UnicodeEncodeError:
            return plain
        return sign

    async def flush(self) -> None:
        """Raises BrokenPipeError when nobody reads any more."""
        text, self._out = self._out.getvalue(), self._fresh()
        await self._sink.send(text.encode(self._encoding, "replace"))

    def hurry(self) -> None:
        self._sink.hurry()

    def _fresh(self) -> StringIO:
        return StringIO()

    def _put(self, text: str, style: str) -> None:
        self._out.write(text)


class RichScreen(Screen):
    """Colours, and a last line that may be replaced. Long lines are the terminal's to wrap, so that they are copied and
    widened as one."""

    coloured = True

    def __init__(self, sink: Sink, encoding: str = "utf-8") -> None:
        from rich.console import Console
        from rich.text import Text

        super().__init__(sink, encoding)
        self._console = Console(
            file=self._out, force_terminal=True, markup=False, emoji=False, highlight=False, legacy_windows=False
        )
        self._text = Text
        self._has_status = False

    def blank_line(self) -> None:
        self._clear_status()
        super().blank_line()

    def status(self, text: str) -> None:
        from rich.cells import set_cell_size

        if self._newlines == 0:
            return
        self._clear_status()
        line = one_line(text)
        self._print(set_cell_size(line, min(len(line) * 2, self._console.width - 1)).rstrip(), "dim")
        self._has_status = True

    def _put(self, text: str, style: str) -> None:
        self._clear_status()
        self._print(text, style)

    def _clear_status(self) -> None:
        if self._has_status:
            self._out.write("\r\x1b[2K")
            self._has_status = False

    def _print(self, text: str, style: str) -> None:
        self._console.print(self._text(text, style), end="", soft_wrap=True)

    def _fresh(self) -> StringIO:
        fresh = StringIO()
        self._console.file = fresh
        return fresh


def open_screen(fd: int, environ: Mapping[str, str] = os.environ) -> Screen:
    """A screen on the descriptor, with colours if it is a terminal that has them."""
    encoding = (sys.stdout and sys.stdout.encoding) or "utf-8"
    coloured = os.isatty(fd) and not environ.get("NO_COLOR") and environ.get("TERM", "") not in DULL
    return (RichScreen if coloured else Screen)(Sink(fd), encoding)
