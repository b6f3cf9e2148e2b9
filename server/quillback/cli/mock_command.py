"""`quillback mock-agent`: a scripted ACP agent on standard input and output, for people who write clients."""

import asyncio
import sys
from argparse import Namespace

from quillback.cli.exits import DONE, USAGE, CliError
from quillback.mock.agent import Agent
from quillback.mock.library import built_in, read
from quillback.mock.parse import ScriptError
from quillback.mock.script import Scenario


def mock_agent(options: Namespace) -> int:
    if options.list:
        print(_listing())
        return DONE
    try:
        scenarios = read(options.script or "")
    except ScriptError as error:
        raise CliError(str(error), USAGE) from None
    if sys.stdin.isatty():
        print("Waiting for a client on standard input; Ctrl-D ends.", file=sys.stderr, flush=True)
    asyncio.run(Agent(scenarios).serve())
    return DONE


def _listing() -> str:
    lines = ["A prompt of one of these names plays it. Those with a * have to be given at the start instead."]
    for subject, scenarios in built_in().items():
        lines += ["", f"{subject.replace('-', ' ')}:", *map(_line, scenarios)]
    return "\n".join(lines)


def _line(scenario: Scenario) -> str:
    mark = "*" if scenario.must_be_started else " "
    return f"  {scenario.name:24}{mark} {scenario.title}"
