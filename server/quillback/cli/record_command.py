"""`quillback record`: what an editor starts in place of an agent, to have a transcript of the session."""

from argparse import Namespace
from pathlib import Path

from quillback.cli.exits import USAGE, CliError
from quillback.transcripts.proxy import end_like
from quillback.transcripts.proxy import record as record_session


def record(options: Namespace) -> int:
    """The exit code of the agent."""
    if not options.agent:
        raise CliError("say which agent: quillback record FILE -- AGENT CMD", USAGE)
    try:
        code = record_session(Path(options.file), options.agent)
    except OSError as error:
        raise CliError(f"{options.agent[0]}: {error.strerror or error}", USAGE) from None
    return end_like(code)
