"""The port to the store: sessions, their streams, rules and decisions on disk. `store` implements it."""

from typing import Protocol

from attrs import frozen

from quillback.core.audit import AuditRecord
from quillback.core.event import Grown
from quillback.core.message import Message
from quillback.core.model import Thinking
from quillback.core.rules import Mode, Rule
from quillback.core.undo import Originals


@frozen
class SessionRecord:
    """A session's row. Times are milliseconds since the epoch; `cost` is US dollars. `parent` is the id of the session
    that a subagent works for, empty for every other session."""

    id: str
    cwd: str
    roots: tuple[str, ...]
    mode: Mode
    model: str
    thinking: Thinking
    created_at: int
    updated_at: int
    title: str = ""
    cost: float = 0.0
    parent: str = ""


class StoreError(Exception):
    """The store could not do it; the text names the file and what to do."""


class SessionBusyError(StoreError):
    """Another live process owns the session."""


class Store(Protocol):
    """Sessions on disk. `put`, `journal`, `drop` and `audit` only enqueue, in order; `flush` waits for all of it.

    What could not be written stays enqueued and is tried again by the next flush.
    """

    @property
    def originals(self) -> Originals:
        """What files held before they were changed. It goes with its session."""
        ...

    async def create_session(self, record: SessionRecord) -> None: ...

    async def session(self, session_id: str) -> SessionRecord | None: ...

    async def sessions(
        self,
        *,
        cwd: str | None = None,
        before: tuple[int, str] | None = None,
        limit: int = 50,
        subagents: bool = False,
    ) -> list[SessionRecord]:
        """Newest first by (updated_at, id), strictly below `before`; those of subagents only where asked for."""
        ...

    async def delete_session(self, session_id: str) -> None:
        """Forget it, its messages and the sessions of its subagents; unknown ids are no error."""
        ...

    def save_session(self, record: SessionRecord) -> None: ...

    async def acquire(self, session_id: str) -> None:
        """Become the session's one owner. Raises SessionBusyError while another live process owns it."""
        ...

    async def release(self, session_id: str) -> None: ...

    async def messages(self, session_id: str) -> list[Message]:
        """The stream in `seq` order, queued prompts last. What a killed process left streaming is folded from its
        journal and comes back, and is stored, as interrupted."""
        ...

    def put(self, message: Message) -> None:
        """Insert or replace a message. A state other than streaming also removes its journal."""
        ...

    def journal(self, event: Grown) -> None: ...

    def drop(self, message_id: str) -> None: ...

    async def flush(self) -> None:
        """Raises StoreError naming what is not saved."""
        ...

    async def rules(self, root: str) -> list[Rule]: ...

    async def add_rule(self, rule: Rule) -> None: ...

    async def all_rules(self) -> list[tuple[int, Rule]]:
        """The rules of all roots, oldest first, each with a number that stays its own while it is stored."""
        ...

    async def delete_rule(self, number: int) -> bool:
        """False if no rule has the number."""
        ...

    def audit(self, record: AuditRecord) -> None:
        """Enqueue a decision. It goes with its session."""
        ...

    async def audits(self, session_id: str) -> list[AuditRecord]:
        """The decisions of a session in the order in which they were made."""
        ...

    async def close(self) -> None: ...
