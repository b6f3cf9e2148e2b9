"""What the commands of an agent may not do: decide for the user."""

import os

from quillback.cli.exits import CliError

MARK = "QUILLBACK_COMMAND"
"""What every command of an agent has in its environment."""


def refuse_to_agents(what: str) -> None:
    """Raises CliError where a command of an agent started this program."""
    if os.environ.get(MARK):
        raise CliError(f"{what} is for the user to decide: a command that an agent runs cannot do it")
