"""Runs the inspectors one after the other; what any of them says can only make the verdict stricter."""

import asyncio
import logging
from collections.abc import Sequence
from time import perf_counter

from attrs import evolve

from quillback.core.audit import Finding
from quillback.core.ports import Inspection, Inspector
from quillback.core.verdict import Allow, Ask, Deny, Verdict, merge

INSPECTOR_SECONDS = 30.0
log = logging.getLogger(__name__)


async def inspect(inspection: Inspection, inspectors: Sequence[Inspector]) -> tuple[Verdict, tuple[Finding, ...]]:
    """The merged verdict and what each inspector said. One that fails, hangs or talks nonsense counts as Ask."""
    findings: list[Finding] = []
    for inspector in inspectors:
        so_far = merge(f.verdict for f in findings) if findings else Allow()
        began = perf_counter()
        verdict = await _one(evolve(inspection, so_far=so_far), inspector)
        findings.append(Finding(inspector.name, verdict, (perf_counter() - began) * 1000))
    return merge(f.verdict for f in findings), tuple(findings)


async def _one(inspection: Inspection, inspector: Inspector) -> Verdict:
    try:
        async with asyncio.timeout(INSPECTOR_SECONDS):
            verdict: object = await inspector.inspect(inspection)
    except TimeoutError:
        return Ask(f"the {inspector.name} inspector did not answer in time")
    except Exception:
        log.exception("the %s inspector failed", inspector.name)
        return Ask(f"the {inspector.name} inspector failed")
    if isinstance(verdict, Allow | Ask | Deny):
        return verdict
    return Ask(f"the {inspector.name} inspector gave no verdict")
