"""Inspections to put before an inspector, and the places they speak of."""

from pathlib import Path
from typing import Any

from attrs import evolve

from quillback.core.message import ToolKind, ToolUse
from quillback.core.ports import Access, Inspection, Mode, Rule, RuleEffect
from quillback.inspectors.permission_rules import narrowest
from support.replies import spec

ROOT = "/ws/space"
HOME = "/people/me"
SESSION = "s1"
_SIGNS = {"␤": "\n", "␍": "\r", "␉": "\t", "␀": "\0"}


def shell(line: str, **more: Any) -> Inspection:
    """A call of the shell tool."""
    root = more.get("roots", (ROOT,))[0]
    access = Access(command=line, cwd=more.pop("cwd", root))
    return inspection({"command": line}, tool="shell", access=access, **more)


def inspection(
    given: dict[str, Any] | None = None,
    *,
    tool: str = "tool",
    access: Access | None = None,
    mode: Mode = Mode.AUTO,
    roots: tuple[str, ...] = (ROOT,),
    allowed: bool = False,
    read_only: bool = False,
) -> Inspection:
    """`allowed` when the user stored that this very call may run."""
    call = ToolUse("c1", "t1", tool, given or {}, kind=ToolKind.EXECUTE)
    access = access or Access()
    asked = Inspection(SESSION, call, spec(tool, read_only=read_only), access, mode, roots, ())
    return evolve(asked, rules=(Rule(roots[0], narrowest(asked), RuleEffect.ALLOW),)) if allowed else asked


def table(path: Path) -> dict[str, list[tuple[str, str, str]]]:
    """The rows of a table of command lines, by section: merged verdict, verdict of security, line."""
    sections: dict[str, list[tuple[str, str, str]]] = {}
    for row in path.read_text(encoding="utf-8").splitlines():
        if row.startswith("# "):
            rows = sections.setdefault(row[2:], [])
        elif row:
            merged, alone, line = row.split("\t")
            for sign, meant in _SIGNS.items():
                line = line.replace(sign, meant)
            rows.append((merged, alone, line))
    return {name: rows for name, rows in sections.items() if rows}
