"""What `quillback doctor` looks at, each a function that says what it found and what to do about it. None changes a
thing, and none tells a secret."""

import asyncio
import os
import platform
import shutil
import sys
from collections.abc import Callable, Iterator
from enum import StrEnum
from pathlib import Path
from urllib.parse import urlsplit

from attrs import fields, frozen

from quillback import __version__
from quillback.app import database_health, inspector_problems, service_answer
from quillback.config import Settings
from quillback.core.model import ProviderError
from quillback.core.text import number
from quillback.credentials import OPENAI, TITLES, CredentialsError, base_url, keyring_backend, resolve_api_key
from quillback.models import SCRIPTED, Models
from quillback.problems import problems_of, warnings_of

ELSEWHERE = ("sandbox",)
"""Settings with a check of their own."""
PRIVATE = (
    *("anthropic_api_key", "anthropic_auth_token", "anthropic_base_url", "api_key_command", "models"),
    *("openai_api_key", "openai_base_url", "openai_api_key_command"),
)
ALWAYS_SHOWN = ("model", "mode", "thinking")


class State(StrEnum):
    """BAD must be mended before Quillback can be used as it is configured; a NOTE may be ignored."""

    OK = "ok"
    NOTE = "note"
    BAD = "bad"


@frozen
class Check:
    name: str
    state: State
    found: str
    advice: str = ""


def program(settings: Settings) -> Iterator[Check]:
    python = f"Python {platform.python_version()} ({sys.executable})"
    yield Check("quillback", State.OK, f"{__version__}, {python}, {platform.system()}")


def home(settings: Settings) -> Iterator[Check]:
    """The directory, or the place where it will be made."""
    path = settings.home
    try:
        mode = path.stat().st_mode & 0o777 if path.exists() else None
        nearest = next(p for p in (path, *path.parents) if p.exists())
    except OSError as error:
        yield Check("home", State.BAD, f"{path}: {error.strerror}", "set QUILLBACK_HOME to another directory")
        return
    if not nearest.is_dir() or not os.access(nearest, os.W_OK | os.X_OK):
        yield Check("home", State.BAD, f"{path} cannot be written", "mend its permissions, or set QUILLBACK_HOME")
    elif mode is None:
        yield Check("home", State.OK, f"{path} (will be made)")
    elif mode & 0o077:
        yield Check("home", State.NOTE, f"{path} can be seen by others (mode {mode:o})", f"chmod 700 {path}")
    else:
        yield Check("home", State.OK, str(path))


def config(settings: Settings) -> Iterator[Check]:
    file = settings.config_file
    problems = problems_of(settings)
    if not problems:
        yield Check("config", State.OK, f"{file}{'' if file.exists() else ' (not there; it need not be)'}")
    for problem in problems:
        yield Check("config", State.BAD, problem, "until it is mended, no session is started")
    for warning in warnings_of(settings):
        yield Check("config", State.NOTE, warning)


def configured(settings: Settings) -> Iterator[Check]:
    """What was set, and where."""
    for field in fields(Settings):
        source = settings.sources.get(field.name, "")
        if field.name in ALWAYS_SHOWN or (source and field.name not in (*PRIVATE, *ELSEWHERE)):
            value = getattr(settings, field.name)
            shown = _shown(value) or (Models(settings).default if field.name == "model" else "nothing")
            yield Check(field.name, State.OK, f"{shown} ({source or 'default'})")


def _shown(value: object) -> str:
    """As one would write it in config.toml; empty for nothing."""
    match value:
        case None:
            return ""
        case bool():
            return str(value).lower()
        case float():
            return number(value)
        case frozenset() | tuple():
            return ", ".join(sorted(map(str, value)))
        case _:
            return str(value)


def database(settings: Settings) -> Iterator[Check]:
    health = database_health(settings)
    if health.problem:
        yield Check("database", State.BAD, health.problem)
    elif not health.exists:
        yield Check("database", State.OK, f"{settings.database} (will be made)")
    else:
        sessions = f"{health.sessions} session{'' if health.sessions == 1 else 's'}"
        older = f", will be brought to {health.newest}" if health.version < health.newest else ""
        found = f"{settings.database}: whole, schema version {health.version}{older}, {sessions}"
        yield Check("database", State.OK, found)


