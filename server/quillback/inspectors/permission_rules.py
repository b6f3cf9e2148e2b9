"""Which of the user's rules speaks of a call: a rejection before a question before a permission."""

from collections.abc import Iterable

from quillback.core.ports import Inspection, Rule, RuleEffect
from quillback.core.rules import Pattern, parse_pattern
from quillback.inspectors.rule_subject import Part, Subject, subject

Spoken = tuple[Rule, Pattern]


def narrowest(inspection: Inspection) -> str:
    """The rule that an answer for ever to this very call stores; empty where no answer can last."""
    whole = "" if inspection.access.escalation else subject(inspection).whole
    return f"{inspection.call.name}({whole})" if whole else ""


def deciding(inspection: Inspection, configured: Iterable[Rule]) -> Rule | None:
    """The rule that decides about a call, of those configured and those stored.

    Where several allow rules are needed to cover all of a call, one of them is returned.
    """
    rules = [(rule, parsed) for rule in (*configured, *inspection.rules) if (parsed := _about(rule, inspection))]
    if not rules:
        return None
    seen = subject(inspection)
    for effect in (RuleEffect.REJECT, RuleEffect.ASK):
        for spoken in rules:
            if spoken[0].effect is effect and _hits(spoken, seen):
                return spoken[0]
    return _permission([spoken for spoken in rules if spoken[0].effect is RuleEffect.ALLOW], seen)


def _about(rule: Rule, inspection: Inspection) -> Pattern | None:
    """The rule's pattern if it is about this tool."""
    try:
        parsed = parse_pattern(rule.pattern)
    except ValueError:  # of another version; it was told when it was read
        return None
    return parsed if parsed.tool == inspection.call.name else None


def _hits(spoken: Spoken, seen: Subject) -> bool:
    rule, pattern = spoken
    literal = bool(rule.root)
    whole = bool(seen.whole) and pattern.argument == seen.whole
    return whole or any(part.hit(pattern.argument, literal=literal) for part in (*seen.parts, *seen.wrappers))


def _permission(rules: list[Spoken], seen: Subject) -> Rule | None:
    if not seen.understood:
        return None
    for rule, pattern in rules:
        if pattern.argument == seen.whole and rule.root:
            return rule
    covering = [_covering(rules, part) for part in seen.parts]
    return covering[0] if covering and None not in covering else None


def _covering(rules: list[Spoken], part: Part) -> Rule | None:
    for rule, pattern in rules:
        if rule.root:
            covers = pattern.argument is not None and part.stored(pattern.argument)
        else:
            covers = part.covered(pattern.argument)
        if covers:
            return rule
    return None
