"""The port to the small model, which inspectors ask about a call."""

from typing import Protocol


class SideModelError(Exception):
    """There is no usable answer; the text says why, in a few words."""


class SideModel(Protocol):
    """The small model, asked about something beside the session: no tools, no history, no trace in the stream."""

    async def ask(self, system: str, user: str) -> str:
        """The text of its answer, which came within a time limit and is whole. Raises SideModelError."""
        ...
