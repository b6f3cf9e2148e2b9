"""What a rule is, how it is told to others, and what it may find."""

from collections.abc import Awaitable, Callable, Iterable
from enum import Enum
from typing import TYPE_CHECKING

from attrs import frozen

if TYPE_CHECKING:
    from quillback.conformance.lab import Lab
    from quillback.conformance.trace import Trace


class Weight(Enum):
    """`CAPABILITY` rules hold for agents that declare the capability; `ADVISORY` ones are good manners."""

    MANDATORY = "mandatory"
    CAPABILITY = "capability"
    ADVISORY = "advisory"


class Hindrance(Enum):
    """Why a rule was not run."""

    NOTHING_SEEN = "nothing of the kind came"
    NOT_DECLARED = "not declared"
    NEEDS_AUTHENTICATION = "needs authentication"
    BLOCKED = "something it builds on did not work"


@frozen
class Passed:
    came: str = ""


@frozen
class Failed:
    """`came` is what came instead of what was expected, shortened."""

    came: str


@frozen
class NotRun:
    why: Hindrance
    detail: str


Verdict = Passed | Failed | NotRun
Probe = Callable[["Lab"], Awaitable[Verdict]]


@frozen
class Rule:
    """`expects` says in a sentence what a good agent does; `page` is the page of the protocol's documentation.

    `needs` is the path of the capability below `agentCapabilities`, empty for rules that always hold.
    """

    id: str
    weight: Weight
    page: str
    expects: str
    probe: Probe
    needs: tuple[str, ...] = ()

    @property
    def area(self) -> str:
        return self.id.split("-")[1]


MANDATORY, CAPABILITY, ADVISORY = Weight.MANDATORY, Weight.CAPABILITY, Weight.ADVISORY
RULES: dict[str, Rule] = {}


def rule(id: str, weight: Weight, page: str, expects: str, needs: tuple[str, ...] = ()) -> Callable[[Probe], Probe]:
    """Registers a rule that does something with the agent and judges what comes."""

    def register(probe: Probe) -> Probe:
        assert id not in RULES, id
        RULES[id] = Rule(id, weight, page, expects, probe, needs)
        return probe

    return register


def watch(
    id: str, weight: Weight, page: str, expects: str, needs: tuple[str, ...] = ()
) -> Callable[[Callable[["Trace"], Verdict]], Callable[["Trace"], Verdict]]:
    """Registers a rule that judges all that came so far, in every run of the agent."""

    def register(judge: Callable[["Trace"], Verdict]) -> Callable[["Trace"], Verdict]:
        async def probe(lab: "Lab") -> Verdict:
            await lab.play_all()
            return judge(lab.trace())

        rule(id, weight, page, expects, needs)(probe)
        return judge

    return register


def verdict(problems: Iterable[str], seen: object, what: str) -> Verdict:
    """Failed with the first problems, passed where something was `seen`, else not run for want of `what`."""
    found = list(dict.fromkeys(problems))
    if found:
        more = f" (and {len(found) - 3} more)" if len(found) > 3 else ""
        return Failed("; ".join(found[:3]) + more)
    return Passed() if seen else NotRun(Hindrance.NOTHING_SEEN, f"the agent sent no {what}")
