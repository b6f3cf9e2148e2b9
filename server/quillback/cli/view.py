"""What a command that runs a turn tells of it; `render` shows it to people, `json_view` to programs."""

from typing import Protocol

from quillback.core.event import Event
from quillback.core.message import Message, MessageState
from quillback.core.ports import Choice, PermissionAsk, SessionRecord


class View(Protocol):
    def opened(self, record: SessionRecord) -> None:
        """The turn will run in this session."""
        ...

    def show(self, event: Event) -> None: ...

    def asked(self, ask: PermissionAsk) -> None:
        """A permission question is about to be answered."""
        ...

    def asked_elsewhere(self, ask: PermissionAsk) -> None:
        """The person sees the question, its diffs and its answer on another screen."""
        ...

    def answered(self, ask: PermissionAsk, choice: Choice, note: str) -> None:
        """`note` says who answered; empty for the person at the terminal."""
        ...

    def failed(self, message: str) -> None:
        """The command fails, with a reason that no event of the turn told."""
        ...

    async def flush(self) -> None:
        """Raises BrokenPipeError when nobody reads any more."""
        ...

    def hurry(self) -> None:
        """The command is ending: do not wait long for a slow reader any more."""
        ...


def prompt_marks(message: Message) -> str:
    """In brackets, what is to be known of a prompt besides its words; empty for nothing."""
    marks = ["steered"] * message.steered + ["not run"] * (message.state is MessageState.NOT_RUN)
    return f"({', '.join(marks)})" if marks else ""
