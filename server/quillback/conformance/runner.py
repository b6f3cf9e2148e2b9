"""Runs rules one after the other and says what came of each."""

import time
from collections.abc import AsyncIterator, Sequence

from attrs import frozen

from quillback.conformance import rules
from quillback.conformance.lab import Lab
from quillback.conformance.rule import RULES, Failed, Hindrance, NotRun, Rule, Verdict
from quillback.conformance.session import Blocked
from quillback.conformance.wire import Gone, Unanswered

__all__ = ["Outcome", "chosen", "rules", "run"]
FIRST = "ACP-INIT-001"


@frozen
class Outcome:
    rule: Rule
    verdict: Verdict
    seconds: float


def chosen(only: Sequence[str]) -> list[Rule]:
    """The rules whose ids begin with one of `only`; all without one. Raises ValueError for what fits none."""
    for prefix in only:
        if not any(name.startswith(prefix.upper()) for name in RULES):
            raise ValueError(prefix)
    prefixes = tuple(prefix.upper() for prefix in only)
    return [rule for name, rule in RULES.items() if not prefixes or name.startswith(prefixes)]


async def run(lab: Lab, chosen_rules: Sequence[Rule]) -> AsyncIterator[Outcome]:
    """In order. When the agent does not get through its handshake, the others are not run. Raises OSError."""
    hopeless = ""
    for rule in chosen_rules:
        began = time.monotonic()
        verdict = NotRun(Hindrance.BLOCKED, hopeless) if hopeless else await _judged(lab, rule)
        if rule.id == FIRST and isinstance(verdict, Failed):
            hopeless = await _hopeless(lab)
        yield Outcome(rule, verdict, time.monotonic() - began)


async def _hopeless(lab: Lab) -> str:
    """Why nothing else can be tried, if so."""
    try:
        await lab.shared()
    except Blocked as blocked:
        return blocked.detail
    return ""


async def _judged(lab: Lab, rule: Rule) -> Verdict:
    try:
        if rule.needs and await lab.capability(*rule.needs) is None:
            return NotRun(Hindrance.NOT_DECLARED, f"the agent does not declare {'.'.join(rule.needs)}")
        return await rule.probe(lab)
    except Blocked as blocked:
        return NotRun(blocked.why, blocked.detail)
    except (Unanswered, Gone, TimeoutError) as error:
        await lab.drop()
        return Failed(str(error) or "no answer in time")
