"""/doctor: what of `quillback doctor` is quick, as Markdown. Nothing of it uses the network or runs a program."""

from collections.abc import Iterator

from quillback.cli.clean import one_line
from quillback.cli.doctor_checks import (
    Check,
    State,
    config,
    configured,
    editor,
    home,
    key_place,
    program,
    programs,
    service,
)
from quillback.cli.doctor_tools import mcp_servers
from quillback.config import Settings
from quillback.credentials import is_official, key_command
from quillback.models import SCRIPTED, Models


def report(settings: Settings) -> str:
    """May take some milliseconds."""
    looks = (program, home, config, configured, credentials, service, programs, mcp_servers, editor)
    checks = [check for look in looks for check in look(settings)]
    bad = [check for check in checks if check.state is State.BAD]
    names = ", ".join(dict.fromkeys(check.name for check in bad))
    head = f"To be mended first: {names}." if bad else "Nothing to mend."
    more = "`quillback doctor` in a terminal looks at the database, the keyring and the sandbox as well."
    return "\n".join([head, "", *map(_line, checks), "", more])


def credentials(settings: Settings) -> Iterator[Check]:
    """Where the key is to come from; whether it is there is not found out."""
    name = "credentials"
    if settings.model.startswith(SCRIPTED):
        yield Check(name, State.OK, f"none needed for {settings.model}")
        return
    for service_name in Models(settings).services():
        if place := key_place(settings, service_name):
            yield Check(name, State.OK, place)
        elif key_command(settings, service_name):
            yield Check(name, State.OK, "api_key_command (not run here)")
        elif is_official(settings, service_name):
            advice = f"set {service_name.upper()}_API_KEY if it has no key"
            yield Check(name, State.NOTE, "the system keyring (not asked here)", advice)
        else:
            yield Check(name, State.OK, "none needed")


def _line(check: Check) -> str:
    advice = f" ({one_line(check.advice)})" if check.advice else ""
    problem = "**Problem:** " if check.state is State.BAD else ""
    return f"- **{check.name}**: {problem}{one_line(check.found)}{advice}"
