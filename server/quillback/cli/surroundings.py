"""What commands share: the settings, a log that a person can read, the program's parts, and directories."""

import logging
import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from quillback.app import NOISY, App
from quillback.cli.clean import clean
from quillback.cli.exits import USAGE, CliError, complain
from quillback.config import LogLevel, Settings, load_settings
from quillback.core.ports import StoreError
from quillback.models import Models


class _CleanFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return clean(super().format(record))


def load(environ: Mapping[str, str] = os.environ) -> Settings:
    """The settings. The log is silent below errors unless another level is configured."""
    settings = load_settings(environ)
    quiet = settings.log_level is LogLevel.WARNING
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_CleanFormatter("quillback: %(message)s"))
    logging.basicConfig(handlers=[handler], level=logging.ERROR if quiet else settings.log_level.value.upper())
    for noisy in NOISY:
        logging.getLogger(noisy).setLevel(logging.WARNING)
    return settings


def refuse_wrong(settings: Settings, done: str = "run") -> None:
    """Nothing may run with settings that are not those the user meant. Raises CliError after naming what is wrong."""
    problems = (*settings.problems, *Models(settings).problems)
    for problem in problems:
        complain(problem)
    if problems:
        raise CliError(f"nothing was {done}; mend the settings above (quillback doctor shows all)", USAGE)


@asynccontextmanager
async def opened(settings: Settings) -> AsyncIterator[App]:
    """The program's parts, closed at the end. What the store says becomes a CliError."""
    app = App(settings)
    for problem in app.problems:
        complain(problem)
    try:
        try:
            yield app
        finally:
            await app.close()
    except StoreError as error:
        raise CliError(str(error)) from None


def directory(named: str | None) -> str:
    """The real path of the directory that was named, or of the current one. Raises CliError."""
    try:
        path = Path(named or ".").resolve()
        found = path.is_dir()
    except (OSError, RuntimeError, ValueError) as error:
        raise CliError(f"{named or 'the current directory'} cannot be used: {error}", USAGE) from None
    if not found:
        raise CliError(f"{path} is not a directory; --cwd needs one that exists", USAGE)
    return str(path)
