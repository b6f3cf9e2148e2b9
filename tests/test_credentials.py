"""Where the key comes from: order, the user's command, a real keyring back end, and what a failure says."""

import time
from pathlib import Path

import keyring
import keyring.backend
import keyring.backends.fail
import keyring.errors
import pytest

from quillback.config import Settings
from quillback.credentials import (
    ANTHROPIC,
    OPENAI,
    Credentials,
    CredentialsError,
    forget_api_key,
    is_official,
    resolve_api_key,
    store_api_key,
)


class MemoryKeyring(keyring.backend.KeyringBackend):
    priority = 1

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.kept[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        del self.kept[service, username]


class LockedKeyring(MemoryKeyring):
    def get_password(self, service: str, username: str) -> str | None:
        raise keyring.errors.KeyringLocked("the collection is locked")

    def set_password(self, service: str, username: str, password: str) -> None:
        raise keyring.errors.PasswordSetError("the collection is locked")


@pytest.fixture(autouse=True)
def no_keyring():
    before = keyring.get_keyring()
    keyring.set_keyring(keyring.backends.fail.Keyring())
    yield
    keyring.set_keyring(before)


@pytest.fixture
def kept(no_keyring) -> MemoryKeyring:
    backend = MemoryKeyring()
    keyring.set_keyring(backend)
    return backend


def settings(tmp_path: Path, **values) -> Settings:
    return Settings(home=tmp_path, config_file=tmp_path / "config.toml", **values)


def test_the_order_is_key_token_command_keyring(tmp_path, kept):
    store_api_key("sk-kept")
    everything = {"anthropic_api_key": "sk-set", "anthropic_auth_token": "tok", "api_key_command": "echo sk-cmd"}
    found = []
    for name in (*everything, None):
        credentials = resolve_api_key(settings(tmp_path, **everything))
        found.append((credentials.api_key, credentials.auth_token))
        everything.pop(name, None)
    assert found == [("sk-set", ""), ("", "tok"), ("sk-cmd", ""), ("sk-kept", "")]


def test_secrets_do_not_show_in_the_repr(tmp_path):
    assert "sk-set" not in repr(resolve_api_key(settings(tmp_path, anthropic_api_key="sk-set")))
    assert "tok" not in repr(Credentials(auth_token="tok")).replace("auth_token", "")


def test_nothing_found_says_what_to_do(tmp_path):
    with pytest.raises(CredentialsError) as failed:
        resolve_api_key(settings(tmp_path))
    for hint in ("ANTHROPIC_API_KEY", "api_key_command", str(tmp_path / "config.toml")):
        assert hint in str(failed.value)
    assert "quillback login" not in str(failed.value), "there is no keyring to log in to"
    keyring.set_keyring(MemoryKeyring())
    with pytest.raises(CredentialsError, match="Run `quillback login`, or set ANTHROPIC_API_KEY"):
        resolve_api_key(settings(tmp_path))


def test_other_servers_need_no_key_and_never_get_the_kept_one(tmp_path, kept):
    store_api_key("sk-kept")
    local = settings(tmp_path, anthropic_base_url="http://localhost:11434")
    assert resolve_api_key(local) == Credentials()
    named = settings(tmp_path, anthropic_base_url="http://localhost:11434", api_key_command="echo sk-gateway")
    assert resolve_api_key(named).api_key == "sk-gateway"


@pytest.mark.parametrize(
    ("url", "own"),
    [
        ("https://api.anthropic.com", True),
        ("https://API.Anthropic.com:443/v1/", True),
        ("https://eu.api.anthropic.com", True),
        ("https://api.anthropic.com@evil.example", False),
        ("https://api.anthropic.com.evil.example", False),
        ("https://notanthropic.com", False),
        ("http://127.0.0.1:8080", False),
    ],
)
def test_which_addresses_are_the_makers_own(tmp_path, url, own):
    assert is_official(settings(tmp_path, anthropic_base_url=url), ANTHROPIC) is own
    other = url.lower().replace("anthropic", "openai")
    assert is_official(settings(tmp_path, openai_base_url=other), OPENAI) is own


def test_the_command_runs_in_a_shell_without_input_and_its_first_line_counts(tmp_path):
    key = resolve_api_key(settings(tmp_path, api_key_command="cat; printf '  sk-%s \\r\\nmore\\n' one | cat")).api_key
    assert key == "sk-one"


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("echo >&2 'no such entry'; exit 3", "exit code 3: no such entry"),
        ("exit 4", "exit code 4."),
        ("true", "printed no key"),
        ("echo 'two words'", "not a key"),
        ("printf 'sk\\000x'", "not a key"),
        ("quillback-no-such-program", "exit code 127"),
    ],
)
def test_a_command_that_gives_no_key_is_an_error_and_nothing_else_is_tried(tmp_path, kept, command, says):
    store_api_key("sk-kept")
    with pytest.raises(CredentialsError, match="api_key_command") as failed:
        resolve_api_key(settings(tmp_path, api_key_command=command))
    assert says in str(failed.value)


