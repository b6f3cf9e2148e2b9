"""The port to the small model, which inspectors ask about a call."""

from typing import Protocol


class SideModelError(Exception):
    """There is no usable answer; the text says why, in a few words. `cost` is US dollars, as far as it is known."""

    def __init__(self, message: str, cost: float = 0.0) -> None:
        super().__init__(message)
        self.cost = cost


class SideModel(Protocol):
    """The small model, asked about something beside the session: no tools, no history, no trace in the stream."""

    async def ask(self, system: str, user: str) -> str:
        """The text of its answer, which came within a time limit and is whole. Raises SideModelError."""
        ...
