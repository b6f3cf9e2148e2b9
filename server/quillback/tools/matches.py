"""Two programs that search files, ripgrep and our own, run the same way and bounded the same way.

Neither runs in this process: a pattern that takes for ever is killed with it, and holds up nothing else.
"""

import asyncio
import os
import re
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from attrs import define, frozen

from quillback.core.ports import ToolError
from quillback.tools.globs import compiled
from quillback.tools.ignore import rules_above
from quillback.tools.text import one_line
from quillback.tools.threads import in_thread
from quillback.tools.walk import Walk

MATCHES = 200
SECONDS = 20.0
_LINE_LIMIT = 256 * 1024
_SCAN = str(Path(__file__).with_name("scan.py"))
_MATCH = re.compile(rb"([^\0]+)\0(\d+):(.*)", re.DOTALL)
_RIPGREP = (
    "--no-config",
    "--no-messages",
    "--color=never",
    "--no-heading",
    "--with-filename",
    "--line-number",
    "--null",
    "--sort=path",
    "--crlf",
    "--hidden",
    "--no-require-git",
    "--no-ignore-global",
    "--no-ignore-dot",
    "--max-columns=4000",
    "--max-columns-preview",
    "--glob=!.git",
    "--glob=!.*.quillback-*.tmp",
)

Keep = Callable[[str, int, str], str | None]
"""Makes a result's line of relative path, line number and text; None leaves the match out."""


@frozen
class Query:
    """`glob` is a tidy pattern of file names, empty for all."""

    pattern: str
    literal: bool
    ignore_case: bool
    glob: str


@frozen
class Place:
    """A real directory, and the name of the one file in it that is searched, if it is only one."""

    directory: str
    name: str | None = None


@define
class Found:
    """`cut` says why there may be more."""

    lines: list[str]
    cut: str = ""


async def ripgrep(program: str, place: Place, query: Query, keep: Keep) -> Found:
    options = [*_RIPGREP]
    options += ["--ignore-case"] if query.ignore_case else []
    options += ["--fixed-strings"] if query.literal else []
    # In a repository rules from above hold; elsewhere ripgrep would go up to the root for them.
    above = await in_thread(lambda _: rules_above(place.directory))
    options += [] if above.rules else ["--no-ignore-parent"]
    with tempfile.NamedTemporaryFile("w", prefix="quillback-", suffix=".ignore") as rules:
        if query.glob:
            # --glob would bring back what .gitignore names; a file of rules comes after it.
            rules.write(f"*\n!*/\n!{query.glob}\n")
            rules.flush()
            options.append(f"--ignore-file={rules.name}")
        argv = [program, *options, f"--regexp={query.pattern}", "--", f"./{place.name or ''}"]
        return await _run(argv, place.directory, b"", keep)


async def own_search(place: Place, query: Query, keep: Keep) -> Found:
    names, cut = ([place.name], "") if place.name else await in_thread(lambda stop: _names(place, query, stop))
    options = ["literal"] * query.literal + ["ignore-case"] * query.ignore_case
    files = b"".join(os.fsencode(name) + b"\0" for name in names)
    argv = [sys.executable, "-I", "-S", _SCAN, query.pattern, *options]
    found = await _run(argv, place.directory, files, keep)
    return Found(found.lines, found.cut or cut)


def _names(place: Place, query: Query, stop: threading.Event) -> tuple[list[str], str]:
    wanted = compiled(query.glob) if query.glob else None
    walk = Walk(place.directory, stop)
    names = [name for name, link in walk.files() if not link and (wanted is None or wanted.fullmatch(name))]
    return names, walk.cut


async def _run(argv: Sequence[str], directory: str, files: bytes, keep: Keep) -> Found:
    """Raises ToolError for a pattern that is not valid, or so slow that nothing was found in time."""
    pipe = asyncio.subprocess.PIPE
    try:
        process = await asyncio.create_subprocess_exec(
            *argv, cwd=directory, stdin=pipe, stdout=pipe, stderr=pipe, limit=_LINE_LIMIT
        )
    except OSError as error:
        raise ToolError(f"the search could not be started: {error.strerror}") from None
    found = Found([])
    try:
        async with asyncio.timeout(SECONDS):
            _give(process, files)
            problem = await _collect(process, keep, found)
    except TimeoutError:
        found.cut = f"stopped after {SECONDS:g} s; there may be more"
        problem = "" if found.lines else f"the search took longer than {SECONDS:g} s; simplify the pattern or narrow it"
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        # Reading to the end lets the pipes close.
        await process.communicate()
    if problem:
        raise ToolError(problem)
    return found


def _give(process: asyncio.subprocess.Process, files: bytes) -> None:
    if process.stdin is not None:
        process.stdin.write(files)
        process.stdin.write_eof()


async def _collect(process: asyncio.subprocess.Process, keep: Keep, found: Found) -> str:
    """Fill `found`; what is wrong with the pattern comes back, or nothing."""
    if process.stdout is None or process.stderr is None:
        raise AssertionError("both are pipes")
    while True:
        try:
            raw = await process.stdout.readline()
        except ValueError:
            continue
        if not raw:
            break
        if (match := _MATCH.fullmatch(raw.rstrip(b"\r\n"))) is None:
            continue
        name, number, text = match.groups()
        line = keep(os.fsdecode(name).removeprefix("./"), int(number), text.decode(errors="replace"))
        if line is not None and len(found.lines) == MATCHES:
            found.cut = f"only the first {MATCHES} matches; narrow the pattern or the path for the rest"
            return ""
        found.lines += [] if line is None else [line]
    errors = (await process.stderr.read()).decode(errors="replace").strip()
    status = await process.wait()
    return f"the pattern is not valid: {one_line(errors, 400)}" if status == 2 and errors and not found.lines else ""
