"""The port to prompts that the session's servers offer; the user calls them as slash commands."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from attrs import frozen

from quillback.core.message import Part


class PromptError(Exception):
    """The prompt could not be had; the text is for the user."""


@frozen
class PromptArgument:
    name: str
    description: str = ""
    required: bool = False


class Prompt(Protocol):
    """A text that a server makes of some arguments. `name` is `server:prompt`, fit for a command."""

    @property
    def name(self) -> str: ...

    @property
    def description(self) -> str: ...

    @property
    def arguments(self) -> tuple[PromptArgument, ...]:
        """In the order in which they are given."""
        ...

    async def parts(self, values: Mapping[str, str]) -> tuple[Part, ...]:
        """What to say to the model, with `values` by the names of arguments. Ends within 30 s. Raises PromptError."""
        ...


class PromptSource(Protocol):
    """Prompts may come and go at any time."""

    def prompts(self) -> Sequence[Prompt]:
        """Those there are now."""
        ...

    def on_prompts(self, changed: Callable[[], None]) -> None:
        """Have `changed` called, on the loop, whenever `prompts` may have become another list."""
        ...


class NoPrompts:
    """For what never has any."""

    def prompts(self) -> Sequence[Prompt]:
        return ()

    def on_prompts(self, changed: Callable[[], None]) -> None:
        pass
