"""A change of a file as the lines that a person reads."""

from difflib import unified_diff
from pathlib import PurePath

from quillback.core.message import Diff

COMPARED = 1_000_000
"""Characters of both sides beyond which comparing would take too long."""

Styled = tuple[str, str]
_STYLES = {"+": "green", "-": "red", "@": "cyan"}


def diff_lines(diff: Diff, cwd: str, limit: int = 0) -> list[Styled]:
    """The lines of a unified diff with their styles, `limit` of them at most if there is one."""
    name = shown_path(diff.path, cwd)
    old, new = diff.old or "", diff.new
    if len(old) + len(new) > COMPARED:
        return [(f"{name}: {len(old):,} characters before, {len(new):,} after; too long to compare here", "bold")]
    before = "/dev/null" if diff.old is None else name
    found = unified_diff(_lines(old), _lines(new), before, name, lineterm="")
    lines = [(line, "bold" if number < 2 else _STYLES.get(line[:1], "")) for number, line in enumerate(found)]
    if not lines:
        lines = [(f"{name}: only line ends change" if old != new else f"{name}: no change", "dim")]
    if limit and len(lines) > limit:
        lines[limit:] = [(f"… {len(lines) - limit} more lines", "dim")]
    return lines


def shown_path(path: str, cwd: str) -> str:
    """The path relative to the workspace if it is in there."""
    pure = PurePath(path)
    return str(pure.relative_to(cwd)) if pure.is_relative_to(cwd) else path


def _lines(text: str) -> list[str]:
    """Line ends of all kinds end a line; form feeds and the like do not."""
    return text.replace("\r\n", "\n").split("\n")[: None if text and not text.endswith("\n") else -1]
