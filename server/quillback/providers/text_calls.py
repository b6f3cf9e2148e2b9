"""Finds the tool calls that a model wrote into its text, while it writes; see `text_tools`."""

import json
from collections.abc import Iterable
from typing import Any, cast

from attrs import evolve

from quillback.core.model import (
    BlockStopped,
    InputDelta,
    ProviderEvent,
    StreamStopping,
    TextDelta,
    TextStarted,
    ToolUseStarted,
)

OPEN, CLOSE, RESULT = "<tool_call>", "</tool_call>", "<tool_result>"
_RESULT_STARTS = ("<tool_result>", "<tool_result ")
_MARKS = (OPEN, *_RESULT_STARTS)


class Rewriter:
    """The events of one reply, with calls in place of what was written as such.

    What follows a result that the model made up is dropped. A call that is no JSON comes through as it was written, so
    that the model is told; one that was cut off does, too.
    """

    def __init__(self) -> None:
        self._held = ""  # text that may be the beginning of a mark
        self._call: str | None = None  # what a call has so far
        self._made_up = False
        self._next = 0
        self._open: int | None = None  # our index of the text block that is open
        self._others: dict[int, int] = {}  # their index to ours, of blocks that are no text
        self._calls = 0

    def feed(self, event: ProviderEvent) -> list[ProviderEvent]:
        match event:
            case TextStarted(text=text) | TextDelta(text=text):
                return self._text(text)
            case BlockStopped(index=index) if index not in self._others:
                return []  # a text block; a call may reach over its end
            case StreamStopping(stop_reason=reason):
                out = self._flush()
                if self._calls and reason in ("end_turn", "stop_sequence"):
                    event = evolve(event, stop_reason="tool_use")
                return [*out, event]
            case _ if isinstance(place := getattr(event, "index", None), int):
                return self._other(event, place)
            case _:
                return [event]

    def _other(self, event: ProviderEvent, index: int) -> list[ProviderEvent]:
        out: list[ProviderEvent] = []
        if index not in self._others:
            out = self._flush()
            self._others[index] = self._take()
        return [*out, cast("ProviderEvent", evolve(cast("Any", event), index=self._others[index]))]

    def _text(self, text: str) -> list[ProviderEvent]:
        out: list[ProviderEvent] = []
        self._held += text
        while self._held and not self._made_up:
            before = len(self._held)
            out += self._inside() if self._call is not None else self._outside()
            if len(self._held) == before:
                break
        if self._made_up:
            self._held = ""
        return out

    def _outside(self) -> list[ProviderEvent]:
        place, mark = min(((self._held.find(m), m) for m in _MARKS if m in self._held), default=(-1, ""))
        if place < 0:
            keep = _beginning(self._held, _MARKS)
            shown, self._held = self._held[: len(self._held) - keep], self._held[len(self._held) - keep :]
            return self._say(shown)
        shown, self._held = self._held[:place], self._held[place + len(mark) :]
        out = self._say(shown if shown.strip() or self._open is not None else "")
        out += self._end_text()
        if mark == OPEN:
            self._call = ""
        else:
            self._made_up = True
        return out

    def _inside(self) -> list[ProviderEvent]:
        assert self._call is not None
        place = self._held.find(CLOSE)
        if place < 0:
            keep = _beginning(self._held, (CLOSE,))
            self._call += self._held[: len(self._held) - keep]
            self._held = self._held[len(self._held) - keep :]
            return []
        written = self._call + self._held[:place]
        self._held, self._call = self._held[place + len(CLOSE) :].lstrip("\n"), None
        return self._called(written)

    def _flush(self) -> list[ProviderEvent]:
        """The end of the text: what was held back is shown, and a call without its end is one all the same."""
        out: list[ProviderEvent] = []
        if self._call is not None:
            written, self._call, self._held = self._call + self._held, None, ""
            out += self._called(written)
        elif self._held:
            shown, self._held = self._held, ""
            out += self._say(shown)
        return out + self._end_text()

    # ------------------------------------------------------------ what comes out

    def _say(self, text: str) -> list[ProviderEvent]:
        if not text or (self._open is None and not text.strip()):
            return []
        if self._open is None:
            self._open = self._take()
            return [TextStarted(self._open, text)]
        return [TextDelta(self._open, text)]

    def _end_text(self) -> list[ProviderEvent]:
        if self._open is None:
            return []
        index, self._open = self._open, None
        return [BlockStopped(index)]

    def _called(self, written: str) -> list[ProviderEvent]:
        self._calls += 1
        index = self._take()
        name, arguments = _parsed(written)
        return [
            ToolUseStarted(index, f"text_call_{self._calls}", name),
            InputDelta(index, arguments),
            BlockStopped(index),
        ]

    def _take(self) -> int:
        index, self._next = self._next, self._next + 1
        return index


def _parsed(written: str) -> tuple[str, str]:
    """The name and the arguments as JSON; no name, and all that was written, where it is no call."""
    try:
        whole = json.loads(_unfenced(written), strict=False)
    except (ValueError, RecursionError):
        return "", written
    if not isinstance(whole, dict) or not isinstance(whole.get("name"), str):
        return "", written
    given = whole.get("arguments", whole.get("parameters", {}))
    if isinstance(given, str):
        return whole["name"], given  # JSON in a text, as some models write it
    return whole["name"], json.dumps(given, ensure_ascii=False)


def _unfenced(written: str) -> str:
    """Without a fence around it, which models like to add."""
    text = written.strip()
    if text.startswith("```") and text.endswith("```"):
        return text.partition("\n")[2].removesuffix("```")
    return text


def _beginning(text: str, marks: Iterable[str]) -> int:
    """How much of the end of `text` may be the beginning of a mark."""
    return max(
        (n for mark in marks for n in range(1, min(len(mark), len(text) + 1)) if text.endswith(mark[:n])), default=0
    )
