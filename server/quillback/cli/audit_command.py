"""`quillback audit`: every decision about a session's tool calls, with what each inspector said of it."""

import asyncio
import json
from argparse import Namespace
from datetime import datetime

from quillback.cli.clean import one_line
from quillback.cli.exits import DONE
from quillback.cli.find_session import find
from quillback.cli.json_view import to_json
from quillback.cli.screen import Screen, open_screen
from quillback.cli.sessions_command import existing
from quillback.cli.surroundings import load
from quillback.config import Settings
from quillback.core.audit import AuditRecord, DecidedBy, Decision, Finding
from quillback.core.verdict import Allow, Ask, Deny

STDOUT = 1
ARGUMENTS = 160
WHO = {
    DecidedBy.INSPECTORS: "by the inspectors",
    DecidedBy.RULE: "by a rule of the user",
    DecidedBy.USER: "by the user",
}

UNASKED = "since nobody was there to ask"


def audit(options: Namespace) -> int:
    return asyncio.run(_audit(load(), options))


async def _audit(settings: Settings, options: Namespace) -> int:
    async with existing(settings) as app:
        record = await find(app.store, options.id)
        decisions = await app.store.audits(record.id)
    if options.json:
        print(json.dumps([_plain(d) for d in decisions], ensure_ascii=False, indent=2))
        return DONE
    screen = open_screen(STDOUT)
    for decision in decisions:
        _write(screen, decision)
    if not decisions:
        screen.line("nothing was decided in this session")
    await screen.flush()
    return DONE


def _write(screen: Screen, record: AuditRecord) -> None:
    allowed = record.decision is Decision.ALLOW
    time = datetime.fromtimestamp(record.at / 1000).strftime("%Y-%m-%d %H:%M:%S")
    screen.write(f"{time}  ", "dim")
    screen.write("allowed" if allowed else "not run" if _unasked(record) else "denied", "green" if allowed else "red")
    who = UNASKED if _unasked(record) else WHO[record.decided_by]
    screen.line(f" {who}: {one_line(record.tool)} {one_line(record.arguments, ARGUMENTS)}")
    for finding in record.findings:
        screen.line(f"    {_said(finding)}", "dim")


def _unasked(record: AuditRecord) -> bool:
    """Inspectors who only asked have decided nothing: their question reached nobody."""
    nobody = record.decision is Decision.DENY and record.decided_by is DecidedBy.INSPECTORS
    return nobody and not any(isinstance(finding.verdict, Deny) for finding in record.findings)


def _said(finding: Finding) -> str:
    verdict = finding.verdict
    reason = "" if isinstance(verdict, Allow) else verdict.reason
    notes = [reason, verdict.rule and f"rule {verdict.rule}", *verdict.details]
    text = "; ".join(one_line(note) for note in notes if note)
    took = f"{finding.milliseconds:.1f} ms"
    return f"{one_line(finding.inspector)}: {_word(finding)}{f' ({text})' if text else ''}, {took}"


def _word(finding: Finding) -> str:
    match finding.verdict:
        case Allow():
            return "allow"
        case Ask():
            return "ask"
        case Deny():
            return "deny"


def _plain(record: AuditRecord) -> object:
    """As `_quillback/audit` has it, with names in snake_case."""
    findings = [
        {
            "inspector": f.inspector,
            "verdict": _word(f),
            "reason": "" if isinstance(f.verdict, Allow) else f.verdict.reason,
            "rule": f.verdict.rule,
            "details": list(f.verdict.details),
            "milliseconds": round(f.milliseconds, 3),
        }
        for f in record.findings
    ]
    whole = to_json(record)
    return {**whole, "findings": findings} if isinstance(whole, dict) else whole
