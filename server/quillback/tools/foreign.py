"""Content that somebody else's tool gave, made fit for a result: clean, bounded, images only such as can be sent."""

import base64
import binascii
from collections.abc import Iterable

from attrs import evolve, frozen

from quillback.core.message import Image, ResourceLink, ResultPart, Shown, Text
from quillback.tools.context import ToolContext
from quillback.tools.images import dimensions, mime_type
from quillback.tools.text import RESULT_LIMIT, clean, one_line

EMPTY = "(no output)"
IMAGES = 10
IMAGE_LIMIT = 5_000_000
"""Base64 characters of one image; model services take no more."""

IMAGE_SIDE = 8000
PARTS = 1_000
PROGRESS_CHARACTERS = 16_000
PROGRESS_IMAGE = 1_000_000
NAME_LENGTH = 300

Given = Text | Image | ResourceLink


@frozen
class Foreign:
    """What is too long for a result is kept in a file named after the tool."""

    context: ToolContext
    name: str

    def parts(self, given: Iterable[Given], structured: str) -> tuple[tuple[ResultPart, ...], tuple[Shown, ...]]:
        """`given` for the model and for the editor; `structured` stands in where there is no text."""
        pieces = _pieces(given)
        if structured and not any(isinstance(p, Text) for p in pieces):
            pieces.append(Text(clean(structured)))
        texts = [p.text for p in pieces if isinstance(p, Text)]
        if sum(map(len, texts)) > RESULT_LIMIT or len(pieces) > PARTS:
            whole = Text(self.context.bounded("\n".join(texts), self.name))
            pieces = [whole, *[p for p in pieces if not isinstance(p, Text)][:PARTS]]
        shown: tuple[Shown, ...] = tuple(pieces) or (Text(EMPTY),)
        return tuple(_told(p) for p in pieces) or (Text(EMPTY),), shown


def progress_parts(shown: Iterable[Shown]) -> tuple[Shown, ...]:
    """What a running call has to show: the end of each long text; images only if they are small."""
    kept: list[Shown] = []
    room = PROGRESS_CHARACTERS
    for part in shown:
        match part:
            case Text(text=text) if room:
                kept.append(Text(clean(text[-2 * room :])[-room:]))
                room -= min(room, len(text))
            case ResourceLink():
                kept.append(_link(part))
            case Image(data=data) if len(data) <= PROGRESS_IMAGE:
                kept.append(part)
            case _:
                continue
    return tuple(kept[:IMAGES])


def _pieces(given: Iterable[Given]) -> list[Given]:
    pieces: list[Given] = []
    images = 0
    for part in given:
        match part:
            case Text(text=text):
                piece: Given = Text(clean(text))
            case Image():
                images += 1
                piece = _image(part) if images <= IMAGES else Text(f"[image left out: more than {IMAGES}]")
            case ResourceLink():
                piece = _link(part)
        if not isinstance(piece, Text) or piece.text.strip():
            pieces.append(piece)
    return pieces


def _image(image: Image) -> Image | Text:
    """The image under its true type, or a note on why it cannot be sent."""
    try:
        data = base64.b64decode(image.data, validate=True)
    except (binascii.Error, ValueError):
        return Text("[image left out: it is not base64]")
    sides = dimensions(data)
    if sides is None:
        return Text("[image left out: it is no PNG, JPEG, GIF or WebP, or it is damaged]")
    if len(image.data) > IMAGE_LIMIT or max(sides) > IMAGE_SIDE:
        return Text(f"[image left out: {sides[0]} x {sides[1]} pixels, {len(data):,} bytes are too many]")
    return evolve(image, mime_type=mime_type(data), uri=one_line(image.uri, NAME_LENGTH))


def _link(link: ResourceLink) -> ResourceLink:
    return ResourceLink(one_line(link.uri, 4 * NAME_LENGTH), one_line(link.name, NAME_LENGTH))


def _told(part: Given) -> ResultPart:
    return Text(f"{part.name}: {part.uri}") if isinstance(part, ResourceLink) else part
