"""What `quillback doctor` looks at beyond the program: the sandbox of commands, the user's MCP servers and hooks."""

import shutil
from collections.abc import Iterator
from urllib.parse import urlsplit

from quillback.app import sandbox_problem, user_hooks
from quillback.cli.doctor_checks import Check, State
from quillback.config import Sandbox, Settings
from quillback.core.mcp_server import HttpServer, StdioServer

_SETTING = 'sandbox in config.toml: "workspace" confines them to the workspace, "workspace-offline" without a network'


def sandbox(settings: Settings) -> Iterator[Check]:
    """Whether commands are confined as configured; a command is run to find out."""
    if settings.sandbox is Sandbox.OFF:
        yield Check("sandbox", State.OK, "off: commands run with your rights", _SETTING)
        return
    problem = sandbox_problem(settings)
    if problem:
        advice = (
            "install bubblewrap and let it make namespaces; until then each command is asked about, and runs without"
        )
        yield Check("sandbox", State.BAD, f"{settings.sandbox.value}, but not available: {problem}", advice)
    else:
        source = settings.sources.get("sandbox", "default")
        yield Check("sandbox", State.OK, f"{settings.sandbox.value}: bubblewrap works ({source})")


def mcp_servers(settings: Settings) -> Iterator[Check]:
    """The servers of config.toml, none of them started; arguments and addresses may hold secrets."""
    for server in settings.mcp_servers:
        match server:
            case StdioServer(name=name, command=command):
                found = shutil.which(command)
                advice = "" if found else "give the full path of its program, or install it"
                yield Check(f"mcp {name}", State.OK if found else State.NOTE, found or f"{command} not found", advice)
            case HttpServer(name=name, url=url):
                parts = urlsplit(url)
                yield Check(f"mcp {name}", State.OK, f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}")


def hooks(settings: Settings) -> Iterator[Check]:
    """The user's own hooks, none of them run."""
    count, problems = user_hooks(settings)
    if count:
        yield Check("hooks", State.OK, f"{count} in {settings.user_hooks}")
    for problem in problems:
        yield Check("hooks", State.NOTE, problem, "what is wrong has no effect; the rest works")
