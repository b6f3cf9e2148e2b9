"""Two programs that search files, ripgrep and our own, run the same way and bounded the same way.

Neither runs in this process: a pattern that takes for ever is killed with it, and holds up nothing else.
"""

import asyncio
import os
import re
import sys
import tempfile
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path

from attrs import define, frozen

from quillback.core.ports import ToolError
from quillback.core.secrets import looks_secret
from quillback.tools.environment import command_environment
from quillback.tools.globs import compiled
from quillback.tools.ignore import rules_above
from quillback.tools.places import cwd_of, problem
from quillback.tools.text import one_line
from quillback.tools.threads import in_thread
from quillback.tools.walk import Walk

MATCHES = 200
SECONDS = 20.0
_COUNT_SECONDS = 5.0
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
    """An open directory and its real path; with `name` the one file in it that is searched.

    Files of a directory that look like credentials are left out: only who names one is asked for leave.
    """

    handle: int
    directory: str
    name: str | None = None

    @property
    def cwd(self) -> str:
        return cwd_of(self.handle, self.directory)


@define
class Found:
    """`cut` says why there may be more, `secrets` how many files were left out; None if nobody had counted in time."""

    lines: list[str]
    cut: str = ""
    secrets: int | None = 0


async def ripgrep(program: str, place: Place, query: Query, keep: Keep) -> Found:
    command = [program, *_RIPGREP]
    # In a repository rules from above hold; elsewhere ripgrep would go up to the root for them.
    above = await in_thread(lambda _: rules_above(place.directory))
    command += [] if above.rules else ["--no-ignore-parent"]
    options = ["--ignore-case"] if query.ignore_case else []
    options += ["--fixed-strings"] if query.literal else []
    search = [*command, *options, "-e", query.pattern, "--"]  # with `--regexp=` a leading `=` gets lost
    if place.name is not None:
        # Given by name it would be opened again, and by then it could be a link.
        with _file(place) as handle:
            return await _run([*search, "-"], place, handle, lambda _, *rest: keep(place.name or "", *rest))
    with tempfile.NamedTemporaryFile("w", prefix="quillback-", suffix=".ignore") as rules:
        if query.glob:
            # --glob would bring back what .gitignore names; a file of rules comes after it.
            rules.write(f"*\n!*/\n!{query.glob}\n")
            rules.flush()
            command.append(f"--ignore-file={rules.name}")
            search.insert(1, command[-1])
        found = await _run([*search, "./"], place, b"", _without_secrets(keep))
        found.secrets = await _count([*command, "--files", "./"], place, query)
        return found


@contextmanager
def _file(place: Place) -> Iterator[int]:
    try:
        handle = os.open(place.name or "", os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW, dir_fd=place.handle)
    except OSError as error:
        raise ToolError(f"{place.name}: {problem(error)}") from None
    try:
        yield handle
    finally:
        os.close(handle)


def _without_secrets(keep: Keep) -> Keep:
    """What is in such files must not even decide whether they are counted, so they are counted by their names."""
    return lambda name, number, text: None if looks_secret(name) else keep(name, number, text)


async def _count(argv: Sequence[str], place: Place, query: Query) -> int | None:
    """How many files of ripgrep's list look like credentials."""
    wanted = compiled(query.glob) if query.glob else None
    count, rest = 0, b""
    with suppress(TimeoutError):
        async with asyncio.timeout(_COUNT_SECONDS), _running(argv, place, asyncio.subprocess.DEVNULL) as process:
            if process.stdout is None:
                raise AssertionError("it is a pipe")
            while block := await process.stdout.read(_LINE_LIMIT):
                *names, rest = (rest + block).split(b"\0")
                files = (os.fsdecode(name).removeprefix("./") for name in names)
                count += sum(looks_secret(file) and (not wanted or bool(wanted.fullmatch(file))) for file in files)
            return count
    return None


async def own_search(place: Place, query: Query, keep: Keep) -> Found:
    left_out, cut = 0, ""
    if place.name is not None:
        names = [place.name]
    else:
        files, cut = await in_thread(lambda stop: _names(place, query, stop))
        names = [name for name in files if not looks_secret(name)]
        left_out = len(files) - len(names)
    options = ["literal"] * query.literal + ["ignore-case"] * query.ignore_case
    given = b"".join(os.fsencode(name) + b"\0" for name in names)
    argv = [sys.executable, "-I", "-S", _SCAN, query.pattern, *options]
    found = await _run(argv, place, given, keep)
    return Found(found.lines, found.cut or cut, left_out)


def _names(place: Place, query: Query, stop: threading.Event) -> tuple[list[str], str]:
    wanted = compiled(query.glob) if query.glob else None
    walk = Walk(place.directory, place.handle, stop)
    names = [name for name, link in walk.files() if not link and (wanted is None or wanted.fullmatch(name))]
    return names, walk.cut


@asynccontextmanager
async def _running(argv: Sequence[str], place: Place, given: int) -> AsyncIterator[asyncio.subprocess.Process]:
    """A search that is over when the block is. Raises ToolError."""
    pipe = asyncio.subprocess.PIPE
    try:
        process = await asyncio.create_subprocess_exec(
            *argv,
            cwd=place.cwd,
            env=command_environment(frozenset()),
            stdin=given,
            stdout=pipe,
            stderr=pipe,
            limit=_LINE_LIMIT,
        )
    except OSError as error:
        raise ToolError(f"the search could not be started: {error.strerror}") from None
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        # Reading to the end lets the pipes close.
        await process.communicate()


async def _run(argv: Sequence[str], place: Place, given: bytes | int, keep: Keep) -> Found:
    """`given` is what it reads, or the file. Raises ToolError for a pattern that is not valid, or too slow."""
    found = Found([])
    source = asyncio.subprocess.PIPE if isinstance(given, bytes) else given
    async with _running(argv, place, source) as process:
        try:
            async with asyncio.timeout(SECONDS):
                if isinstance(given, bytes):
                    _give(process, given)
                wrong = await _collect(process, keep, found)
        except TimeoutError:
            found.cut = f"stopped after {SECONDS:g} s; there may be more"
            slow = f"the search took longer than {SECONDS:g} s; simplify the pattern or narrow it"
            wrong = "" if found.lines else slow
    if wrong:
        raise ToolError(wrong)
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
