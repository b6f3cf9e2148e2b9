"""What was decided about each call, by whom and why: the record that `quillback audit` shows."""

import json
from collections.abc import Iterable
from enum import StrEnum

from attrs import field, frozen

from quillback.core.mask import Mask
from quillback.core.message import JsonObject
from quillback.core.rules import Mode
from quillback.core.verdict import Ask, Deny, Verdict, joined

ARGUMENTS_LIMIT = 2_000


class Decision(StrEnum):
    ALLOW = "allow"
    DENY = "deny"


class DecidedBy(StrEnum):
    """INSPECTORS without anybody's word, a stored or configured RULE of the user, or the USER when asked."""

    INSPECTORS = "inspectors"
    RULE = "rule"
    USER = "user"


@frozen
class Finding:
    """What one inspector said. The time it took is no part of what makes two findings equal."""

    inspector: str
    verdict: Verdict
    milliseconds: float = field(default=0.0, eq=False)


@frozen
class AuditRecord:
    """One decision. `arguments` is JSON text, cut; `mode` is the session's; `at` milliseconds since the epoch."""

    session_id: str
    call_id: str
    tool: str
    arguments: str
    decision: Decision
    decided_by: DecidedBy
    findings: tuple[Finding, ...]
    mode: Mode
    at: int


def arguments_text(arguments: JsonObject, mask: Mask) -> str:
    """A call's arguments as the audit keeps them."""
    text = mask.hide(json.dumps(dict(arguments), ensure_ascii=False, default=str))
    return text if len(text) <= ARGUMENTS_LIMIT else text[: ARGUMENTS_LIMIT - 1] + "…"


def without_asking(findings: Iterable[Finding], decision: Decision) -> DecidedBy:
    """Who decided where nobody was asked: a rule only where no inspector came to a denial without one."""
    said = [f.verdict for f in findings]
    if decision is Decision.DENY:
        said = [v for v in said if isinstance(v, Deny)]
        by_rule = bool(said) and all(v.rule for v in said)
    else:
        by_rule = any(v.rule for v in said)
    return DecidedBy.RULE if by_rule else DecidedBy.INSPECTORS


def denial(findings: Iterable[Finding]) -> str:
    """What the model is told of a denial: the reasons of all that denied, then of those that would have asked."""
    said = [f.verdict for f in findings]
    denied = [v.reason for v in said if isinstance(v, Deny)]
    asked = [v.reason for v in said if isinstance(v, Ask) and v.reason]
    text = joined([*denied, *asked])
    return text if text.startswith("not run") else f"not run: {text}"
