"""Paths as the model gives them: resolved to real paths for inspectors, kept as given for the editor."""

import os
from contextlib import suppress
from pathlib import Path

from attrs import frozen

from quillback.core.message import JsonObject, Location
from quillback.core.model import Sketch
from quillback.core.ports import ToolError
from quillback.tools.call import string
from quillback.tools.context import ToolContext
from quillback.tools.text import TITLE_LIMIT, one_line

_TITLE_PATH = 120
_PATH_LIMIT = 4096


@frozen
class Target:
    """One path of a call.

    `label` is how results name it, `path` what the editor knows it by (absolute, links not resolved), `real` where it
    leads. `link` is True when the last component itself is a symbolic link.
    """

    label: str
    path: str
    real: str
    link: bool


def resolve(context: ToolContext, given: str) -> Target:
    """Where a path leads, whether or not it exists. Raises ToolError for what can be no path."""
    if not given.strip():
        raise ToolError("the path is empty")
    if len(given) > _PATH_LIMIT:
        raise ToolError(f"the path is longer than {_PATH_LIMIT:,} characters")
    if "\0" in given:
        raise ToolError("the path holds a NUL character")
    if given.startswith("~"):
        name = one_line(given)
        raise ToolError(f"{name}: ~ is not expanded. Give an absolute path, or ./{name} for a file of that name")
    try:
        given.encode()
        lexical, real = lexical_path(context.cwd, given), os.path.realpath(context.cwd / given)
        link = Path(lexical).is_symlink()
        real.encode()
        _probe(real)
    except UnicodeEncodeError:
        raise ToolError("the path is not valid Unicode text") from None
    except OSError as error:
        raise ToolError(f"{one_line(given)}: {error.strerror}") from None
    # `link/..` means the parent of where the link leads, so such a path cannot be shortened as text.
    path = real if ".." in (context.cwd / given).parts else lexical
    return Target(label(context.cwd, path), path, real, link and path == lexical)


def _probe(real: str) -> None:
    """Raises OSError for names that no file can have, such as too long ones."""
    with suppress(FileNotFoundError, NotADirectoryError, PermissionError):
        Path(real).lstat()


def keys(context: ToolContext, arguments: JsonObject) -> frozenset[str]:
    """The real path of a file tool's `path` argument; nothing when it is no usable path."""
    given = arguments.get("path")
    if not isinstance(given, str):
        return frozenset()
    try:
        return frozenset({resolve(context, given).real})
    except ToolError:
        return frozenset()


def place_of(context: ToolContext, arguments: JsonObject) -> Target:
    """Where a search or a listing begins: the call's `path`, or the session's directory. Raises ToolError."""
    return resolve(context, string(arguments, "path", "."))


def looked_for(context: ToolContext, arguments: JsonObject, what: str) -> Sketch:
    """The announcement of a search; `what` has `{}` for its pattern. Tolerates any input."""
    pattern = arguments.get("pattern")
    name, locations = sketched(context.cwd, arguments)
    said = what.format(one_line(pattern, 80)) if isinstance(pattern, str) else what.partition(" ")[0]
    return Sketch(one_line(said + (f" in {name}" if name else "")), locations)


def lexical_path(cwd: Path, given: str) -> str:
    """`given` made absolute without looking at the disk."""
    return os.path.normpath(cwd / given)


def label(cwd: Path, path: str, limit: int = TITLE_LIMIT) -> str:
    """The short name of an absolute path: relative to `cwd` where it lies below; at most `limit` characters."""
    relative = Path(path).relative_to(cwd) if Path(path).is_relative_to(cwd) else Path(path)
    return one_line(shown_name(str(relative)), limit)


def sketched(cwd: Path, arguments: JsonObject, line: int | None = None) -> tuple[str, tuple[Location, ...]]:
    """Label and location of a call's `path` for its announcement; tolerates any input."""
    given = arguments.get("path")
    if not isinstance(given, str) or not given.strip():
        return "", ()
    if len(given) > _PATH_LIMIT:
        return one_line(shown_name(given[:_PATH_LIMIT]), _TITLE_PATH), ()
    path = shown_name(lexical_path(cwd, given.replace("\0", "")))
    return label(cwd, path, _TITLE_PATH), (Location(path, line),)


def shown_name(name: str) -> str:
    """A file name as valid text; bytes that are no UTF-8 are replaced."""
    return name.encode(errors="surrogatepass" if _foreign(name) else "surrogateescape").decode(errors="replace")


def _foreign(name: str) -> bool:
    """Whether it holds surrogates that do not stand for bytes of a file name."""
    return any("\ud800" <= c <= "\udfff" and not "\udc80" <= c <= "\udcff" for c in name)
