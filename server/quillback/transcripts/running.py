"""Runs one transcript file against an agent, whichever way the agent is reached."""

import sys
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

from attrs import frozen

from quillback.transcripts.document import Transcript
from quillback.transcripts.link import Link, spawned
from quillback.transcripts.place import Place, placed
from quillback.transcripts.reporting import report
from quillback.transcripts.runner import SECONDS, Failed, Runner, tasks_of
from quillback.transcripts.updating import Updater

OWN = (sys.executable, "-m", "quillback", "acp")


@frozen
class How:
    """`agent` is a command, empty for Quillback itself; `inside` runs that in this process. `cwd` is a workspace to
    use in place of a new one. `seconds` is how long to wait for something to come."""

    agent: tuple[str, ...] = ()
    inside: bool = False
    cwd: Path | None = None
    seconds: float = SECONDS


async def run(transcript: Transcript, how: How) -> str:
    """What is wrong, with the place in the file; empty if all is as it should be. Raises OSError where the agent
    cannot be started."""
    async with _runner(transcript, how) as runner:
        try:
            await runner.run(list(tasks_of(transcript)))
        except Failed as failed:
            problem = failed.problem
        else:
            return ""
    return report(problem, transcript.place, len(transcript.lines), runner.names, runner.link.told)


async def update(transcript: Transcript, how: How) -> tuple[str, str]:
    """The text of the file with what came in place of what was expected; and what could not be mended, like `run`."""
    async with _runner(transcript, how) as runner:
        updater = Updater(transcript, runner)
        try:
            await updater.run()
        except Failed as failed:
            problem = failed.problem
        else:
            return updater.text(), ""
    return updater.text(), report(problem, transcript.place, len(transcript.lines), runner.names, runner.link.told)


@asynccontextmanager
async def _runner(transcript: Transcript, how: How) -> AsyncIterator[Runner]:
    with placed(transcript, how.cwd) as place:
        async with _linked(transcript, place, how) as link:
            yield Runner(link, place, how.seconds)


def _linked(transcript: Transcript, place: Place, how: How) -> AbstractAsyncContextManager[Link]:
    if how.agent:
        return spawned(how.agent, None, place.foreign_environment(transcript))
    if how.inside:
        from quillback.config import load_settings
        from quillback.transcripts.in_process import in_process  # takes a while to import

        return in_process(load_settings(place.own_environment()))
    return spawned(OWN, place.workspace, place.own_environment())