def test_a_command_that_hangs_is_ended_with_all_it_started(tmp_path):
    pid_file = tmp_path / "pid"
    command = f"sh -c 'echo $$ > {pid_file}; exec sleep 60' | cat"
    started = time.monotonic()
    with pytest.raises(CredentialsError, match="within 1 s"):
        resolve_api_key(settings(tmp_path, api_key_command=command), command_seconds=1.0)
    assert time.monotonic() - started < 8
    pid = int(pid_file.read_text())
    while _runs(pid):  # a kill is carried out a moment after it was sent
        assert time.monotonic() - started < 8
        time.sleep(0.01)


def test_a_helper_that_stays_behind_does_not_hold_the_command_up(tmp_path):
    started = time.monotonic()
    found = resolve_api_key(settings(tmp_path, api_key_command="echo sk-fast; sleep 3 &"))
    assert found.api_key == "sk-fast"
    assert time.monotonic() - started < 2


def test_login_keeps_and_forgets_the_key(tmp_path, kept):
    assert forget_api_key() is False
    store_api_key("  sk-kept\n")
    assert kept.kept == {("quillback", "anthropic"): "sk-kept"}
    assert resolve_api_key(settings(tmp_path)) == Credentials(api_key="sk-kept", source="system keyring")
    assert forget_api_key() is True
    assert kept.kept == {}


@pytest.mark.parametrize("key", ["", "  ", "two words", "schlüssel", "a\x00b"])
def test_what_is_not_a_key_is_not_kept(kept, key):
    with pytest.raises(CredentialsError, match="not a key"):
        store_api_key(key)
    assert kept.kept == {}


def test_without_a_keyring_login_says_what_else_there_is():
    with pytest.raises(CredentialsError, match="ANTHROPIC_API_KEY"):
        store_api_key("sk-x")
    assert forget_api_key() is False


def test_a_keyring_that_fails_is_named(tmp_path):
    keyring.set_keyring(LockedKeyring())
    with pytest.raises(CredentialsError, match="the collection is locked") as failed:
        resolve_api_key(settings(tmp_path))
    assert "quillback login" in str(failed.value)
    with pytest.raises(CredentialsError, match="locked"):
        store_api_key("sk-x")
    with pytest.raises(CredentialsError, match="locked"):
        forget_api_key()


def test_a_damaged_key_in_the_keyring_is_not_sent(tmp_path, kept):
    kept.set_password("quillback", "anthropic", "sk\nInjected: header")
    with pytest.raises(CredentialsError, match="damaged") as failed:
        resolve_api_key(settings(tmp_path))
    assert "Injected" not in str(failed.value)


def _runs(pid: int) -> bool:
    """Whether a process lives; one that ended but was not collected yet does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False
