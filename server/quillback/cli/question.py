"""A permission question as a person reads it: what would be done, why it is asked, and the keys that answer."""

from collections.abc import Mapping

from quillback.cli.clean import one_line
from quillback.cli.screen import Screen
from quillback.cli.tool_lines import call_input, title, write_diffs
from quillback.core.message import Diff
from quillback.core.ports import Choice, PermissionAsk

KEYS = {
    "y": Choice.ALLOW_ONCE,
    "a": Choice.ALLOW_ALWAYS,
    "n": Choice.REJECT_ONCE,
    "d": Choice.REJECT_ALWAYS,
}
NO_MORE = "\x04"
"""Ctrl-D: no to this and to all that follows."""
WORDS = {
    Choice.ALLOW_ONCE: "allowed once",
    Choice.ALLOW_ALWAYS: "always allowed here",
    Choice.REJECT_ONCE: "rejected",
    Choice.REJECT_ALWAYS: "always rejected here",
    Choice.CANCELLED: "cancelled",
}
PROMPT = "Run it? Press y = once, a = always, n = no, d = never (deny always): "
ONCE = {key: KEYS[key] for key in "yn"}
PROMPT_ONCE = "Run it? Press y = once, n = no: "
RULE = 100


def write_question(screen: Screen, ask: PermissionAsk, cwd: str) -> None:
    """Everything that a decision needs: diffs and command lines are shown whole."""
    screen.write(screen.sign("● ", "asking: "), "yellow")
    screen.line(title(ask.call), "bold")
    if ask.reason:
        screen.line(f"  Asked because {one_line(ask.reason)}.", "yellow")
    if any(isinstance(shown, Diff) for shown in ask.shown):
        write_diffs(screen, ask.shown, cwd, limit=0)
    elif (given := call_input(ask.call)) != title(ask.call).removeprefix("$ "):
        for line in given.split("\n"):
            screen.line(f"    {line}", "cyan")


def keys(ask: PermissionAsk) -> Mapping[str, Choice]:
    """The keys that answer a question."""
    return KEYS if ask.rule else ONCE


def write_keys(screen: Screen, ask: PermissionAsk) -> None:
    """The line that waits for a key."""
    if ask.rule:
        screen.line(f"  always and never would be stored for {one_line(ask.rule, RULE)}", "dim")
    screen.write(_prompt(ask), "bold")


def write_keys_again(screen: Screen, ask: PermissionAsk) -> None:
    """After a key that is none of them."""
    screen.line("not understood", "yellow")
    screen.write(_prompt(ask), "bold")


def _prompt(ask: PermissionAsk) -> str:
    return PROMPT if ask.rule else PROMPT_ONCE


def write_answer(screen: Screen, choice: Choice, note: str) -> None:
    allowed = choice in (Choice.ALLOW_ONCE, Choice.ALLOW_ALWAYS)
    screen.line(f"{WORDS[choice]}{f' ({note})' if note else ''}", "green" if allowed else "red")
