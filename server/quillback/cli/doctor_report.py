"""/doctor: what of `quillback doctor` is quick, as Markdown. Nothing of it uses the network or runs a program."""

from collections.abc import Iterator

from quillback.cli.clean import one_line
from quillback.cli.doctor_checks import Check, State, config, configured, editor, home, program, programs, service
from quillback.cli.doctor_tools import mcp_servers
from quillback.config import Settings
from quillback.credentials import is_anthropic
from quillback.models import SCRIPTED


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
    elif field := next((f for f in ("anthropic_api_key", "anthropic_auth_token") if getattr(settings, f)), ""):
        yield Check(name, State.OK, settings.sources.get(field, "config.toml"))
    elif settings.api_key_command:
        yield Check(name, State.OK, "api_key_command (not run here)")
    elif is_anthropic(settings.anthropic_base_url):
        yield Check(name, State.NOTE, "the system keyring (not asked here)", "set ANTHROPIC_API_KEY if it has no key")
    else:
        yield Check(name, State.OK, "none needed")


def _line(check: Check) -> str:
    advice = f" ({one_line(check.advice)})" if check.advice else ""
    problem = "**Problem:** " if check.state is State.BAD else ""
    return f"- **{check.name}**: {problem}{one_line(check.found)}{advice}"
