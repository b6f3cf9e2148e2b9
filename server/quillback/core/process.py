"""The port that runs a command of the user's own configuration: a hook, or a check of a recipe."""

from collections.abc import Mapping
from typing import Protocol

from attrs import frozen


@frozen
class Ran:
    """How a command ended. `code` is its exit code, negative for a signal's number; None when it ran out of time or
    could not be started (then `problem` says why). `out` and `err` are bounded, head and tail kept."""

    code: int | None
    out: str = ""
    err: str = ""
    problem: str = ""


class RunCommand(Protocol):
    async def __call__(
        self, command: str, *, cwd: str, stdin: str = "", env: Mapping[str, str] | None = None, seconds: float
    ) -> Ran:
        """Run `command` in a shell of its own process group, with `env` added to the cleaned environment.

        Never raises for what the command does. Ending the time or cancelling ends it and all it started.
        """
        ...
