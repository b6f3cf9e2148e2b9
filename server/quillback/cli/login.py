"""`quillback login`: keeps an API key in the system's keyring. Editors run it as the agent's login in a terminal."""

import getpass
import os
import sys
from argparse import Namespace

from quillback.cli.exits import DONE, FAILED, USAGE, CliError, complain
from quillback.config import Settings, load_settings
from quillback.credentials import CredentialsError, forget_api_key, no_keyring, store_api_key

USUAL = "sk-ant-"
KEY_LIMIT = 10_000
HERE = "Make a key at https://console.anthropic.com/settings/keys. It is not shown while you type or paste it."


def login(options: Namespace) -> int:
    """Raises CliError."""
    settings = load_settings(os.environ)
    try:
        if options.forget:
            return _forget()
        if problem := no_keyring(settings):
            raise CliError(problem)
        key = _asked()
        store_api_key(key)
    except CredentialsError as error:
        complain(f"{error}\nThe settings file is {settings.config_file}.")
        return FAILED
    print("The key is in the system's keyring.")
    if not key.startswith(USUAL):
        complain(f"note: Anthropic's keys begin with {USUAL}, this one does not")
    _say_what_wins(settings)
    return DONE


def _asked() -> str:
    """The key, from the terminal without an echo or from what is piped in. Raises CliError."""
    if sys.stdin and sys.stdin.isatty():
        print(HERE)
        try:
            key = getpass.getpass("API key: ")
        except EOFError:
            key = ""
    else:
        key = sys.stdin.readline(KEY_LIMIT) if sys.stdin else ""
    if not key.strip():
        raise CliError("no key was given; type it, or pipe it in: quillback login < FILE", USAGE)
    return key.strip()


def _forget() -> int:
    print("The key is removed from the system's keyring." if forget_api_key() else "There was no key to remove.")
    return DONE


def _say_what_wins(settings: Settings) -> None:
    """Other sources go first; a user who has just logged in should know."""
    if settings.anthropic_api_key or settings.anthropic_auth_token:
        complain("note: the key of the environment or of config.toml goes first; unset it to use the kept one")
    elif settings.api_key_command:
        complain("note: api_key_command of config.toml goes first; remove it to use the kept key")
