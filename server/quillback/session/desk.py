"""What slash commands may see of a session and do with it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from quillback.core.audit import AuditRecord
from quillback.core.compaction import context_size
from quillback.core.event import SettingsChanged
from quillback.core.model import Model, ProviderError
from quillback.core.ports import Mode, SessionRecord, StoreError
from quillback.core.undo import UndoReport
from quillback.session.fork import fork_stored
from quillback.session.services import Services
from quillback.session.undo import prompt_text

if TYPE_CHECKING:
    from quillback.session.session import Session


class SessionDesk:
    """Implements `core.commands.Desk`."""

    def __init__(self, session: "Session", services: Services) -> None:
        self._session = session
        self._services = services

    @property
    def record(self) -> SessionRecord:
        return self._session.record

    @property
    def model(self) -> Model:
        return self._session.model

    @property
    def context_used(self) -> int:
        return context_size(self._session.history, self._services.system(self.record), ())

    def models(self) -> Sequence[str]:
        return self._services.models()

    def set_mode(self, mode: Mode) -> None:
        self._session.set_mode(mode)
        self._session.tell(SettingsChanged())

    def set_model(self, model: str) -> None:
        try:
            self._services.provider(self._services.model(model))
        except ProviderError as error:
            raise ValueError(error.message) from None
        self._session.set_model(model)
        self._session.tell(SettingsChanged())

    async def audits(self) -> Sequence[AuditRecord]:
        try:
            return await self._services.store.audits(self.record.id)
        except StoreError as error:
            raise ValueError(str(error)) from None

    async def undo(self) -> tuple[UndoReport, str]:
        session = self._session
        try:
            report = await session.undo_files(for_user=False)
            return report, prompt_text(session.history, report)
        except StoreError as error:
            raise ValueError(str(error)) from None

    async def fork(self) -> str:
        try:
            stream = await self._services.store.messages(self.record.id)
            return (await fork_stored(self._services, self.record, stream)).id
        except StoreError as error:
            raise ValueError(str(error)) from None
