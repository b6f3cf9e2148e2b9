"""A desk for slash commands under test."""

from collections.abc import Sequence

from attrs import define, evolve, field

from quillback.core.audit import AuditRecord
from quillback.core.model import Model, Thinking
from quillback.core.ports import Mode, SessionRecord
from quillback.core.undo import UndoReport
from support.replies import MODEL

RECORD = SessionRecord("s1", "/w", ("/w",), Mode.APPROVE, "m1", Thinking.OFF, 0, 0, cost=0.12345)


@define
class FakeDesk:
    """`problem` is raised by what can fail."""

    record: SessionRecord = RECORD
    model: Model = field(factory=lambda: evolve(MODEL, id="m1", context_window=1_000))
    context_used: int = 250
    known: Sequence[str] = ("m1", "Big-Model-2")
    decisions: Sequence[AuditRecord] = ()
    report: UndoReport = field(factory=lambda: UndoReport(""))
    problem: str = ""

    def models(self) -> Sequence[str]:
        return self.known

    def set_mode(self, mode: Mode) -> None:
        self._fail()
        self.record = evolve(self.record, mode=mode)

    def set_model(self, model: str) -> None:
        self._fail()
        self.record = evolve(self.record, model=model)

    async def audits(self) -> Sequence[AuditRecord]:
        self._fail()
        return self.decisions

    async def undo(self) -> tuple[UndoReport, str]:
        self._fail()
        return self.report, "Change it"

    async def fork(self) -> str:
        self._fail()
        return "sess_fork"

    def _fail(self) -> None:
        if self.problem:
            raise ValueError(self.problem)
