"""write_file: makes a file or replaces its whole content, never one the agent has not seen."""

from attrs import frozen

from quillback.core.message import JsonObject, ToolKind
from quillback.core.model import Sketch, ToolSpec
from quillback.core.ports import ToolError
from quillback.tools.call import Prepared, schema, string
from quillback.tools.change import Change, known_state, prepared, require_no_new_masks, text_of
from quillback.tools.codec import Encoding, encode, line_end
from quillback.tools.context import ToolContext
from quillback.tools.paths import keys, resolve, sketched
from quillback.tools.text import one_line

DESCRIPTION = """Create a file or replace all of its content. Missing parent directories are made.
A file that exists must have been read in this session and be unchanged since; otherwise the call is refused.
Mode, encoding and byte order mark of an existing file stay, and a file with CR LF line ends keeps them. A symbolic \
link stays a link; the file it leads to is written. For a small change use edit_file."""


@frozen
class WriteFile:
    context: ToolContext

    @property
    def spec(self) -> ToolSpec:
        return ToolSpec(
            name="write_file",
            description=DESCRIPTION,
            input_schema=schema(
                ("path", "content"),
                path={"type": "string", "description": "absolute, or relative to the session's directory"},
                content={"type": "string", "description": "the whole new content"},
            ),
            kind=ToolKind.EDIT,
            describe=self._describe,
        )

    def _describe(self, arguments: JsonObject) -> Sketch:
        name, locations = sketched(self.context.cwd, arguments)
        return Sketch(one_line(f"Write {name}"), locations)

    def touches(self, arguments: JsonObject) -> frozenset[str]:
        return keys(self.context, arguments)

    async def prepare(self, call_id: str, arguments: JsonObject) -> Prepared:
        target = resolve(self.context, string(arguments, "path"))
        content = string(arguments, "content")
        state = await known_state(self.context, target)
        lines = f"{content.count(chr(10)) + (not content.endswith(chr(10)) and content != '')} lines"
        if not state.exists:
            require_no_new_masks(content, "", "content")
            data = encode(content, Encoding())
            summary = f"Created {target.label} ({lines})."
            return prepared(self.context, Change(target, state, None, content, data, Encoding(), summary), call_id)
        old, encoding = text_of(target, state)
        require_no_new_masks(content, old, "content")
        content = _like(old, content, encoding)
        data, encoding, note = _encoded(content, encoding)
        summary = f"Wrote {target.label} ({lines}).{note}"
        return prepared(self.context, Change(target, state, old, content, data, encoding, summary), call_id)


def _like(old: str, content: str, encoding: Encoding) -> str:
    """`content` with the mark left to the encoding, and the line ends of a file that has CR LF only."""
    if encoding.mark:
        content = content.removeprefix("\ufeff")
    if "\r" not in content and line_end(old) == "\r\n" and old.count("\n") == old.count("\r\n"):
        return content.replace("\n", "\r\n")
    return content


def _encoded(content: str, encoding: Encoding) -> tuple[bytes, Encoding, str]:
    """In the file's encoding; Latin-1 was a guess, so a text it cannot hold makes the whole file UTF-8."""
    try:
        return encode(content, encoding), encoding, ""
    except ToolError:
        if encoding.name != "latin-1":
            raise
        return encode(content, Encoding()), Encoding(), " It was not UTF-8 before and is now."
