"""The commands where the model is reached through chat completions: doctor, login, models."""

import json

import pytest

KEY = "sk-proj-SECRET-123456"
LOCAL = {"QUILLBACK_MODEL": "openai:qwen", "OPENAI_BASE_URL": f"http://me:{KEY}@localhost:1/v1"}
BACKEND = """
from pathlib import Path
from keyring.backend import KeyringBackend

class Keyring(KeyringBackend):
    priority = 1
    name = "file"

    def _file(self, username):
        return Path(__file__).with_name(f"kept-{username}.txt")

    def get_password(self, service, username):
        return self._file(username).read_text() if self._file(username).exists() else None

    def set_password(self, service, username, password):
        self._file(username).write_text(password)

    def delete_password(self, service, username):
        self._file(username).unlink()
"""


@pytest.fixture
def keeping(shell) -> dict[str, str]:
    (shell.place / "filekeyring.py").write_text(BACKEND)
    paths = [str(shell.place), *filter(None, [shell.env().get("PYTHONPATH")])]
    return {"PYTHON_KEYRING_BACKEND": "filekeyring.Keyring", "PYTHONPATH": ":".join(paths)}


def found(done, name):
    return [check["found"] for check in json.loads(done.stdout)["checks"] if check["name"] == name]


@pytest.mark.parametrize(
    ("env", "credentials", "urls"),
    [
        (LOCAL, ["none needed"], ["http://localhost:1/v1 (OPENAI_BASE_URL)"]),
        (
            {"QUILLBACK_MODEL": "openai:gpt-5.6-terra", "OPENAI_API_KEY": KEY},
            ["OPENAI_API_KEY"],
            ["https://api.openai.com (default)"],
        ),
        (
            {**LOCAL, "QUILLBACK_SMALL_MODEL": "claude-haiku-5-5", "ANTHROPIC_API_KEY": KEY},
            ["OpenAI: none needed", "Anthropic: ANTHROPIC_API_KEY"],
            ["OpenAI: http://localhost:1/v1 (OPENAI_BASE_URL)", "Anthropic: https://api.anthropic.com (default)"],
        ),
    ],
)
def test_doctor_looks_at_the_services_that_are_used(shell, env, credentials, urls):
    done = shell("doctor", "--json", env=env)
    assert done.returncode == 0, done.stdout
    assert (found(done, "credentials"), found(done, "base URL")) == (credentials, urls)
    assert KEY not in done.stdout + done.stderr


def test_doctor_says_what_to_do_without_a_key(shell):
    done = shell("doctor", env={"QUILLBACK_MODEL": "openai:gpt-5.6-terra"})
    assert done.returncode == 1
    assert "No OpenAI API key" in done.stdout
    assert "OPENAI_API_KEY, or api_key_command under [openai] in" in done.stdout


@pytest.mark.parametrize("arguments", [["--provider", "openai"], []])
def test_login_keeps_the_key_of_the_service_that_is_used(shell, keeping, arguments):
    env = {**keeping, "QUILLBACK_MODEL": "openai:gpt-5.6-terra"}
    done = shell("login", *arguments, stdin=f"{KEY}\n", env=env)
    assert (done.returncode, done.stderr) == (0, "")
    assert (shell.place / "kept-openai.txt").read_text() == KEY
    assert not (shell.place / "kept-anthropic.txt").exists()
    assert found(shell("doctor", "--json", env=env), "credentials") == ["system keyring"]
    assert "is removed" in shell("login", *arguments, "--forget", env=env).stdout
    assert not (shell.place / "kept-openai.txt").exists()


def test_models_shows_what_can_be_reached(shell):
    done = shell("models", "--json", env={"OPENAI_API_KEY": KEY, "QUILLBACK_MODEL": "openai:gpt-5.6-luna"})
    rows = {model["id"]: model for model in json.loads(done.stdout)["models"]}
    luna = rows["openai:gpt-5.6-luna"]
    assert (luna["default"], luna["small"], luna["provider"]) == (True, True, "openai")
    assert "openai:gpt-6.2-sol" in rows
    assert "?" in shell("models", env=LOCAL).stdout
