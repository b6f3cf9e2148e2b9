"""`quillback login` with a keyring that keeps things in a file, with none, and with one that forgets."""

import pytest

KEY = "sk-ant-api03-SECRET"
BACKEND = """
from pathlib import Path
from keyring.backend import KeyringBackend

class Keyring(KeyringBackend):
    priority = 1
    name = "file"
    file = Path(__file__).with_name("kept.txt")

    def get_password(self, service, username):
        return self.file.read_text() if self.file.exists() else None

    def set_password(self, service, username, password):
        self.file.write_text(password)

    def delete_password(self, service, username):
        self.file.unlink()
"""


@pytest.fixture
def keeping(shell) -> dict[str, str]:
    """The environment of a system with a keyring."""
    (shell.place / "filekeyring.py").write_text(BACKEND)
    paths = [str(shell.place), *filter(None, [shell.env().get("PYTHONPATH")])]
    return {"PYTHON_KEYRING_BACKEND": "filekeyring.Keyring", "PYTHONPATH": ":".join(paths)}


def test_a_piped_key_is_kept_and_used(shell, keeping):
    done = shell("login", stdin=f"{KEY}\n", env=keeping)
    assert (done.returncode, done.stderr) == (0, "")
    assert (shell.place / "kept.txt").read_text() == KEY
    doctor = shell("doctor", env=keeping)
    assert doctor.returncode == 0
    assert "system keyring" in doctor.stdout
    assert KEY not in done.stdout + doctor.stdout


def test_a_typed_key_is_not_echoed(shell, keeping):
    with shell.terminal("login", env=keeping) as terminal:
        terminal.wait_for("API key: ")
        terminal.type(f"{KEY}\n")
        assert terminal.end() == 0
    assert KEY not in terminal.output
    assert (shell.place / "kept.txt").read_text() == KEY


def test_forget(shell, keeping):
    shell("login", stdin=KEY, env=keeping)
    assert "is removed" in shell("login", "--forget", env=keeping).stdout
    assert not (shell.place / "kept.txt").exists()
    again = shell("login", "--forget", env=keeping)
    assert again.returncode == 0
    assert "no key" in again.stdout


@pytest.mark.parametrize(("typed", "code"), [("", 2), ("\n", 2), ("two words", 1), ("sk-ümlaut", 1), ("sk-\udcff", 1)])
def test_what_is_no_key_is_not_kept(shell, keeping, typed, code):
    done = shell("login", stdin=typed, env=keeping)
    assert done.returncode == code
    assert "key" in done.stderr
    assert not (shell.place / "kept.txt").exists()


def test_an_unusual_key_and_one_that_loses_are_remarked(shell, keeping):
    done = shell("login", stdin="a-gateways-key", env={**keeping, "ANTHROPIC_API_KEY": "sk-ant-other"})
    assert done.returncode == 0
    assert "sk-ant-" in done.stderr
    assert "goes first" in done.stderr


@pytest.mark.parametrize("backend", ["keyring.backends.fail.Keyring", "keyring.backends.null.Keyring"])
def test_without_a_keyring_the_alternatives_are_named(shell, backend):
    done = shell("login", stdin=KEY, env={"PYTHON_KEYRING_BACKEND": backend})
    assert done.returncode == 1
    assert done.stderr == (
        "quillback: There is no keyring on this machine (on Linux: GNOME Keyring or KWallet, in a desktop session). "
        f"Set ANTHROPIC_API_KEY, or api_key_command under [anthropic] in {shell.home}/config.toml.\n"
    )
    with shell.terminal("login", env={"PYTHON_KEYRING_BACKEND": backend}) as terminal:
        assert terminal.end() == 1
    assert "API key: " not in terminal.output


def test_ctrl_c_at_the_question_leaves_quietly(shell, keeping):
    with shell.terminal("login", env=keeping) as terminal:
        terminal.wait_for("API key: ")
        terminal.type("\x03")
        assert terminal.end() == 3
    assert "Traceback" not in terminal.output
