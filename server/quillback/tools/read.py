"""read_file: shows a part of a file, the editor's unsaved text included, and remembers that the agent has seen it."""

import base64
import codecs
import hashlib
import os
import threading
from collections.abc import Callable
from functools import partial

from attrs import frozen

from quillback.core.message import FileSeen, Image, JsonObject, Location, Text, ToolKind
from quillback.core.model import Sketch, ToolSpec
from quillback.core.ports import Access, ToolError, ToolOutcome
from quillback.tools.call import WHOLE_LIMIT, Prepared, integer, schema, single, string
from quillback.tools.codec import SNIFFED, Encoding, NotTextError, decode, line_end, sniff
from quillback.tools.context import ToolContext
from quillback.tools.files import EDITOR_LIMIT, State, blocks, look, opened
from quillback.tools.images import dimensions, mime_type
from quillback.tools.paths import Target, keys, resolve, sketched
from quillback.tools.text import one_line, visible
from quillback.tools.threads import in_thread
from quillback.tools.window import Window

LINES = 2000
BYTES = 200_000
IMAGE_BYTES = 5 * 1024 * 1024
IMAGE_SIDE = 8000

DESCRIPTION = f"""Read a text file or an image (PNG, JPEG, GIF, WebP). Text comes with line numbers and a tab before \
each line; they are not part of the file. At most {LINES:,} lines or {BYTES // 1000} KB a call; a note tells how to \
read on. If the editor has unsaved changes, its text is what you get."""


@frozen
class ReadFile:
    context: ToolContext

    @property
    def spec(self) -> ToolSpec:
        return ToolSpec(
            name="read_file",
            description=DESCRIPTION,
            input_schema=schema(
                ("path",),
                path={"type": "string", "description": "absolute, or relative to the session's directory"},
                line={"type": "integer", "minimum": 1, "description": "first line to read, from 1"},
                limit={"type": "integer", "minimum": 1, "description": f"how many lines; {LINES} by default"},
            ),
            kind=ToolKind.READ,
            describe=self._describe,
            read_only=True,
        )

    def _describe(self, arguments: JsonObject) -> Sketch:
        line, limit = _number(arguments, "line"), _number(arguments, "limit")
        name, locations = sketched(self.context.cwd, arguments, line if line is not None and line > 0 else None)
        first = 1 if line is None else line
        span = f" ({first}-{first + limit - 1})" if limit is not None else f" (from {line})" if line is not None else ""
        return Sketch(one_line(f"Read {name}{span}"), locations)

    def touches(self, arguments: JsonObject) -> frozenset[str]:
        return keys(self.context, arguments)

    async def prepare(self, call_id: str, arguments: JsonObject) -> Prepared:
        target = resolve(self.context, string(arguments, "path"))
        start = integer(arguments, "line", 1, 1)
        limit = min(integer(arguments, "limit", LINES, 1), LINES)
        locations = (Location(target.path, start if "line" in arguments else None),)

        async def run() -> ToolOutcome:
            return await _read(self.context, target, start, limit, locations)

        return Prepared(single(run), Access(reads=(target.real,)), locations=locations)


def _number(arguments: JsonObject, name: str) -> int | None:
    """One that fits into a title, or none."""
    value: object = arguments.get(name)
    return value if type(value) is int and abs(value) <= WHOLE_LIMIT else None


async def _read(
    context: ToolContext, target: Target, start: int, limit: int, locations: tuple[Location, ...]
) -> ToolOutcome:
    head, size = await in_thread(lambda _: _head(target))
    part: Text | Image
    fresh = partial(Window, start, limit, BYTES, context.mask)
    if mime := mime_type(head):
        part, digest = await in_thread(lambda stop: _image(target, mime, stop))
    elif size > EDITOR_LIMIT:
        window, remarks, digest = await in_thread(lambda stop: _scan(target, fresh, stop))
        part = Text(_page(target, window, remarks))
    else:
        state = await look(context, target)
        window = fresh()
        remarks = _whole(target, window, state)
        part, digest = Text(_page(target, window, remarks)), state.digest
    context.known[target.real] = digest
    seen = (FileSeen(target.real, digest),)
    return ToolOutcome(content=(part,), shown=(part,), locations=locations, seen=seen)


