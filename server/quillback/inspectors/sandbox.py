"""The sandbox inspector: what leaves the sandbox, or runs without a configured one, is the user's decision."""

from quillback.core.ports import Inspection
from quillback.core.verdict import Allow, Ask, Verdict


class SandboxInspector:
    name = "sandbox"

    async def inspect(self, inspection: Inspection) -> Verdict:
        """Asks in every mode, whatever was allowed for good before."""
        escalation = inspection.access.escalation
        return Ask(escalation) if escalation else Allow()
