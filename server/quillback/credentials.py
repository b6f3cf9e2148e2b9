"""Where the key for the model service comes from, and how `quillback login` keeps one.

Everything here may block (a command, the system's keyring): call it in a thread.
"""

import os
import signal
import subprocess
import tempfile
from contextlib import suppress
from types import ModuleType
from typing import IO
from urllib.parse import urlsplit

from attrs import field, frozen

from quillback.config import Settings
from quillback.config_values import is_header_word

SERVICE = "quillback"
ANTHROPIC, OPENAI = "anthropic", "openai"
"""The services with keys, by the names under which the keyring has these."""
TITLES = {ANTHROPIC: "Anthropic", OPENAI: "OpenAI"}
COMMAND_SECONDS = 10.0
_OUTPUT_LIMIT = 64 * 1024


class CredentialsError(Exception):
    """There is no usable key; the text says why and what to do, never what was found."""


@frozen
class Credentials:
    """At most one of key and token is set; neither where the server needs none. `source` is for people."""

    api_key: str = field(default="", repr=False)
    auth_token: str = field(default="", repr=False)
    source: str = "none needed"


def resolve_api_key(
    settings: Settings, service: str = ANTHROPIC, *, command_seconds: float = COMMAND_SECONDS
) -> Credentials:
    """The first of: configured key, configured token, `api_key_command`, system keyring.

    A server other than the maker's own gets what is configured for it or nothing: a key kept by `quillback login` is
    never sent there. Raises CredentialsError.
    """
    if found := configured(settings, service):
        return found
    if command := key_command(settings, service):
        return Credentials(api_key=_run_key_command(command, command_seconds), source="api_key_command")
    if not is_official(settings, service):
        return Credentials()
    key, reason = _stored_key(service)
    if key:
        return Credentials(api_key=key, source="system keyring")
    advice = _advice(settings, service, login=bool(keyring_backend()))
    raise CredentialsError(f"No {TITLES[service]} API key{reason}. {advice}")


def configured(settings: Settings, service: str) -> Credentials | None:
    """What the environment or the settings file has."""
    if service == OPENAI:
        key, token = settings.openai_api_key, ""
    else:
        key, token = settings.anthropic_api_key, settings.anthropic_auth_token
    if key:
        return Credentials(api_key=key, source=f"{service.upper()}_API_KEY or config.toml")
    return Credentials(auth_token=token, source="ANTHROPIC_AUTH_TOKEN or config.toml") if token else None


def key_command(settings: Settings, service: str) -> str:
    return settings.openai_api_key_command if service == OPENAI else settings.api_key_command


def base_url(settings: Settings, service: str) -> str:
    return settings.openai_base_url if service == OPENAI else settings.anthropic_base_url


def is_official(settings: Settings, service: str) -> bool:
    """Whether the service's address is one of its maker's own."""
    host = urlsplit(base_url(settings, service)).hostname or ""
    return f".{host}".endswith(f".{service}.com")


def store_api_key(key: str, service: str = ANTHROPIC) -> None:
    """Keep the key in the system's keyring. Raises CredentialsError."""
    key = key.strip()
    if not key or not is_header_word(key):
        raise CredentialsError("That is not a key: it must be printable ASCII characters without spaces.")
    keyring = _keyring()
    try:
        keyring.set_password(SERVICE, service, key)
        kept = keyring.get_password(SERVICE, service) == key
    except Exception as error:
        wrong = f"The system keyring could not keep the key ({_name(error)})."
        raise CredentialsError(f"{wrong} {_instead(service)}") from error
    if not kept:
        raise CredentialsError(f"The system keyring ({keyring_backend()}) keeps nothing. {_instead(service)}")


def keyring_backend() -> str:
    """The name of what keeps keys on this system; empty if nothing does."""
    backend = _keyring().get_keyring()
    module = type(backend).__module__
    return "" if module.endswith((".fail", ".null")) else str(backend.name)


def no_keyring(settings: Settings, service: str = ANTHROPIC) -> str:
    """What to do instead where nothing keeps keys; empty where something does."""
    if keyring_backend():
        return ""
    where = "on Linux: GNOME Keyring or KWallet, in a desktop session"
    return f"There is no keyring on this machine ({where}). {_advice(settings, service, login=False)}"


def _advice(settings: Settings, service: str, *, login: bool) -> str:
    command = "quillback login" if service == ANTHROPIC else f"quillback login --provider {service}"
    first = f"Run `{command}`, or set" if login else "Set"
    return f"{first} {service.upper()}_API_KEY, or api_key_command under [{service}] in {settings.config_file}."


def _instead(service: str) -> str:
    return f"Set {service.upper()}_API_KEY or name an api_key_command in config.toml instead."


def forget_api_key(service: str = ANTHROPIC) -> bool:
    """Remove the kept key; False if there was none. Raises CredentialsError."""
    keyring = _keyring()
    try:
        if keyring.get_password(SERVICE, service) is None:
            return False
        keyring.delete_password(SERVICE, service)
    except keyring.errors.NoKeyringError:
        return False
    except Exception as error:
        raise CredentialsError(f"The system keyring could not remove the key ({_name(error)}).") from error
    return True


def _stored_key(service: str) -> tuple[str, str]:
    """The kept key, or an empty one and why there is none if that is worth telling."""
    keyring = _keyring()
    try:
        key = keyring.get_password(SERVICE, service) or ""
    except keyring.errors.NoKeyringError:
        return "", ""
    except Exception as error:  # back ends are plug-ins and raise what they like
        return "", f" (the system keyring could not be read: {_name(error)})"
    return (key, "") if is_header_word(key) else ("", " (the one in the system keyring is damaged)")


def _keyring() -> ModuleType:
    """Imported late: finding its back end takes longer than all of the start-up."""
    import keyring
    import keyring.errors

    return keyring


def _name(error: Exception) -> str:
    return str(error) or type(error).__name__


def _run_key_command(command: str, seconds: float) -> str:
    """The first line that the user's command prints."""
    # Files instead of pipes: a helper that the command leaves behind may hold a pipe open for ever.
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        code = _run(command, out, err, seconds)
        if code != 0:
            said = "".join(char for char in _first_line(err) if char.isprintable())[:200]
            raise CredentialsError(f"api_key_command failed with exit code {code}{f': {said}' if said else ''}.")
        key = _first_line(out)
    if not key:
        raise CredentialsError("api_key_command printed no key; its first line of output must be the key.")
    if not is_header_word(key):
        raise CredentialsError("api_key_command printed something that is not a key in its first line.")
    return key


def _run(command: str, out: IO[bytes], err: IO[bytes], seconds: float) -> int:
    """Exit code of the command, which gets a session of its own so that all of it can be ended."""
    process = subprocess.Popen(
        command, shell=True, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True
    )
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        raise CredentialsError(
            f"api_key_command did not end within {seconds:g} s; it must not ask anything on a terminal."
        ) from None
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _first_line(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read(_OUTPUT_LIMIT).decode("utf-8", "replace").strip().partition("\n")[0].strip()