def _head(target: Target) -> tuple[bytes, int]:
    """The first bytes and the size; nothing for a file that only the editor may have."""
    if not os.path.lexists(target.real):
        return b"", 0
    with opened(target) as file:
        return file.read(SNIFFED), os.fstat(file.fileno()).st_size


def _whole(target: Target, window: Window, state: State) -> list[str]:
    """Fill the window from a file in memory; what a reader should know of the file comes back."""
    if not state.exists:
        raise ToolError(f"{target.label}: there is no such file")
    try:
        text, encoding = decode(state.data or b"")
    except NotTextError:
        raise _binary(target, len(state.data or b"")) from None
    remarks = [encoding.remark]
    if state.unsaved is not None:
        text = state.unsaved
        remarks.append("this is the editor's unsaved text; commands see the file on disk")
    window.feed(text)
    if line_end(text) == "\r\n":
        remarks.append("lines end with CR LF, kept by edits")
    return remarks


def _scan(target: Target, fresh: Callable[[], Window], stop: threading.Event) -> tuple[Window, list[str], str]:
    """The filled window of a file of any size, in fixed memory, and the digest of the whole."""
    with opened(target) as file:
        try:
            encoding = sniff(file.read(SNIFFED))
        except NotTextError:
            raise _binary(target, os.fstat(file.fileno()).st_size) from None
        for attempt in (encoding, Encoding("latin-1")):
            file.seek(len(attempt.mark))
            window, digest = fresh(), hashlib.sha256(attempt.mark)
            decoder = codecs.getincrementaldecoder(attempt.name)()
            try:
                for block in blocks(file, stop):
                    digest.update(block)
                    window.feed(decoder.decode(block))
                window.feed(decoder.decode(b"", True))
            except UnicodeDecodeError:
                continue
            return window, [attempt.remark], digest.hexdigest()
        raise AssertionError("Latin-1 decodes every byte")


def _binary(target: Target, size: int) -> ToolError:
    return ToolError(f"{target.label} is a binary file of {size:,} bytes, not text")


def _page(target: Target, window: Window, remarks: list[str]) -> str:
    window.finish()
    if window.start > max(window.total, 1):
        raise ToolError(f"{target.label} has {window.total} lines; line {window.start} is past its end")
    if not window.total:
        return "\n".join([f"[{target.label} is empty]", *(f"[{remark}]" for remark in remarks if remark)])
    lines = [f"{number:>6}\t{visible(line)}" for number, line in enumerate(window.lines, window.start)]
    if window.last < window.total:
        remarks = [*remarks, f"read on with line={window.last + 1}"]
    elif window.ends_open:
        remarks = [*remarks, "no line feed at the end"]
    if window.start > 1 or window.last < window.total:
        remarks = [f"lines {window.start}-{window.last} of {window.total}", *remarks]
    notes = "; ".join(remark for remark in remarks if remark)
    return "\n".join([*lines, f"[{notes}]"] if notes else lines)


def _image(target: Target, mime: str, stop: threading.Event) -> tuple[Text | Image, str]:
    """The image as a part, or a note on why it cannot be shown."""
    with opened(target) as file:
        size = os.fstat(file.fileno()).st_size
        fits = (size + 2) // 3 * 4 <= IMAGE_BYTES
        data, digest = b"", hashlib.sha256()
        for block in blocks(file, stop):
            digest.update(block)
            data += block if fits else b""
    sides = dimensions(data) if fits else None
    if not fits:
        note = f"its {size:,} bytes are more than the {IMAGE_BYTES // 4 * 3:,} that can be sent"
    elif sides is None:
        note = "it is damaged"
    elif max(sides) > IMAGE_SIDE:
        note = f"it is {sides[0]} x {sides[1]} pixels, more than {IMAGE_SIDE} on a side"
    else:
        return Image(base64.b64encode(data).decode(), mime), digest.hexdigest()
    return Text(f"[{target.label} is an image ({mime}) that is not shown: {note}]"), digest.hexdigest()
