"""`quillback check`: see whether an agent speaks ACP as it should."""

import asyncio
import json
import shutil
import sys
import tempfile
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from quillback.cli.clean import clean
from quillback.cli.exits import DONE, FAILED, NO_CREDENTIALS, USAGE, CliError, complain
from quillback.conformance.lab import LONG_PROMPT, PROMPT, Lab, Options
from quillback.conformance.report import BREAKS, CONFORMS, as_json, line, listing, needs_login, result, summary
from quillback.conformance.rule import Rule
from quillback.conformance.runner import Outcome, chosen, run

NOTES = "hello\n"


def check(options: Namespace) -> int:
    """0 no rule that counts is broken, 1 some are or could not be run, 2 usage, 4 the agent needs authentication."""
    if options.list:
        print(listing())
        return DONE
    rules = _rules(options)
    if not options.agent:
        raise CliError("name the command of an agent, such as `quillback check -- quillback acp`", USAGE)
    with _workspace(options.cwd) as cwd:
        lab = Lab(_options(options, cwd))
        outcomes = asyncio.run(_checked(lab, rules, quiet=options.json))
    initialized = next((r.initialized for r in lab.runs if r.initialized), {})
    report = json.dumps(as_json(options.agent, initialized, outcomes), indent=2, ensure_ascii=False)
    if options.json:
        print(report)
    else:
        print(f"\n{summary(outcomes)}")
    if options.report:
        _write(Path(options.report), report)
    return _code(outcomes)


def _code(outcomes: Sequence[Outcome]) -> int:
    match result(outcomes):
        case found if found == CONFORMS:
            return DONE
        case found if found != BREAKS and needs_login(outcomes):
            return NO_CREDENTIALS
    return FAILED


def _rules(options: Namespace) -> list[Rule]:
    try:
        return chosen(options.only or [])
    except ValueError as error:
        raise CliError(f"no rule begins with {error}; `quillback check --list` has all", USAGE) from None


def _options(options: Namespace, cwd: Path) -> Options:
    if options.timeout <= 0:
        raise CliError("--timeout needs more than 0 seconds", USAGE)
    if not shutil.which(options.agent[0]):
        raise CliError(f"{options.agent[0]} cannot be started: there is no such program", USAGE)
    return Options(
        command=options.agent,
        cwd=cwd,
        prompts=options.prompt or [PROMPT],
        long_prompt=options.long_prompt or LONG_PROMPT,
        policy=options.allow,
        timeout=options.timeout,
    )


@contextmanager
def _workspace(given: str | None) -> Iterator[Path]:
    """The directory that was given, or one that goes away again."""
    if given is not None:
        path = Path(given).resolve()
        if not path.is_dir():
            raise CliError(f"{given} is no directory", USAGE)
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="quillback-check-", ignore_cleanup_errors=True) as made:
        path = Path(made).resolve()
        (path / "notes.txt").write_text(NOTES, encoding="utf-8")
        yield path


async def _checked(lab: Lab, rules: Sequence[Rule], *, quiet: bool) -> list[Outcome]:
    outcomes = []
    try:
        async for outcome in run(lab, rules):
            outcomes.append(outcome)
            if not quiet:
                print(clean(line(outcome)), flush=True)
            elif sys.stderr.isatty():
                print(clean(outcome.rule.id), file=sys.stderr)
    except OSError as error:
        raise CliError(f"{lab.options.command[0]} cannot be started: {error.strerror or error}", USAGE) from None
    finally:
        await lab.close()
    return outcomes


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise CliError(f"{path} cannot be written: {error.strerror or error}") from None
    complain(f"the report is in {path}")
