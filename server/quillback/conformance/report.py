"""What a check says: as JSON for programs, as lines for people."""

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime

from quillback import __version__
from quillback.conformance.rule import RULES, Failed, Hindrance, NotRun, Passed, Verdict, Weight
from quillback.conformance.runner import Outcome
from quillback_protocol.jsonrpc import JsonObject

FORMAT = 1
CONFORMS, BREAKS, INCOMPLETE = "conforms", "does not conform", "incomplete"
_MARKS = {"passed": "✓", "failed": "✗", "not run": "–"}


def word(verdict: Verdict) -> str:
    match verdict:
        case Passed():
            return "passed"
        case Failed():
            return "failed"
        case NotRun():
            return "not run"


def hindered(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Rules that count and could not be run although they should hold for this agent."""
    return [
        outcome
        for outcome in outcomes
        if outcome.rule.weight is not Weight.ADVISORY
        and isinstance(outcome.verdict, NotRun)
        and outcome.verdict.why in (Hindrance.NEEDS_AUTHENTICATION, Hindrance.BLOCKED)
    ]


def result(outcomes: Sequence[Outcome]) -> str:
    """Advisory rules do not count."""
    broken = [o for o in outcomes if isinstance(o.verdict, Failed) and o.rule.weight is not Weight.ADVISORY]
    return BREAKS if broken else INCOMPLETE if hindered(outcomes) else CONFORMS


def needs_login(outcomes: Sequence[Outcome]) -> bool:
    return any(isinstance(o.verdict, NotRun) and o.verdict.why is Hindrance.NEEDS_AUTHENTICATION for o in outcomes)


def as_json(command: Sequence[str], initialized: JsonObject, outcomes: Sequence[Outcome]) -> JsonObject:
    """The whole report; `initialized` is the agent's answer to initialize."""
    return {
        "format": FORMAT,
        "checkedBy": f"quillback {__version__}",
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": list(command),
        "agent": initialized.get("agentInfo"),
        "protocolVersion": initialized.get("protocolVersion"),
        "result": result(outcomes),
        "summary": {weight.value: dict(_counts(outcomes, weight)) for weight in Weight},
        "rules": [_rule_json(outcome) for outcome in outcomes],
    }


def _rule_json(outcome: Outcome) -> JsonObject:
    rule, verdict = outcome.rule, outcome.verdict
    found: JsonObject = {
        "id": rule.id,
        "class": rule.weight.value,
        "page": rule.page,
        "expected": rule.expects,
        "verdict": word(verdict),
        "seconds": round(outcome.seconds, 3),
    }
    match verdict:
        case Passed(came=came) | Failed(came=came):
            return {**found, "came": came} if came else found
        case NotRun(why=why, detail=detail):
            return {**found, "why": why.value, "detail": detail}


def _counts(outcomes: Sequence[Outcome], weight: Weight) -> Counter[str]:
    return Counter(word(outcome.verdict) for outcome in outcomes if outcome.rule.weight is weight)


def line(outcome: Outcome) -> str:
    """A rule and what came of it, for a person."""
    rule, verdict = outcome.rule, outcome.verdict
    text = f"{_MARKS[word(verdict)]} {rule.id:15} {rule.expects}"
    match verdict:
        case Failed(came=came):
            return f"{text}\n    {rule.weight.value}, see the page {rule.page}\n    came: {came}"
        case NotRun(detail=detail):
            return f"{_MARKS['not run']} {rule.id:15} not run: {detail}"
        case Passed():
            return text


def summary(outcomes: Sequence[Outcome]) -> str:
    """The last lines for a person."""
    lines = []
    for weight in Weight:
        counts = _counts(outcomes, weight)
        numbers = ", ".join(f"{counts[name]} {name}" for name in _MARKS if counts[name])
        if numbers:
            lines.append(f"{weight.value:12}{numbers}")
    lines.append(_sentence(outcomes))
    return "\n".join(lines)


def _sentence(outcomes: Sequence[Outcome]) -> str:
    match result(outcomes):
        case "conforms":
            return "The agent conforms: no mandatory rule and none of a declared capability is broken."
        case "incomplete":
            why = (
                "it needs authentication. Log in to it the way it says (its own login command or a key in the"
                " environment), then check again."
                if needs_login(outcomes)
                else "what these rules build on did not work; each says what."
            )
            return f"No rule that counts is broken, but {len(hindered(outcomes))} could not be run: {why}"
    return "The agent does not conform."


def listing() -> str:
    """All rules, for `check --list`."""
    return "\n".join(f"{rule.id:15} {rule.weight.value:11} {rule.expects} ({rule.page})" for rule in RULES.values())
