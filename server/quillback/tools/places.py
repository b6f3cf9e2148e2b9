"""Opens what a path meant when its call was prepared, and nothing that a link put in its way since then leads to.

Directories are entered one name at a time and never through a link, so nobody can change the way while it is walked.
"""

import errno
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from quillback.core.ports import ToolError
from quillback.tools.paths import Target

MOVED = "changed while the question was open and leads elsewhere now; look at it again, then redo this"

_ENTER = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | getattr(os, "O_PATH", os.O_RDONLY)
_LIST = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_HANDLES = "/proc/self/fd"


def problem(error: OSError) -> str:
    """What went wrong, without a path that the call did not name."""
    if error.errno == errno.ELOOP:
        return MOVED
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return "there is no such file"
    return (error.strerror or type(error).__name__).lower()


def require_same(target: Target) -> None:
    """Raises ToolError when the path of a call leads elsewhere than when it was prepared."""
    if os.path.realpath(target.path) != target.real:
        raise ToolError(f"{target.label} {MOVED}")


def require_still(target: Target, directory: int) -> None:
    """Raises ToolError when the open directory is not the one any more that holds what the call names."""
    require_same(target)
    with suppress(OSError):
        if os.path.samestat(os.fstat(directory), Path(target.real).parent.lstat()):
            return
    raise ToolError(f"{target.label} {MOVED}")


def enter(real: str, *, make: bool = False) -> int:
    """A handle of the directory at a real path, made first if `make`. Raises OSError; ELOOP where a link is now."""
    return descend(os.open("/", _ENTER), [name for name in real.split("/") if name], make=make)


def open_directory(real: str, *, make: bool = False) -> int:
    """Like `enter`, with a handle that can be listed."""
    return listable(enter(real, make=make))


def listable(handle: int) -> int:
    """Trades the handle of a directory for one that can be listed. Raises OSError."""
    try:
        return os.open(".", _LIST, dir_fd=handle)
    finally:
        os.close(handle)


def descend(handle: int, names: Sequence[str], *, make: bool = False) -> int:
    """Trades the handle of a directory for that of one below it. Raises OSError; ELOOP where a link is."""
    try:
        for name in names:
            below = _step(handle, name, make)
            os.close(handle)
            handle = below
    except BaseException:
        os.close(handle)
        raise
    return handle


def _step(handle: int, name: str, make: bool) -> int:
    try:
        return os.open(name, _ENTER, dir_fd=handle)
    except NotADirectoryError:
        if _is_link(handle, name):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP)) from None
        raise
    except FileNotFoundError:
        if not make:
            raise
    with suppress(FileExistsError):
        os.mkdir(name, dir_fd=handle)
    return _step(handle, name, False)


def _is_link(handle: int, name: str) -> bool:
    try:
        os.readlink(name, dir_fd=handle)
    except OSError:
        return False
    return True


@contextmanager
def parent_of(target: Target) -> Iterator[tuple[int, str]]:
    """The directory that holds what a call names, and the name in it. Raises OSError."""
    place = Path(target.real)
    handle = enter(str(place.parent))
    try:
        yield handle, place.name or "."
    finally:
        os.close(handle)


@contextmanager
def opened_directory(target: Target) -> Iterator[int]:
    """The directory a call names, to be listed. Raises ToolError."""
    require_same(target)
    try:
        handle = open_directory(target.real)
    except FileNotFoundError:
        raise ToolError(f"{target.label}: there is no such directory") from None
    except NotADirectoryError:
        raise ToolError(f"{target.label} is not a directory; read_file shows a file") from None
    except OSError as error:
        raise ToolError(f"{target.label}: {problem(error)}") from None
    try:
        yield handle
    finally:
        os.close(handle)


def cwd_of(handle: int, real: str) -> str:
    """What a child process is given as its directory, to start in the one that is open here."""
    return f"{_HANDLES}/{handle}" if Path(_HANDLES).is_dir() else real


@contextmanager
def standing(cwd: Path, real: str) -> Iterator[str]:
    """The session's directory for a command that is started now; `real` is where it led. Raises ToolError."""
    require_cwd(cwd, real)
    try:
        handle = enter(real)
    except (FileNotFoundError, NotADirectoryError):
        raise ToolError(
            f"the session's directory {cwd} does not exist any more, so no command can run in it; "
            "make it again (write_file makes missing directories), or ask the user to"
        ) from None
    except OSError as error:
        raise ToolError(f"the session's directory {cwd}: {problem(error)}") from None
    try:
        yield cwd_of(handle, real)
    finally:
        os.close(handle)


def real_path(cwd: Path) -> str:
    """Where the session's directory leads now; quick enough for the loop."""
    return os.path.realpath(cwd)


def require_cwd(cwd: Path, real: str) -> None:
    """Raises ToolError when the session's directory leads elsewhere than when the call was prepared."""
    if real_path(cwd) != real:
        raise ToolError(f"the session's directory {cwd} {MOVED}")
