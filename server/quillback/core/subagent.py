"""The port to subagents: a task that a session of its own works on, beside the one that asked."""

from collections.abc import AsyncGenerator
from typing import Protocol

from attrs import frozen

from quillback.core.ports import ToolOutcome, ToolProgress


@frozen
class Task:
    """`tools` are the names that the subagent may use; None for all that its parent has, less those no subagent has."""

    call_id: str
    text: str
    tools: tuple[str, ...] | None = None


class Subagents(Protocol):
    def run(self, task: Task) -> AsyncGenerator[ToolProgress | ToolOutcome, None]:
        """Work on `task`: what can be seen of it as it goes on, then its outcome, which carries its cost. The text of
        the outcome is not bounded; what it shows is what the subagent did, without that text.

        Cancelling or closing it cancels the subagent. Raises ToolError when it cannot begin.
        """
        ...
