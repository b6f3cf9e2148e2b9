"""`quillback login`: keeps an API key in the system's keyring. Editors run it as the agent's login in a terminal."""

import getpass
import os
import sys
from argparse import Namespace

from quillback.cli.exits import DONE, FAILED, USAGE, CliError, complain
from quillback.config import Settings, load_settings
from quillback.credentials import (
    ANTHROPIC,
    OPENAI,
    TITLES,
    CredentialsError,
    configured,
    forget_api_key,
    key_command,
    no_keyring,
    store_api_key,
)
from quillback.models import Models

USUAL = {ANTHROPIC: "sk-ant-", OPENAI: "sk-"}
KEY_LIMIT = 10_000
PAGES = {
    ANTHROPIC: "https://console.anthropic.com/settings/keys",
    OPENAI: "https://platform.openai.com/api-keys",
}


def login(options: Namespace) -> int:
    """Raises CliError."""
    settings = load_settings(os.environ)
    service = options.provider or next(iter(Models(settings).services()), ANTHROPIC)
    try:
        if options.forget:
            return _forget(service)
        if problem := no_keyring(settings, service):
            raise CliError(problem)
        key = _asked(service)
        store_api_key(key, service)
    except CredentialsError as error:
        complain(f"{error}\nThe settings file is {settings.config_file}.")
        return FAILED
    print("The key is in the system's keyring.")
    usual = USUAL[service]
    if not key.startswith(usual):
        complain(f"note: {TITLES[service]}'s keys begin with {usual}, this one does not")
    _say_what_wins(settings, service)
    return DONE


def _asked(service: str) -> str:
    """The key, from the terminal without an echo or from what is piped in. Raises CliError."""
    if sys.stdin and sys.stdin.isatty():
        print(f"Make a key at {PAGES[service]}. It is not shown while you type or paste it.")
        try:
            key = getpass.getpass("API key: ")
        except EOFError:
            key = ""
    else:
        key = sys.stdin.readline(KEY_LIMIT) if sys.stdin else ""
    if not key.strip():
        raise CliError("no key was given; type it, or pipe it in: quillback login < FILE", USAGE)
    return key.strip()


def _forget(service: str) -> int:
    print("The key is removed from the system's keyring." if forget_api_key(service) else "There was no key to remove.")
    return DONE


def _say_what_wins(settings: Settings, service: str) -> None:
    """Other sources go first; a user who has just logged in should know."""
    if configured(settings, service):
        complain("note: the key of the environment or of config.toml goes first; unset it to use the kept one")
    elif key_command(settings, service):
        complain("note: api_key_command of config.toml goes first; remove it to use the kept key")
