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
USER = "anthropic"
COMMAND_SECONDS = 10.0
_OUTPUT_LIMIT = 64 * 1024
_INSTEAD = "Set ANTHROPIC_API_KEY or name an api_key_command in config.toml instead."


class CredentialsError(Exception):
    """There is no usable key; the text says why and what to do, never what was found."""


@frozen
class Credentials:
    """At most one of key and token is set; neither where the server needs none. `source` is for people."""

    api_key: str = field(default="", repr=False)
    auth_token: str = field(default="", repr=False)
    source: str = "none needed"


def resolve_api_key(settings: Settings, *, command_seconds: float = COMMAND_SECONDS) -> Credentials:
    """The first of: configured key, configured token, `api_key_command`, system keyring.

    A server other than Anthropic's gets what is configured for it or nothing: a key kept by `quillback login` is
    never sent there. Raises CredentialsError.
    """
    if settings.anthropic_api_key:
        return Credentials(api_key=settings.anthropic_api_key, source="ANTHROPIC_API_KEY or config.toml")
    if settings.anthropic_auth_token:
        return Credentials(auth_token=settings.anthropic_auth_token, source="ANTHROPIC_AUTH_TOKEN or config.toml")
    if settings.api_key_command:
        key = _run_key_command(settings.api_key_command, command_seconds)
        return Credentials(api_key=key, source="api_key_command")
    if not is_anthropic(settings.anthropic_base_url):
        return Credentials()
    key, reason = _stored_key()
    if key:
        return Credentials(api_key=key, source="system keyring")
    raise CredentialsError(f"No Anthropic API key{reason}. {_advice(settings, login=bool(keyring_backend()))}")


def is_anthropic(base_url: str) -> bool:
    """Whether the address is one of Anthropic's own."""
    host = urlsplit(base_url).hostname or ""
    return host == "anthropic.com" or host.endswith(".anthropic.com")


def store_api_key(key: str) -> None:
    """Keep the key in the system's keyring. Raises CredentialsError."""
    key = key.strip()
    if not key or not is_header_word(key):
        raise CredentialsError("That is not a key: it must be printable ASCII characters without spaces.")
    keyring = _keyring()
    try:
        keyring.set_password(SERVICE, USER, key)
        kept = keyring.get_password(SERVICE, USER) == key
    except Exception as error:
        raise CredentialsError(f"The system keyring could not keep the key ({_name(error)}). {_INSTEAD}") from error
    if not kept:
        raise CredentialsError(f"The system keyring ({keyring_backend()}) keeps nothing. {_INSTEAD}")


def keyring_backend() -> str:
    """The name of what keeps keys on this system; empty if nothing does."""
    backend = _keyring().get_keyring()
    module = type(backend).__module__
    return "" if module.endswith((".fail", ".null")) else str(backend.name)


def no_keyring(settings: Settings) -> str:
    """What to do instead where nothing keeps keys; empty where something does."""
    if keyring_backend():
        return ""
    where = "on Linux: GNOME Keyring or KWallet, in a desktop session"
    return f"There is no keyring on this machine ({where}). {_advice(settings, login=False)}"


def _advice(settings: Settings, *, login: bool) -> str:
    first = "Run `quillback login`, or set" if login else "Set"
    return f"{first} ANTHROPIC_API_KEY, or api_key_command under [anthropic] in {settings.config_file}."


def forget_api_key() -> bool:
    """Remove the kept key; False if there was none. Raises CredentialsError."""
    keyring = _keyring()
    try:
        if keyring.get_password(SERVICE, USER) is None:
            return False
        keyring.delete_password(SERVICE, USER)
    except keyring.errors.NoKeyringError:
        return False
    except Exception as error:
        raise CredentialsError(f"The system keyring could not remove the key ({_name(error)}).") from error
    return True


def _stored_key() -> tuple[str, str]:
    """The kept key, or an empty one and why there is none if that is worth telling."""
    keyring = _keyring()
    try:
        key = keyring.get_password(SERVICE, USER) or ""
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
