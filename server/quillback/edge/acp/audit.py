"""_quillback/audit: every decision about the calls of a stored session."""

from quillback.core.audit import AuditRecord, Finding
from quillback.core.ports import StoreError
from quillback.core.verdict import Allow, Ask, Deny
from quillback.edge.connection import Connection, unknown_session
from quillback.session.registry import UnknownSessionError
from quillback_protocol.extensions import AuditEntry, AuditFinding, AuditRequest, AuditResponse
from quillback_protocol.jsonrpc import INTERNAL_ERROR, RpcError


async def handle(connection: Connection, request: AuditRequest) -> AuditResponse:
    try:
        records = await connection.sessions.audits(request.session_id)
    except UnknownSessionError as error:
        raise unknown_session(error.session_id, "stored") from None
    except StoreError as error:
        raise RpcError(INTERNAL_ERROR, str(error)) from None
    return AuditResponse(tuple(map(_entry, records)))


def _entry(record: AuditRecord) -> AuditEntry:
    return AuditEntry(
        tool_call_id=record.call_id,
        tool=record.tool,
        arguments=record.arguments,
        decision=record.decision.value,
        decided_by=record.decided_by.value,
        mode=record.mode.value,
        at=record.at,
        findings=tuple(map(_finding, record.findings)),
    )


def _finding(finding: Finding) -> AuditFinding:
    verdict = finding.verdict
    match verdict:
        case Allow():
            said, reason = "allow", ""
        case Ask(reason=reason):
            said = "ask"
        case Deny(reason=reason):
            said = "deny"
    took = round(finding.milliseconds, 3)
    return AuditFinding(finding.inspector, said, reason, took, verdict.rule or None, verdict.details)
