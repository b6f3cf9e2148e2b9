"""glob and list_dir: which files there are."""

import os
import re
import threading
from operator import attrgetter
from pathlib import Path

from attrs import frozen

from quillback.core.message import JsonObject, ToolKind
from quillback.core.model import Sketch, ToolSpec
from quillback.core.ports import Access, ToolError, ToolOutcome
from quillback.tools.atomic import is_leftover
from quillback.tools.call import Prepared, said, schema, single, string
from quillback.tools.context import ToolContext
from quillback.tools.globs import compiled
from quillback.tools.paths import Target, label, looked_for, place_of, shown_name, sketched
from quillback.tools.places import opened_directory, problem
from quillback.tools.text import one_line
from quillback.tools.threads import in_thread
from quillback.tools.walk import Walk

FILES = 500
ENTRIES = 1000

FIND = f"""Find files by name, such as `*.py` (at any depth), `src/**/*.ts` or `*.{{json,toml}}`, sorted by path, at \
most {FILES}. Files that .gitignore names and .git are left out; links are not followed."""

LIST = f"""What is in a directory, by name, at most {ENTRIES} entries: directories end with /, links show where they \
lead, files have their size. Ignored and hidden files are listed too."""


@frozen
class Glob:
    context: ToolContext

    @property
    def spec(self) -> ToolSpec:
        return ToolSpec(
            name="glob",
            description=FIND,
            input_schema=schema(
                ("pattern",),
                pattern={"type": "string", "description": "relative to path"},
                path={"type": "string", "description": "directory; the session's directory by default"},
            ),
            kind=ToolKind.SEARCH,
            describe=lambda arguments: looked_for(self.context, arguments, "Find {}"),
            read_only=True,
        )

    def touches(self, arguments: JsonObject) -> frozenset[str]:
        return frozenset()

    async def prepare(self, call_id: str, arguments: JsonObject) -> Prepared:
        target = place_of(self.context, arguments)
        wanted = compiled(string(arguments, "pattern"))

        async def run() -> ToolOutcome:
            names, note = await in_thread(lambda stop: _matching(target, wanted, stop))
            paths = [label(self.context.cwd, str(Path(target.path, name))) for name in names]
            text = "\n".join(paths) or "No files match."
            return said(self.context.bounded(text + note, f"glob-{call_id}"))

        return Prepared(single(run), Access(reads=(target.real,)))


def _matching(target: Target, wanted: "re.Pattern[str]", stop: threading.Event) -> tuple[list[str], str]:
    names: list[str] = []
    with opened_directory(target) as handle:
        walk = Walk(target.real, handle, stop)
        for name, _ in walk.files():
            if not wanted.fullmatch(name):
                continue
            if len(names) == FILES:
                return names, f"\n[only the first {FILES} files; narrow the pattern or the path for the rest]"
            names.append(name)
    return names, f"\n[{walk.cut}; there may be more]" if walk.cut else ""


@frozen
class ListDir:
    context: ToolContext

    @property
    def spec(self) -> ToolSpec:
        return ToolSpec(
            name="list_dir",
            description=LIST,
            input_schema=schema(
                (), path={"type": "string", "description": "directory; the session's directory by default"}
            ),
            kind=ToolKind.READ,
            describe=self._describe,
            read_only=True,
        )

    def _describe(self, arguments: JsonObject) -> Sketch:
        name, locations = sketched(self.context.cwd, arguments)
        return Sketch(one_line(f"List {name or '.'}"), locations)

    def touches(self, arguments: JsonObject) -> frozenset[str]:
        return frozenset()

    async def prepare(self, call_id: str, arguments: JsonObject) -> Prepared:
        target = place_of(self.context, arguments)

        async def run() -> ToolOutcome:
            lines = await in_thread(lambda _: _entries(target))
            return said(self.context.bounded("\n".join(lines), f"list-{call_id}"))

        return Prepared(single(run), Access(reads=(target.real,)))


def _entries(target: Target) -> list[str]:
    with opened_directory(target) as handle:
        try:
            with os.scandir(handle) as found:
                entries = sorted((entry for entry in found if not is_leftover(entry.name)), key=attrgetter("name"))
        except OSError as error:
            raise ToolError(f"{target.label}: {problem(error)}") from None
        lines = [_entry(entry, handle) for entry in entries[:ENTRIES]]
    if len(entries) > ENTRIES:
        lines.append(f"[only the first {ENTRIES} of {len(entries)} entries]")
    return lines or [f"[{target.label} is empty]"]


def _entry(entry: "os.DirEntry[str]", directory: int) -> str:
    name = one_line(shown_name(entry.name), 300)
    try:
        if entry.is_symlink():
            return f"{name} -> {one_line(shown_name(os.readlink(entry.name, dir_fd=directory)), 300)}"
        if entry.is_dir(follow_symlinks=False):
            return f"{name}/"
        return f"{name} ({entry.stat(follow_symlinks=False).st_size:,} bytes)"
    except OSError as error:
        return f"{name} ({problem(error)})"
