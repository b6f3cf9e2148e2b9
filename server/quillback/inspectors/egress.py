"""The egress inspector: which hosts a call would connect to, and whether the user's rules let it."""

import fnmatch
from collections.abc import Iterator, Mapping

from attrs import frozen

from quillback.core.message import ToolKind
from quillback.core.ports import Inspection
from quillback.core.verdict import Allow, Ask, Deny, Verdict, merge
from quillback.inspectors.egress_hosts import ANYWHERE, host, script_destinations, text_destinations
from quillback.inspectors.net_targets import Reach, check_address
from quillback.inspectors.shell_syntax import parse
from quillback.inspectors.tool_lines import LINES_LIMIT, shell_lines

_HOST_KEYS = frozenset({"url", "uri", "urls", "host", "hostname", "server", "endpoint", "domain", "address", "href"})


@frozen
class EgressPolicy:
    """Which destinations are allowed. `allow` and `deny` are host patterns with wild cards; a denial wins.

    `*.example.com` covers example.com too. Besides hosts there are `registry:npm`, `git:origin`, `s3://bucket`,
    `cloud:aws` and the like. `default` (allow, ask or deny) is for what no pattern names; it does not speak of this
    very machine.
    """

    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    default: str = "allow"

    def verdict(self, destination: str) -> Verdict:
        if destination == ANYWHERE:
            open_to_all = self.default == "allow" and not self.deny
            return Allow() if open_to_all else Ask("it connects to a host that is not known beforehand")
        if _named(destination, self.deny):
            return Deny(f"not run: the egress rules deny {destination}")
        if self.default == "allow" or _named(destination, self.allow) or _here(destination):
            return Allow()
        if self.default == "deny":
            return Deny(f"not run: the egress rules do not allow {destination}")
        return Ask(f"it connects to {destination}")


class EgressInspector:
    """Judges the destinations that can be seen in a call; what a program connects to by itself only a sandbox stops."""

    name = "egress"

    def __init__(self, policy: EgressPolicy | None = None) -> None:
        self._policy = policy or EgressPolicy()

    async def inspect(self, inspection: Inspection) -> Verdict:
        """What is allowed is recorded all the same: the audit has the destinations."""
        found = destinations(inspection)
        verdict = merge(self._policy.verdict(d) for d in found) if found else Allow()
        return Allow(details=found) if isinstance(verdict, Allow) else verdict


def destinations(inspection: Inspection) -> tuple[str, ...]:
    """Where a call would connect to, in order and once each: hosts in plain spelling, or `?` for one not known.

    Pure, so that whoever keeps records of calls can ask too.
    """
    lines = shell_lines(inspection)
    found = [place for line in lines[:LINES_LIMIT] for place in script_destinations(parse(line))]
    found += [ANYWHERE] if len(lines) > LINES_LIMIT else []
    access = inspection.access
    if not (access.command or access.reads or access.writes) and inspection.spec.kind is not ToolKind.THINK:
        found += _in_arguments(inspection.call.input)
    return tuple(dict.fromkeys(found))


def _in_arguments(arguments: Mapping[str, object]) -> Iterator[str]:
    """The destinations in the arguments of a call that runs no command line."""
    waiting: list[tuple[str, object]] = [("", arguments)]
    while waiting:
        key, value = waiting.pop(0)
        if isinstance(value, str):
            yield from text_destinations(value)
            if key.lower() in _HOST_KEYS and "://" not in value and value and not any(c.isspace() for c in value):
                yield host(value)
        elif isinstance(value, Mapping):
            waiting += [(str(k), v) for k, v in value.items()]
        elif isinstance(value, list | tuple):
            waiting += [(key, item) for item in value]


def _named(destination: str, patterns: tuple[str, ...]) -> bool:
    names = (destination, f".{destination}")
    return any(fnmatch.fnmatchcase(name, p.lower()) for p in patterns for name in names[: 2 if p[:2] == "*." else 1])


def _here(destination: str) -> bool:
    return "://" not in destination and check_address(destination) is Reach.LOOPBACK
