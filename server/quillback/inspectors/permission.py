"""The permission inspector: what the session's mode, its roots and the user's stored answers say of a call."""

from pathlib import PurePath

from quillback.core.ports import Access, Inspection, Mode, RuleEffect
from quillback.core.rules import matching
from quillback.core.secrets import looks_secret
from quillback.core.verdict import Allow, Ask, Deny, Verdict

CHAT = "not run: the session is in chat mode, where no tool runs. Describe what you would do instead."


class PermissionInspector:
    """`outputs` is where whole results of tools are kept, a folder for each session; a session may read its own."""

    name = "permission"

    def __init__(self, outputs: str = "") -> None:
        self._outputs = outputs

    async def inspect(self, inspection: Inspection) -> Verdict:
        if inspection.mode is Mode.CHAT:
            return Deny(CHAT)
        match matching(inspection.rules, inspection.call, inspection.access):
            case RuleEffect.REJECT:
                return Deny("not run: the user chose to always reject this call")
            case RuleEffect.ALLOW:
                return Allow()
            case None:
                return self._by_mode(inspection)

    def _by_mode(self, inspection: Inspection) -> Verdict:
        outside = outside_roots(inspection.access, inspection.roots)
        if outside and not self._own_output(inspection):
            return Ask(f"{outside} is outside the workspace")
        if inspection.mode is Mode.AUTO:
            return Allow()
        if not inspection.spec.read_only:
            return Ask("")
        secret = next((p for p in inspection.access.reads if looks_secret(p)), "")
        return Ask(f"{secret} looks like it holds credentials") if secret else Allow()

    def _own_output(self, inspection: Inspection) -> bool:
        access = inspection.access
        own = str(PurePath(self._outputs) / inspection.session_id)
        return bool(self._outputs and access.reads and not access.writes) and not outside_roots(access, (own,))


def outside_roots(access: Access, roots: tuple[str, ...]) -> str:
    """The first real path of `access` that no root holds, or an empty string."""
    return next((p for p in (*access.reads, *access.writes) if not _inside(p, roots)), "")


def _inside(path: str, roots: tuple[str, ...]) -> bool:
    return any(PurePath(path).is_relative_to(root) for root in roots)
