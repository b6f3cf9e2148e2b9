"""`quillback trust`: shows what a directory's own settings would do, and lets them or not."""

import os
import sys
from argparse import Namespace
from datetime import datetime
from pathlib import Path

from quillback.cli.by_agent import refuse_to_agents
from quillback.cli.clean import one_line
from quillback.cli.exits import CANCELLED, DONE, FAILED, USAGE, CliError, complain
from quillback.cli.surroundings import directory
from quillback.config import load_settings
from quillback.project_tools import effects
from quillback.trust import Project, Standing, Trust, TrustError, trust_of


def trust(options: Namespace) -> int:
    """Raises CliError."""
    decisions = trust_of(load_settings(os.environ))
    try:
        if options.list:
            return _list(decisions, options)
        refuse_to_agents("what is trusted")
        if options.revoke:
            return _revoke(decisions, options.directory)
        return _trust(decisions, decisions.look(Path(directory(options.directory, ""))), sure=options.yes)
    except TrustError as error:
        raise CliError(str(error)) from None


def _list(decisions: Trust, options: Namespace) -> int:
    if options.directory or options.revoke:
        raise CliError("--list goes alone", USAGE)
    trusted = decisions.decisions()
    for root, decision in trusted.items():
        state = "" if decisions.look(Path(root)).standing is Standing.TRUSTED else "  (changed or gone: without effect)"
        print(f"{datetime.fromtimestamp(decision.when / 1000):%Y-%m-%d}  {one_line(root)}{state}")
    if not trusted:
        print("no directory is trusted")
    return DONE


def _revoke(decisions: Trust, named: str | None) -> int:
    """The directory need not be there any more."""
    path = Path(named or ".").absolute()
    if not decisions.revoke(path):
        complain(f"{path} was not trusted")
        return FAILED
    print(f"{one_line(str(path))} is trusted no longer; sessions that are open keep what they started", file=sys.stderr)
    return DONE


def _trust(decisions: Trust, project: Project, *, sure: bool) -> int:
    for problem in project.files.settings.problems:
        complain(problem)
    match project.standing:
        case Standing.EMPTY:
            print(f"{one_line(project.root)} has no settings that would have an effect")
            return DONE
        case Standing.UNFIT:
            raise CliError(f"{project.root} cannot be trusted: {project.problem}")
        case Standing.TRUSTED:
            _show(project, "is trusted; sessions there")
            return DONE
        case Standing.NEW | Standing.CHANGED:
            _show(project, "asks for this; once it is trusted, sessions there")
    if not sure and not _confirmed():
        complain("nothing is trusted")
        return CANCELLED
    decisions.grant(project)
    print("The files are trusted as they are now; a change of one of them asks again.", file=sys.stderr)
    return DONE


def _show(project: Project, what: str) -> None:
    print(f"{one_line(project.root)} {what}")
    for line in effects(project.files.settings):
        print(f"  {line}")
    print("Files:")
    for name in sorted({*project.files.digests, *project.changed}):
        gone = "" if name in project.files.digests else " and is gone"
        note = f"  (changed since it was trusted{gone})" if name in project.changed else ""
        print(f"  {one_line(name)}{note}")


def _confirmed() -> bool:
    if not (sys.stdin and sys.stdin.isatty()):
        raise CliError("there is no terminal to ask; add --yes to trust without a question", USAGE)
    print("MCP servers run with your rights. Trust these files? y or N: ", end="", flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")
