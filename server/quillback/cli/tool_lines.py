"""Tool calls as lines: what was called, how it went, and as much of the result as a person wants to see."""

import json
from collections.abc import Iterable

from quillback.cli.clean import one_line
from quillback.cli.diffs import diff_lines
from quillback.cli.screen import Screen
from quillback.core.message import Diff, PlanEntry, Text, ToolKind, ToolResult, ToolUse
from quillback.session.permits import REJECTED

TITLE = 160
TAIL_LINES = 10
ERROR_LINES = 3
DIFF_LINES = 300
INPUT = 2000
_BOXES = {"completed": "[x]", "in_progress": "[>]"}


def title(call: ToolUse | None) -> str:
    """One line; command lines are marked as such."""
    if call is None:
        return "a tool call"
    text = one_line(call.title or call.name, TITLE)
    return f"$ {text}" if _is_command(call) else text


def write_call(screen: Screen, call: ToolUse | None, result: ToolResult) -> None:
    """The line of a call that has ended, and below it what failed or what a command printed."""
    if result.is_error:
        screen.write(screen.sign("✗ ", "failed: "), "red")
    else:
        screen.write(screen.sign("✓ ", "done: "), "green")
    screen.line(title(call))
    text = "".join(p.text for p in result.content if isinstance(p, Text))
    if text == REJECTED:  # this is said to the model; the person has said it
        return
    lines = text.strip("\n").split("\n")
    if call is not None and _is_command(call):
        if len(lines) > TAIL_LINES:
            screen.line(f"  … {len(lines) - TAIL_LINES} lines before", "dim")
        _indented(screen, lines[-TAIL_LINES:])
    elif result.is_error:
        _indented(screen, lines[:ERROR_LINES])


def write_diffs(screen: Screen, shown: Iterable[object], cwd: str, limit: int = DIFF_LINES) -> None:
    """The diffs among what a call shows."""
    for diff in shown:
        if isinstance(diff, Diff):
            for line, style in diff_lines(diff, cwd, limit):
                screen.line(f"  {line}", style)


def write_plan(screen: Screen, plan: Iterable[PlanEntry]) -> None:
    for entry in plan:
        style = "dim" if entry.status == "completed" else "bold" if entry.status == "in_progress" else ""
        screen.line(f"  {_BOXES.get(entry.status, '[ ]')} {one_line(entry.content)}", style)


def call_input(call: ToolUse) -> str:
    """What a call is given: the whole command line, or its input as JSON, cut where it is long."""
    command = call.input.get("command")
    if _is_command(call) and isinstance(command, str):
        return command
    text = json.dumps(dict(call.input), ensure_ascii=False, default=str)
    return text if len(text) <= INPUT else f"{text[:INPUT]}… ({len(text):,} characters)"


def _is_command(call: ToolUse) -> bool:
    return call.kind is ToolKind.EXECUTE and isinstance(call.input.get("command"), str)


def _indented(screen: Screen, lines: Iterable[str]) -> None:
    for line in lines:
        screen.line(f"    {line}", "dim")
