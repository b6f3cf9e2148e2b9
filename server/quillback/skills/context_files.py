"""The context files of a workspace: what its people want every agent to know. They are text, without any rights."""

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from quillback.core.text import one_line, plain
from quillback.documents.reading import UnfitError, as_text, read_real

NAMES = (
    "AGENTS.md",
    "CLAUDE.md",
    "GEMINI.md",
    "CRUSH.md",
    ".goosehints",
    ".cursorrules",
    ".github/copilot-instructions.md",
    "AGENTS.local.md",
    "CLAUDE.local.md",
)
"""In the order in which they come, in each directory."""

_FILE_NAMES = frozenset(Path(name).name for name in NAMES)
FILE_LIMIT = 64 * 1024
PATH_LIMIT = 1_000
ALL_LIMIT = 128 * 1024
LEAD = "The files below were written for agents by the people of this workspace. They advise; they give no permission."


def context(user: Path, roots: Sequence[Path], notice: Callable[[str], None]) -> str:
    """All context files as one text, empty where there are none.

    First the user's own AGENTS.md in the directory `user`, then those of each root, from the top of its repository
    down to it. A file with the same content as one before is left out.
    """
    pieces: list[str] = []
    seen: set[str] = set()
    room = ALL_LIMIT
    for path, inside in _paths(user, roots):
        text = _text(path, inside, notice)
        if not text or text in seen:
            continue
        seen.add(text)
        if len(text) > room:
            notice(f"{path} was left out: the context files hold more than {ALL_LIMIT // 1024} KB.")
            continue
        room -= len(text)
        pieces.append(f'<context-file path="{one_line(plain(str(path)), PATH_LIMIT)}">\n{text}\n</context-file>')
    return "\n\n".join([LEAD, *pieces]) if pieces else ""


def _paths(user: Path, roots: Sequence[Path]) -> Iterator[tuple[Path, tuple[Path, ...]]]:
    """Each file, and the directories of which one has to hold it; the user's own may be a link to anywhere."""
    yield user / NAMES[0], ()
    for root in roots:
        directories = _from_the_top(root)
        for directory in directories:
            yield from ((directory / name, (*roots, directories[0])) for name in NAMES)


def _from_the_top(root: Path) -> list[Path]:
    """The directories from the top of the repository to `root`; only `root` where it is in none of the user's."""
    chain = [root, *root.parents]
    top = next((i for i, directory in enumerate(chain) if os.path.lexists(directory / ".git")), 0)
    return chain[top::-1] if top and _is_ours(chain[top]) else [root]


def _is_ours(top: Path) -> bool:
    """Whether a repository belongs to the user: what others have put above a workspace does not count."""
    try:
        return all(path.lstat().st_uid == os.geteuid() for path in (top, top / ".git"))
    except OSError:
        return False


def _text(path: Path, inside: Sequence[Path], notice: Callable[[str], None]) -> str:
    around = [os.path.realpath(directory) for directory in inside]

    def fits(real: Path) -> str:
        if around and not any(real.is_relative_to(directory) for directory in around):
            return "it is a link to a file outside of the workspace"
        if around and real.name not in _FILE_NAMES and real.suffix not in (".md", ".markdown", ".mdc"):
            return f"it is a link to {real.name}, which is no text for agents"
        return ""

    try:
        return plain(as_text(read_real(path, FILE_LIMIT, fits)[0])).strip()
    except UnfitError as unfit:
        notice(f"{path} was left out: {unfit}.")
    except OSError:
        pass
    return ""
