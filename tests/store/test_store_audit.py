"""Decisions come back exactly, in order, and go with their session."""

from pathlib import Path

import aiosqlite
import pytest

from quillback.core.audit import AuditRecord, DecidedBy, Decision, Finding
from quillback.core.ports import Mode, StoreError
from quillback.core.verdict import Allow, Ask, Deny
from quillback.store.migrations import m001_initial
from support.stores import opened, query

pytestmark = pytest.mark.anyio

FINDINGS = (
    Finding("security", Allow(), 0.5),
    Finding("egress", Allow(details=("https://example.org",)), 0.25),
    Finding("permission", Ask("odd \ud800", rule="shell"), 12.5),
    Finding("other", Deny("no"), 1.0),
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "q.db"


def decision(call_id: str, session_id: str = "s1", **more) -> AuditRecord:
    plain = {"tool": "shell", "arguments": "{}", "decision": Decision.ALLOW, "decided_by": DecidedBy.USER}
    return AuditRecord(session_id, call_id, **{**plain, "findings": (), "mode": Mode.APPROVE, "at": 5, **more})


async def test_a_decision_comes_back(path):
    full = decision("c1", findings=FINDINGS, decision=Decision.DENY, decided_by=DecidedBy.RULE, mode=Mode.SMART)
    async with opened(path, "s1") as store:
        store.audit(full)
        store.audit(decision("c0", at=1))
        await store.flush()
    async with opened(path) as store:
        first, second = await store.audits("s1")
        assert (first.decision, first.decided_by, first.mode) == (Decision.DENY, DecidedBy.RULE, Mode.SMART)
        assert [f.milliseconds for f in first.findings] == [0.5, 0.25, 12.5, 1.0]
        assert [f.verdict for f in first.findings][:2] == [f.verdict for f in FINDINGS][:2]
        assert first.findings[2].verdict == Ask("odd \ufffd", rule="shell")
        assert second.call_id == "c0"


async def test_decisions_go_with_their_session_and_need_one(path):
    async with opened(path, "s1", "s2") as store:
        for session in ("s1", "s2", "gone"):
            store.audit(decision("c1", session))
        await store.flush()
        await store.delete_session("s1")
        assert await store.audits("s1") == await store.audits("gone") == []
        assert len(await store.audits("s2")) == 1
        assert query(path, "SELECT count(*) FROM audit") == [(1,)]


async def test_one_that_cannot_be_read_is_an_error(path):
    async with opened(path, "s1") as store:
        store.audit(decision("c1"))
        await store.flush()
        query(path, "UPDATE audit SET body = '{}'")
        with pytest.raises(StoreError, match="audit of session s1"):
            await store.audits("s1")


async def test_a_database_of_the_first_version_gets_the_table(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    async with aiosqlite.connect(path) as db:
        await m001_initial(db)
        await db.execute("PRAGMA user_version = 1")
        await db.commit()
    async with opened(path, "s1") as store:
        store.audit(decision("c1"))
        assert [d.call_id for d in await store.audits("s1")] == ["c1"]
