"""edit_file: replaces an exact passage and leaves every other byte of the file as it was."""

from attrs import frozen

from quillback.core.mask import masks_in
from quillback.core.message import JsonObject, ToolKind
from quillback.core.model import Sketch, ToolSpec
from quillback.core.ports import ToolError
from quillback.tools.call import Prepared, flag, schema, string
from quillback.tools.change import Change, known_state, prepared, require_no_new_masks, text_of
from quillback.tools.codec import Encoding, encode
from quillback.tools.context import ToolContext
from quillback.tools.files import State
from quillback.tools.matching import COUNT_LIMIT, closest, find, replace, unified, view
from quillback.tools.paths import Target, keys, resolve, sketched
from quillback.tools.text import one_line
from quillback.tools.threads import in_thread

DESCRIPTION = """Replace a passage of a file. old_text must be in the file exactly once, character for character \
(without the line numbers of read_file), unless replace_all is true. Otherwise nothing is changed.
The file must have been read in this session and be unchanged since; your own edits count as read.
Line ends need not match: a line feed in old_text matches CR LF too, and new lines end as the file's do. Encoding, \
byte order mark and all other bytes stay. An empty old_text creates a new file of new_text."""

_NAMED_LINES = 10


@frozen
class EditFile:
    context: ToolContext

    @property
    def spec(self) -> ToolSpec:
        return ToolSpec(
            name="edit_file",
            description=DESCRIPTION,
            input_schema=schema(
                ("path", "old_text", "new_text"),
                path={"type": "string", "description": "absolute, or relative to the session's directory"},
                old_text={"type": "string", "description": "the passage to replace"},
                new_text={"type": "string", "description": "what to put in its place"},
                replace_all={"type": "boolean", "description": "replace every occurrence; false by default"},
            ),
            kind=ToolKind.EDIT,
            describe=self._describe,
        )

    def _describe(self, arguments: JsonObject) -> Sketch:
        name, locations = sketched(self.context.cwd, arguments)
        return Sketch(one_line(f"Edit {name}"), locations)

    def touches(self, arguments: JsonObject) -> frozenset[str]:
        return keys(self.context, arguments)

    async def prepare(self, call_id: str, arguments: JsonObject) -> Prepared:
        target = resolve(self.context, string(arguments, "path"))
        old, new = string(arguments, "old_text"), string(arguments, "new_text")
        every = flag(arguments, "replace_all")
        if unified(old) == unified(new):
            raise ToolError("old_text and new_text are the same; nothing would change")
        require_no_new_masks(new, old, "new_text")
        state = await known_state(self.context, target)
        if not state.exists:
            return prepared(self.context, _creation(target, state, old, new), call_id)
        if not old:
            raise ToolError(f"old_text is empty, but {target.label} exists; give the passage to replace")
        return prepared(self.context, await in_thread(lambda _: _edit(target, state, old, new, every)), call_id)


def _creation(target: Target, state: State, old: str, new: str) -> Change:
    if old:
        raise ToolError(f"{target.label}: there is no such file; create it with write_file")
    return Change(target, state, None, new, encode(new, Encoding()), Encoding(), f"Created {target.label}.")


def _edit(target: Target, state: State, old: str, new: str, every: bool) -> Change:
    text, encoding = text_of(target, state)
    seen, passage = view(text), unified(old)
    found = find(seen, passage, overlapping=not every)
    if not found and masks_in(passage):
        raise ToolError(
            f"old_text was not found in {target.label}; nothing was changed. It holds {min(masks_in(passage))}, which "
            "stands for a secret that you are not shown: give a passage beside it, without it"
        )
    if not found:
        hint = closest(seen, passage) or "No line is like it; read the file again."
        raise ToolError(f"old_text was not found in {target.label}; nothing was changed. {hint}")
    lines = [seen.line(start) for start in found[:_NAMED_LINES]]
    named = ", ".join(map(str, lines)) + (", ..." if len(found) > len(lines) else "")
    if len(found) > 1 and not every:
        count = f"at least {COUNT_LIMIT}" if len(found) >= COUNT_LIMIT else str(len(found))
        raise ToolError(
            f"old_text is in {target.label} {count} times (lines {named}); nothing was changed. "
            "Add lines around it to make it unique, or set replace_all"
        )
    changed = replace(seen, found, old, new)
    count = "1 replacement (line" if len(found) == 1 else f"{len(found)} replacements (lines"
    summary = f"Edited {target.label}: {count} {named})."
    return Change(target, state, text, changed, encode(changed, encoding), encoding, summary, lines[0])
