"""What an inspector says of a call, and how several say it together."""

from collections.abc import Iterable

from attrs import field, frozen


@frozen
class Allow:
    """`rule` is the user's rule that decided, if one did; `details` is what was found, for the audit only."""

    rule: str = field(default="", kw_only=True)
    details: tuple[str, ...] = field(default=(), kw_only=True)


@frozen
class Ask:
    """`reason` completes the sentence "asked because"; the other fields are those of Allow."""

    reason: str
    rule: str = field(default="", kw_only=True)
    details: tuple[str, ...] = field(default=(), kw_only=True)


@frozen
class Deny:
    """`reason` is for the model and the user; the other fields are those of Allow."""

    reason: str
    rule: str = field(default="", kw_only=True)
    details: tuple[str, ...] = field(default=(), kw_only=True)


Verdict = Allow | Ask | Deny
ALLOW = Allow()


def merge(verdicts: Iterable[Verdict]) -> Verdict:
    """The strictest of `verdicts`, with every reason of that strictness; nothing said means Ask."""
    said = list(verdicts)
    denied = [v.reason for v in said if isinstance(v, Deny)]
    if denied:
        return Deny(joined(denied))
    asked = [v.reason for v in said if isinstance(v, Ask)]
    if asked or not said:
        return Ask(joined(asked))
    return Allow()


def joined(reasons: Iterable[str]) -> str:
    """The reasons in one line; what several inspectors say in the same words is said once."""
    return "; ".join(dict.fromkeys(part for reason in reasons for part in reason.split("; ") if part))
