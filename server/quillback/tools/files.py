"""What is in a file, on the disk and in the editor, and whether the agent has seen it like that."""

import hashlib
import os
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

from attrs import frozen

from quillback.core.ports import EditorError, ToolError
from quillback.tools.codec import NotTextError, decode
from quillback.tools.context import ToolContext
from quillback.tools.paths import Target
from quillback.tools.places import parent_of, problem, require_same
from quillback.tools.threads import check, in_thread

BLOCK = 1024 * 1024
"""Bytes read at a time."""

EDIT_LIMIT = 64 * 1024 * 1024
"""Bytes of a file that is changed in memory; larger ones are refused."""

EDITOR_LIMIT = 4 * 1024 * 1024
"""Bytes of a file up to which the editor is asked for unsaved text."""

_PSEUDO = ("/proc/", "/sys/")


@frozen
class State:
    """A file at one moment.

    `data` is None for no file, and for one larger than was asked for. `unsaved` is the editor's text where it differs
    from the disk's, line ends and the last line feed aside.
    """

    stat: os.stat_result | None
    data: bytes | None
    disk_digest: str
    unsaved: str | None = None

    @property
    def exists(self) -> bool:
        return self.stat is not None or self.unsaved is not None

    @property
    def digest(self) -> str:
        """SHA-256 in hex of the bytes on disk; of that digest and the editor's text where that differs.

        So a change of either side is noticed, and saving an unsaved buffer asks for another read.
        """
        if self.unsaved is None:
            return self.disk_digest
        return digest_of(self.disk_digest.encode() + b"\0" + self.unsaved.encode(errors="surrogatepass"))


def digest_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@contextmanager
def opened(target: Target) -> Iterator[IO[bytes]]:
    """A regular file opened for reading, surely the one at the real path. Never blocks. Raises ToolError."""
    require_same(target)
    try:
        with parent_of(target) as (directory, name):
            require_regular(target, os.stat(name, dir_fd=directory, follow_symlinks=False))
            handle = os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)
        with os.fdopen(handle, "rb") as file:
            require_regular(target, os.fstat(handle))
            yield file
    except OSError as error:
        raise ToolError(f"{target.label}: {problem(error)}") from None


def require_regular(target: Target, status: os.stat_result) -> None:
    """Raises ToolError for everything that is not an ordinary file."""
    mode = status.st_mode
    if stat.S_ISDIR(mode):
        raise ToolError(f"{target.label} is a directory; list_dir shows what is in it")
    if not stat.S_ISREG(mode):
        kind = "a pipe" if stat.S_ISFIFO(mode) else "a socket" if stat.S_ISSOCK(mode) else "a device or a link"
        raise ToolError(f"{target.label} is {kind}, not an ordinary file")
    if target.real.startswith(_PSEUDO):
        raise ToolError(f"{target.label} is made up by the kernel, not an ordinary file; a shell command can show it")


def blocks(file: IO[bytes], stop: threading.Event) -> Iterator[bytes]:
    while block := file.read(BLOCK):
        check(stop)
        yield block


def load(target: Target, keep: int, stop: threading.Event) -> State:
    """The file on disk; its bytes only up to `keep`. A missing file is a state too. Raises ToolError."""
    require_same(target)
    if not os.path.lexists(target.real):
        return State(None, None, "")
    with opened(target) as file:
        status = os.fstat(file.fileno())
        kept, size, digest = [], 0, hashlib.sha256()
        for block in blocks(file, stop):
            digest.update(block)
            size += len(block)
            if size <= keep:
                kept.append(block)
            else:
                kept.clear()
    return State(status, b"".join(kept) if size <= keep else None, digest.hexdigest())


async def look(context: ToolContext, target: Target, keep: int = EDIT_LIMIT) -> State:
    """The file on disk and in the editor."""
    state = await in_thread(lambda stop: load(target, keep, stop))
    if not context.editor.capabilities.read_text or not context.inside(target.real):
        return state
    if state.stat is not None and (state.data is None or len(state.data) > EDITOR_LIMIT):
        return state
    require_same(target)
    try:
        likely = ("",) if state.data is None else _readings(state.data)
        text = await context.editor.read_text(context.session_id, target.path)
    except (EditorError, NotTextError):
        return state
    require_same(target)
    if _loosely(text) in likely or (state.data and len(likely) > 1 and "\ufffd" in text):
        return state
    return State(state.stat, state.data, state.disk_digest, text)


def _readings(data: bytes) -> tuple[str, ...]:
    """The texts an editor may take these bytes for. An empty one, for a missing file, is what some answer then."""
    text, encoding = decode(data)
    if encoding.plain:
        return (_loosely(text),)
    return tuple(_loosely(guess) for guess in (text, data.decode(errors="replace"), data.decode("cp1252", "replace")))


def _loosely(text: str) -> str:
    """`text` as far as editors hand it out alike: they differ in line ends, marks and the last line feed."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n").removesuffix("\n")


def unchanged(state: State, directory: int, name: str) -> bool:
    """Whether an open directory still has what `state` saw, told by inode, size and time alone."""
    try:
        now = os.stat(name, dir_fd=directory, follow_symlinks=False)
    except OSError:
        return state.stat is None
    then = state.stat
    return then is not None and (
        (now.st_dev, now.st_ino, now.st_size, now.st_mtime_ns)
        == (then.st_dev, then.st_ino, then.st_size, then.st_mtime_ns)
    )