def credentials(settings: Settings) -> Iterator[Check]:
    """Where the key comes from. This runs `api_key_command`, or asks the keyring, as a turn would."""
    model = settings.model
    if model.startswith(SCRIPTED):
        try:
            Models(settings).provider(Models(settings).get(model))
        except ProviderError as error:
            yield Check("credentials", State.BAD, error.message, "correct the model's name")
        else:
            yield Check("credentials", State.OK, f"none needed for {model}")
        return
    for name in Models(settings).services():
        try:
            found = resolve_api_key(settings, name)
        except CredentialsError as error:
            wrong, _, advice = str(error).partition(". ")
            yield Check("credentials", State.BAD, wrong.rstrip("."), advice)
        else:
            yield Check("credentials", State.OK, _of(settings, name, key_place(settings, name) or found.source))


def key_place(settings: Settings, service: str) -> str:
    """Where the key that is configured for a service stands; empty if there is none."""
    fields = (f"{service}_api_key", f"{service}_auth_token")
    field = next((f for f in fields if getattr(settings, f, "")), "")
    return settings.sources.get(field, "config.toml" if field else "")


def _of(settings: Settings, service: str, found: str) -> str:
    """Names the service where several are used."""
    return found if len(Models(settings).services()) == 1 else f"{TITLES[service]}: {found}"


def service(settings: Settings) -> Iterator[Check]:
    """The base URLs without a password that may be in them."""
    for name in Models(settings).services():
        parts = urlsplit(base_url(settings, name))
        address = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
        source = settings.sources.get(f"{name}_base_url", "default")
        yield Check("base URL", State.OK, _of(settings, name, f"{address} ({source})"))


def reachable(settings: Settings) -> Iterator[Check]:
    for name in Models(settings).services():
        try:
            found, serves = asyncio.run(service_answer(settings, name))
            api = "chat completions" if name == OPENAI else "the Messages API"
            advice = "" if serves else f"it does not look like a server of {api}: check the base URL"
            yield Check("network", State.OK if serves else State.NOTE, found, advice)
        except ProviderError as error:
            yield Check("network", State.BAD, error.message)


def programs(settings: Settings) -> Iterator[Check]:
    """What the tools use where it is there."""
    shell = shutil.which("bash") or "/bin/sh"
    bash = shell != "/bin/sh"
    yield Check("shell", State.OK if bash else State.NOTE, shell, "" if bash else "commands are written for bash")
    for name, without in (
        ("rg", "install ripgrep: searches are slower without it"),
        ("git", "install it: most projects want it"),
    ):
        found = shutil.which(name)
        yield Check(name, State.OK if found else State.NOTE, found or "not found", "" if found else without)


def keyring(settings: Settings) -> Iterator[Check]:
    backend = keyring_backend()
    advice = "" if backend else "`quillback login` needs one; ANTHROPIC_API_KEY and api_key_command do not"
    yield Check("keyring", State.OK if backend else State.NOTE, backend or "none", advice)


def inspectors(settings: Settings) -> Iterator[Check]:
    """What looks at calls besides what always does."""
    if settings.adversary.exists():
        yield Check("adversary", State.OK, f"on: {settings.adversary}")
    for problem in inspector_problems():
        advice = "until it is mended or uninstalled every call is asked about"
        yield Check("inspectors", State.BAD, problem, advice)


def editor(settings: Settings) -> Iterator[Check]:
    """What an editor's settings need to say."""
    command = shutil.which("quillback")
    if command is None:
        beside = Path(sys.executable).with_name("quillback")
        command = str(beside) if beside.exists() else f"{sys.executable} -m quillback"
        yield Check("editor", State.NOTE, f"start it as: {command} acp", "quillback is not on the PATH")
    else:
        yield Check("editor", State.OK, f"start it as: {command} acp")


CHECKS: tuple[Callable[[Settings], Iterator[Check]], ...] = (
    program,
    home,
    config,
    configured,
    database,
    credentials,
    service,
    programs,
    keyring,
    inspectors,
    editor,
)
