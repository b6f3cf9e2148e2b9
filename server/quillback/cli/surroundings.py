"""What commands share: the settings, a log that a person can read, the program's parts, and directories."""

import logging
import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from quillback.app import App, mask_of
from quillback.cli.clean import clean
from quillback.cli.exits import USAGE, CliError, complain
from quillback.config import LogLevel, Settings, load_settings
from quillback.core.ports import StoreError
from quillback.edge.guard import keep_private
from quillback.problems import problems_of
from quillback.serving import NOISY, MaskingFormatter


class WrongSettings(CliError):
    """`problems` have been told already."""

    def __init__(self, problems: tuple[str, ...], message: str) -> None:
        super().__init__(message, USAGE)
        self.problems = problems


class _CleanFormatter(MaskingFormatter):
    def format(self, record: logging.LogRecord) -> str:
        return clean(super().format(record))


def load(environ: Mapping[str, str] = os.environ) -> Settings:
    """The settings. The log is silent below errors unless another level is configured."""
    keep_private()
    settings = load_settings(environ)
    quiet = settings.log_level is LogLevel.WARNING
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_CleanFormatter(mask_of(settings), "quillback: %(message)s"))
    logging.basicConfig(handlers=[handler], level=logging.ERROR if quiet else settings.log_level.value.upper())
    for noisy in NOISY:
        logging.getLogger(noisy).setLevel(logging.WARNING)
    return settings


def refuse_wrong(settings: Settings, done: str = "run") -> None:
    """Nothing may run with settings that are not those the user meant. Raises CliError after naming what is wrong."""
    for warning in settings.warnings:
        complain(warning)
    problems = problems_of(settings)
    for problem in problems:
        complain(problem)
    if problems:
        raise WrongSettings(problems, f"nothing was {done}; mend the settings above (quillback doctor shows all)")


@asynccontextmanager
async def opened(settings: Settings) -> AsyncIterator[App]:
    """The program's parts, closed at the end. What the store says becomes a CliError."""
    app = App(settings, warm=False)  # a prompt follows at once, or no request at all
    for problem in app.problems:
        complain(problem)
    try:
        try:
            yield app
        finally:
            await app.close()
    except StoreError as error:
        raise CliError(str(error)) from None


def directory(named: str | None, option: str = "--cwd") -> str:
    """The real path of the directory that was named by `option`, or of the current one. Raises CliError."""
    try:
        path = Path(named or ".").resolve()
        found = path.is_dir()
    except (OSError, RuntimeError, ValueError) as error:
        raise CliError(f"{named or 'the current directory'} cannot be used: {error}", USAGE) from None
    if not found:
        needs = f"; {option} needs one that exists" if option else ""
        raise CliError(f"{path} is not a directory{needs}", USAGE)
    return str(path)
