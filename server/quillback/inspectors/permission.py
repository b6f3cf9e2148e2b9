"""The permission inspector: what the user's rules, the session's mode and its roots say of a call."""

from collections.abc import Sequence
from pathlib import PurePath

from quillback.core.ports import Access, Inspection, Mode, Rule, RuleEffect
from quillback.core.secrets import looks_secret
from quillback.core.verdict import Allow, Ask, Deny, Verdict
from quillback.inspectors.judge import Judge
from quillback.inspectors.permission_rules import deciding

CHAT = "not run: the session is in chat mode, where no tool runs. Describe what you would do instead."
REJECTED_BY_ANSWER = "not run: the user chose to always reject this call"


class PermissionInspector:
    """`outputs` is where whole results of tools are kept, a folder for each session; a session may read its own.

    `rules` are those of the configuration. `judge` is asked in smart mode; without one the user is.
    """

    name = "permission"

    def __init__(self, outputs: str = "", rules: Sequence[Rule] = (), judge: Judge | None = None) -> None:
        self._outputs = outputs
        self._rules = tuple(rules)
        self._judge = judge

    async def inspect(self, inspection: Inspection) -> Verdict:
        if inspection.mode is Mode.CHAT:
            return Deny(CHAT)
        rule = deciding(inspection, self._rules)
        return await self._by_mode(inspection) if rule is None else _by_rule(rule)

    async def _by_mode(self, inspection: Inspection) -> Verdict:
        outside = outside_roots(inspection.access, inspection.roots)
        if outside and not self._own_output(inspection):
            return Ask(f"{outside} is outside the workspace")
        if inspection.mode is Mode.AUTO:
            return Allow()
        if inspection.spec.read_only:
            secret = next((p for p in inspection.access.reads if looks_secret(p)), "")
            return Ask(f"{secret} looks like it holds keys or passwords") if secret else Allow()
        if inspection.mode is Mode.SMART and self._judge is not None:
            return await self._judge.verdict(inspection)
        return Ask("")

    def _own_output(self, inspection: Inspection) -> bool:
        access = inspection.access
        own = str(PurePath(self._outputs) / inspection.session_id)
        return bool(self._outputs and access.reads and not access.writes) and not outside_roots(access, (own,))


def outside_roots(access: Access, roots: tuple[str, ...]) -> str:
    """The first real path of `access` that no root holds, or an empty string."""
    return next((p for p in (*access.reads, *access.writes) if not _inside(p, roots)), "")


def _by_rule(rule: Rule) -> Verdict:
    match rule.effect:
        case RuleEffect.ALLOW:
            return Allow(rule=rule.pattern)
        case RuleEffect.ASK:
            return Ask(f"the configuration says to ask about {rule.pattern}", rule=rule.pattern)
        case RuleEffect.REJECT:
            said = REJECTED_BY_ANSWER if rule.root else f"not run: the configuration denies {rule.pattern}"
            return Deny(said, rule=rule.pattern)


def _inside(path: str, roots: tuple[str, ...]) -> bool:
    return any(PurePath(path).is_relative_to(root) for root in roots)
