"""What an inspector says of a call, and how several say it together."""

from collections.abc import Iterable

from attrs import frozen


@frozen
class Allow:
    pass


@frozen
class Ask:
    reason: str


@frozen
class Deny:
    reason: str


Verdict = Allow | Ask | Deny


def merge(verdicts: Iterable[Verdict]) -> Verdict:
    """The strictest of `verdicts`, with every reason of that strictness; nothing said means Ask."""
    said = list(verdicts)
    denied = [v.reason for v in said if isinstance(v, Deny)]
    if denied:
        return Deny("; ".join(denied))
    asked = [v.reason for v in said if isinstance(v, Ask)]
    if asked or not said:
        return Ask("; ".join(reason for reason in asked if reason))
    return Allow()
