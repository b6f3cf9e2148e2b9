"""grep: finds lines in files, by ripgrep where there is one, else by our own search of the same kind."""

import os
import re
import shutil
from pathlib import Path

from attrs import frozen

from quillback.core.message import JsonObject, ToolKind
from quillback.core.model import ToolSpec
from quillback.core.ports import Access, ToolError, ToolOutcome
from quillback.tools.call import Prepared, flag, said, schema, single, string
from quillback.tools.context import ToolContext
from quillback.tools.files import opened
from quillback.tools.globs import compiled, tidy
from quillback.tools.matches import MATCHES, Found, Place, Query, own_search, ripgrep
from quillback.tools.paths import Target, label, looked_for, place_of
from quillback.tools.places import enter, opened_directory, problem
from quillback.tools.text import visible
from quillback.tools.threads import in_thread

WIDTH = 500
DESCRIPTION = f"""Search the lines of text files for a regular expression. Gives `path:line: text`, at most {MATCHES} \
matches. Files that .gitignore names, binary files and .git are left out, and files that look like credentials \
unless path names one; links are not followed.
`glob` narrows it to files such as `*.py`, `src/**` or `*.{{ts,tsx}}`; `literal` takes the pattern as plain text."""


@frozen
class Grep:
    context: ToolContext

    @property
    def spec(self) -> ToolSpec:
        return ToolSpec(
            name="grep",
            description=DESCRIPTION,
            input_schema=schema(
                ("pattern",),
                pattern={"type": "string", "description": "regular expression, matched within a line"},
                path={"type": "string", "description": "file or directory; the session's directory by default"},
                glob={"type": "string", "description": "only files like this, relative to path"},
                ignore_case={"type": "boolean"},
                literal={"type": "boolean", "description": "the pattern is plain text"},
            ),
            kind=ToolKind.SEARCH,
            describe=lambda arguments: looked_for(self.context, arguments, "Search '{}'"),
            read_only=True,
        )

    def touches(self, arguments: JsonObject) -> frozenset[str]:
        return frozenset()

    async def prepare(self, call_id: str, arguments: JsonObject) -> Prepared:
        target = place_of(self.context, arguments)
        glob = string(arguments, "glob")
        query = Query(
            pattern=_pattern(string(arguments, "pattern")),
            literal=flag(arguments, "literal"),
            ignore_case=flag(arguments, "ignore_case"),
            glob=tidy(glob) if glob else "",
        )
        wanted = compiled(query.glob) if query.glob else None

        async def run() -> ToolOutcome:
            found = await _search(self.context, target, query, wanted)
            notes = [f"[{note}]" for note in (found.cut, _left_out(found.secrets)) if note]
            text = "\n".join([*(found.lines or ["No matches."]), *notes])
            return said(self.context.bounded(text, f"grep-{call_id}"))

        return Prepared(single(run), Access(reads=(target.real,)))


def _left_out(count: int | None) -> str:
    """What became of files that look like credentials; None: there may be some."""
    match count:
        case 0:
            return ""
        case None:
            which = "files that look like credentials, if there are any, were"
        case 1:
            which = "1 file that looks like credentials was"
        case _:
            which = f"{count:,} files that look like credentials were"
    return f"{which} left out; to search one, name it as path"


def _pattern(pattern: str) -> str:
    if not pattern:
        raise ToolError("the pattern is empty")
    if "\0" in pattern:
        raise ToolError("the pattern holds a NUL character")
    try:
        pattern.encode()
    except UnicodeEncodeError:
        raise ToolError("the pattern is not valid Unicode text") from None
    return pattern


async def _search(context: ToolContext, target: Target, query: Query, wanted: "re.Pattern[str] | None") -> Found:
    place = await in_thread(lambda _: _place(target), lambda place: os.close(place.handle))

    def keep(name: str, number: int, text: str) -> str | None:
        if wanted is not None and not wanted.fullmatch(name):
            return None
        shown = visible(text)
        if "-----BEGIN " not in shown:  # a private key has to be seen whole, with the lines that follow
            shown = context.mask.hide(shown)
        shown = shown if len(shown) <= WIDTH else context.mask.hide_growing(shown[:WIDTH]) + "…"
        path = str(Path(target.path, name)) if place.name is None else target.path
        return f"{label(context.cwd, path)}:{number}: {shown}"

    try:
        program = shutil.which("rg")
        if program is not None:
            return await ripgrep(program, place, query, keep)
        return await own_search(place, query, keep)
    finally:
        os.close(place.handle)


def _place(target: Target) -> Place:
    """Open: the directory, or the one that holds the file. Raises ToolError."""
    real = Path(target.real)
    if real.is_dir():
        with opened_directory(target) as handle:
            return Place(os.dup(handle), target.real)
    with opened(target):
        try:
            return Place(enter(str(real.parent)), str(real.parent), real.name)
        except OSError as error:
            raise ToolError(f"{target.label}: {problem(error)}") from None
