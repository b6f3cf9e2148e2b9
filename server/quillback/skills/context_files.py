"""The context files of a workspace: what its people want every agent to know. They are text, without any rights."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from quillback.documents.reading import UnfitError, as_text, read_bytes

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

FILE_LIMIT = 64 * 1024
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
    for path in _paths(user, roots):
        text = _text(path, notice)
        if not text or text in seen:
            continue
        seen.add(text)
        if len(text) > room:
            notice(f"{path} was left out: the context files hold more than {ALL_LIMIT // 1024} KB.")
            continue
        room -= len(text)
        pieces.append(f'<context-file path="{path}">\n{text}\n</context-file>')
    return "\n\n".join([LEAD, *pieces]) if pieces else ""


def _paths(user: Path, roots: Sequence[Path]) -> Iterator[Path]:
    yield user / NAMES[0]
    for root in roots:
        for directory in _from_the_top(root):
            yield from (directory / name for name in NAMES)


def _from_the_top(root: Path) -> list[Path]:
    """The directories from the top of the repository to `root`; only `root` where it is in none."""
    chain = [root, *root.parents]
    top = next((i for i, directory in enumerate(chain) if (directory / ".git").exists()), 0)
    return chain[top::-1] if top else [root]


def _text(path: Path, notice: Callable[[str], None]) -> str:
    try:
        return as_text(read_bytes(path, FILE_LIMIT)).strip()
    except UnfitError as unfit:
        notice(f"{path} was left out: {unfit}.")
    except OSError:
        pass
    return ""
