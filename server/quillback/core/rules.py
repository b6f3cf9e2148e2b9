"""Modes, permission rules, and the language of rules: `tool` for all its calls, `tool(argument)` for some.

What an argument means is up to the inspectors: `shell(git log:*)` a command, `edit_file(src/**)` a path below the
session's directory.
"""

import re
from enum import StrEnum
from functools import lru_cache

from attrs import frozen

_RULE = re.compile(r"([A-Za-z0-9_.-]+)(?:\((.*)\))?", re.DOTALL)
EXAMPLES = "'shell(git log:*)', 'edit_file(src/**)' or 'read_file'"


class Mode(StrEnum):
    """How much the agent may do without asking."""

    APPROVE = "approve"
    SMART = "smart"
    AUTO = "auto"
    CHAT = "chat"


MODES = {
    Mode.APPROVE: ("Approve", "Reads inside the workspace; asks before it changes files or runs commands"),
    Mode.SMART: ("Smart", "Like Approve, but a small model lets calls run that do nothing but look"),
    Mode.AUTO: ("Auto", "Works without asking inside the workspace"),
    Mode.CHAT: ("Chat", "Talks only; runs no tools"),
}
"""The name of each mode, and what it means."""


@frozen
class Pattern:
    """`argument` is None for a rule about every call of the tool."""

    tool: str
    argument: str | None = None


@lru_cache(maxsize=1024)
def parse_pattern(text: str) -> Pattern:
    """Raises ValueError that says what is wrong."""
    found = _RULE.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"{text!r} is not a rule; write {EXAMPLES}")
    argument = found[2]
    if argument is not None and not argument.strip():
        raise ValueError(f"{text!r} has nothing between its brackets; write {EXAMPLES}")
    return Pattern(found[1], argument)


class RuleEffect(StrEnum):
    """ASK is for configured rules; an answer is one of the others."""

    ALLOW = "allow"
    REJECT = "reject"
    ASK = "ask"


@frozen
class Rule:
    """What the user said of some calls; `pattern` is in the language of this module.

    A stored answer has the `root` it was given in, holds for sessions whose cwd that is, and means its pattern
    literally. A rule of the configuration has an empty root, holds everywhere, and may have wild cards.
    """

    root: str
    pattern: str
    effect: RuleEffect
