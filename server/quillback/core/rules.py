"""Stored answers to permission questions: how a call is named in a rule, and which rule speaks of a call."""

import json
from collections.abc import Iterable

from quillback.core.message import ToolUse
from quillback.core.ports import Access, Rule, RuleEffect


def pattern(call: ToolUse, access: Access) -> str:
    """The narrowest rule for a call: its whole command line, its very files, or its whole input."""
    if access.command:
        return f"{call.name}({access.command})"
    paths = dict.fromkeys((*access.reads, *access.writes))
    argument = ", ".join(paths) if paths else json.dumps(call.input, sort_keys=True, ensure_ascii=False)
    return f"{call.name}({argument})"


def matching(rules: Iterable[Rule], call: ToolUse, access: Access) -> RuleEffect | None:
    """What the stored rules say of a call; a rejection wins."""
    wanted = pattern(call, access)
    effects = {r.effect for r in rules if r.pattern == wanted}
    if RuleEffect.REJECT in effects:
        return RuleEffect.REJECT
    return RuleEffect.ALLOW if effects else None
