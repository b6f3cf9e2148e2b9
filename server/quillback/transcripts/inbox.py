"""What has come from the agent and was not looked at yet. Chunks of one message that follow each other are one."""

import asyncio
from collections import deque
from typing import Any

from attrs import define, frozen

from quillback_protocol.framing import FramingError, decode

_CHUNK = "_chunk"


@frozen
class Line:
    """A line that is no JSON object."""

    text: str


@define(eq=False)
class Arrived:
    """`chunk` is what all pieces of a message's text share; None for whatever is no text of a message.

    `open` says that more of the text may follow.
    """

    value: dict[str, Any] | Line
    chunk: dict[str, Any] | None
    open: bool = False

    @property
    def text(self) -> str:
        text: str = _content(self.value)["text"] if isinstance(self.value, dict) and self.chunk else ""
        return text

    def with_text(self, text: str) -> dict[str, Any]:
        assert isinstance(self.value, dict)
        return _with_text(self.value, text)


class Inbox:
    """`taken` is what was taken since it was last emptied, for whoever wants to tell what came."""

    def __init__(self) -> None:
        self.ended = False
        self.taken: list[dict[str, Any] | Line] = []
        self._waiting: deque[Arrived] = deque()
        self._news = asyncio.Event()

    def put(self, line: bytes) -> None:
        if not line.strip():
            return
        arrived = read_line(line)
        last = self._waiting[-1] if self._waiting else None
        if last is not None and last.open:
            if last.chunk == arrived.chunk:
                last.value = last.with_text(last.text + arrived.text)
                self._tell()
                return
            last.open = False
        self._waiting.append(arrived)
        self._tell()

    def end(self) -> None:
        self.ended = True
        for arrived in self._waiting:
            arrived.open = False
        self._tell()

    @property
    def head(self) -> Arrived | None:
        return self._waiting[0] if self._waiting else None

    def take(self) -> dict[str, Any] | Line:
        value = self._waiting.popleft().value
        self.taken.append(value)
        return value

    def take_text(self, length: int) -> None:
        """Take the beginning of a text; the rest stays, as a message of its own."""
        arrived = self._waiting[0]
        text = arrived.text
        if length == len(text):
            self.take()
            return
        self.taken.append(arrived.with_text(text[:length]))
        arrived.value = arrived.with_text(text[length:])

    async def news(self) -> None:
        """Wait until something comes, or it ends."""
        await self._news.wait()
        self._news.clear()

    def _tell(self) -> None:
        self._news.set()


def read_line(line: bytes) -> Arrived:
    value = decode(line)
    if isinstance(value, FramingError) or not isinstance(value, dict):
        return Arrived(Line(line.decode("utf-8", "replace").rstrip("\r\n")), None)
    if value.get("jsonrpc") == "2.0":
        del value["jsonrpc"]
    chunk = _chunk(value)
    return Arrived(value, chunk, open=chunk is not None)


def _chunk(value: dict[str, Any]) -> dict[str, Any] | None:
    """Without its text, and without `_meta`, which the first piece only may have."""
    try:
        update = value["params"]["update"]
        text = update["content"]["type"] == "text" and isinstance(update["content"]["text"], str)
        if value["method"] == "session/update" and update["sessionUpdate"].endswith(_CHUNK) and text:
            chunk = _with_text(value, "")
            chunk["params"]["update"].pop("_meta", None)
            return chunk
    except (KeyError, TypeError, AttributeError):
        pass
    return None


def _with_text(value: dict[str, Any], text: str) -> dict[str, Any]:
    params = value["params"]
    update = {**params["update"], "content": {**_content(value), "text": text}}
    return {**value, "params": {**params, "update": update}}


def _content(value: dict[str, Any]) -> dict[str, Any]:
    content: dict[str, Any] = value["params"]["update"]["content"]
    return content
