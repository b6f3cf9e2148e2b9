"""Turns the answer of a tool call, whatever a server put into it, into parts for the model and the editor."""

import base64
import binascii
import json
import mimetypes
from collections.abc import Callable, Iterator, Mapping

from attrs import frozen

from quillback.core.message import Image, JsonObject, ResourceLink, ResultPart, Shown, Text
from quillback.core.ports import ToolOutcome
from quillback.mcp.text import RESULT_LIMIT, Keep, clean, one_line

IMAGE_LIMIT = 5_000_000
"""Base64 characters of one image; model services take no more."""

IMAGES = 10
"""Images of one result."""

EMPTY = "(no output)"
_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)
_NAME_LIMIT = 300
Piece = Text | Image | ResourceLink


@frozen
class Reading:
    """How one answer is read: secrets hidden by `mask`, what is too long put into `keep`.

    Writes files, so it belongs in a worker thread.
    """

    mask: Callable[[str], str]
    keep: Keep

    def outcome(self, answer: JsonObject) -> ToolOutcome:
        """`answer` is the `result` of tools/call as it came; nothing in it is trusted to have the right type."""
        if answer.get("resultType") == "input_required":
            text = "The server asks for more input from the user in the middle of the call, which is not possible here."
            return ToolOutcome((Text(text),), is_error=True, shown=(Text(text),))
        pieces = list(self._pieces(answer))
        content = self._content(pieces)
        shown: tuple[Shown, ...] = (*content, *(p for p in pieces if isinstance(p, ResourceLink)))
        return ToolOutcome(content, is_error=answer.get("isError") is True, shown=shown)

    def _content(self, pieces: list[Piece]) -> tuple[ResultPart, ...]:
        parts: list[ResultPart] = [p if isinstance(p, Text | Image) else _described(p) for p in pieces]
        texts = [p.text for p in parts if isinstance(p, Text)]
        if sum(map(len, texts)) > RESULT_LIMIT:
            images = [p for p in parts if isinstance(p, Image)]
            parts = [Text(self.keep.bounded("\n".join(texts))), *images]
        return tuple(parts) or (Text(EMPTY),)

    # ------------------------------------------------------------ blocks

    def _pieces(self, answer: JsonObject) -> Iterator[Piece]:
        content, structured = answer.get("content"), answer.get("structuredContent")
        blocks = content if isinstance(content, list) else [] if content is None else [content]
        said, images = 0, 0
        for block in blocks:
            for piece in self.block(block):
                match piece:
                    case Image():
                        images += 1
                        yield piece if images <= IMAGES else Text(f"[image left out: more than {IMAGES} in one result]")
                    case Text(text=text):
                        said += len(text)
                        if text.strip():
                            yield piece
                    case ResourceLink():
                        yield piece
        if structured is None and content is None:
            structured = {
                k: v for k, v in answer.items() if k not in ("_meta", "isError", "resultType", "content")
            } or None
        if structured is not None:
            text = self._text(_structured(structured))
            # servers should repeat structured content as text; a text much shorter than it is only a summary
            if said < len(text) / 2:
                yield Text(text)

    def block(self, block: object) -> Iterator[Piece]:
        """What one block of content stands for."""
        match block:
            case str():
                yield Text(self._text(block))
            case {"type": "text", "text": str(text)}:
                yield Text(self._text(text))
            case {"type": "image" | "audio" as kind, "data": str(data), **rest}:
                yield self._binary(str(kind), data, rest.get("mimeType"), "")
            case {"type": "resource_link", "uri": str(uri), **rest}:
                yield self._link(uri, rest)
            case {"type": "resource", "resource": {"uri": str(uri), "text": str(text)}}:
                yield Text(self._text(f"[resource {one_line(uri, _NAME_LIMIT)}]\n{text}"))
            case {"type": "resource", "resource": {"uri": str(uri), "blob": str(data)} as resource}:
                yield self._binary("resource", data, resource.get("mimeType"), uri)
            case _:
                yield Text(self._text(_json(block)))

    def _text(self, text: str) -> str:
        return self.mask(clean(text))

    def _link(self, uri: str, block: Mapping[object, object]) -> ResourceLink:
        def told(key: str) -> str:
            value = block.get(key)
            return self.mask(one_line(value, _NAME_LIMIT)) if isinstance(value, str) else ""

        size = block.get("size")
        return ResourceLink(
            uri=self.mask(one_line(uri, 4 * _NAME_LIMIT)),
            name=told("name") or self.mask(one_line(uri, _NAME_LIMIT)),
            mime_type=told("mimeType"),
            title=told("title"),
            description=told("description"),
            size=size if isinstance(size, int) and not isinstance(size, bool) and size >= 0 else None,
        )

    def _binary(self, kind: str, data: str, mime_type: object, uri: str) -> Piece:
        """An image as one; anything else is kept in a file and named."""
        told = one_line(mime_type, 80) if isinstance(mime_type, str) else ""
        about = " ".join(filter(None, (kind, told, self.mask(one_line(uri, _NAME_LIMIT)))))
        try:
            raw = base64.b64decode(data, validate=False)
        except (binascii.Error, ValueError):
            return Text(f"[{about}: damaged, it is not base64]")
        actual = _image_type(raw)
        encoded = base64.b64encode(raw).decode()
        if kind != "audio" and actual and len(encoded) <= IMAGE_LIMIT:
            return Image(encoded, actual, self.mask(one_line(uri, _NAME_LIMIT)))
        path = self.keep.file(raw, mimetypes.guess_extension(told) or ".bin")
        return Text(f"[{about}, {len(raw):,} bytes: {f'kept in {path}' if path else 'could not be kept'}]")


def _structured(value: object) -> str:
    """As JSON; what server libraries wrap as `{"result": ...}` is unwrapped."""
    if isinstance(value, Mapping) and value.keys() == {"result"}:
        value = value["result"]
    return value if isinstance(value, str) else _json(value)


def _described(link: ResourceLink) -> Text:
    about = " ".join(filter(None, (link.title or link.name, link.mime_type and f"({link.mime_type})")))
    return Text(f"[link to {link.uri}: {about}]" + (f" {link.description}" if link.description else ""))


def _image_type(data: bytes) -> str:
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((mime for magic, mime in _MAGIC if data.startswith(magic)), "")


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
