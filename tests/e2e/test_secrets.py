"""X05: keys stay with the agent; commands, logs, the database, exports and other users do not get them."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from quillback_protocol.outgoing import RemoteError
from support.agent import KEY, agent, environment
from support.fake_model import FakeModel, Reply, Use
from support.play import play, shell
from support.requests import result_text

pytestmark = pytest.mark.anyio
OTHER = "sk-other-SECRET3-0123456789"
KEYS = {
    "OPENAI_API_KEY": OTHER,
    "ANTHROPIC_AUTH_TOKEN": "",
    "GEMINI_API_KEY": "gemini-SECRET4-0123456789",
    "COPY_OF_IT": KEY,
    "MY_SECRET": "named-SECRET5-0123456789",
    "AWS_SECRET_ACCESS_KEY": "aws-for-commands",
    "HARMLESS": "harmless-value",
    "QUILLBACK_MODE": "auto",
}
HIDDEN = (KEY, OTHER, "SECRET4", "SECRET5")


def holding(root: Path, text: str) -> list[str]:
    """The files below `root` whose bytes hold `text`."""
    return [str(p) for p in root.rglob("*") if p.is_file() and text.encode() in p.read_bytes()]


async def test_commands_get_no_keys_of_model_services(tmp_path, fake: FakeModel):
    home = tmp_path / "home" / "quillback"
    home.mkdir(parents=True)
    (home / "config.toml").write_text('secret_env = ["MY_SECRET"]\n')
    async with agent(tmp_path, fake.base_url, env=KEYS) as a:
        session = await a.session()
        commands = ("env", "cat /proc/self/environ", "python3 -c 'import os; print(os.environ)'", "set; export -p")
        outputs = await shell(a, fake, session, *commands, 'echo "[$ANTHROPIC_API_KEY$OPENAI_API_KEY]"')
        _, job = await play(
            a,
            fake,
            session,
            Use("shell", {"command": "env", "background": True}),
            Use("shell_output", {"job": "job_1", "wait": 10}),
        )
        for output in (*outputs, result_text(job)):
            assert not [secret for secret in HIDDEN if secret in output]
        assert outputs[4].strip() == "[]"
        for output in (*outputs[:4], result_text(job)):
            assert "harmless-value" in output  # the environment was shown, and what is not ours is passed on
            assert "aws-for-commands" in output
        assert "PATH=" in outputs[0]
        assert f"HOME={tmp_path / 'home'}" in outputs[0]


async def test_the_key_is_written_nowhere(tmp_path, fake: FakeModel):
    fake.script("bad", Reply(status=401, error=("authentication_error", f"invalid key {KEY}, sent as Bearer {KEY}")))
    fake.script("worse", Reply(status=400, error=("invalid_request_error", f"odd header x-api-key: {KEY}")))
    fake.script("html", Reply(status=502, error=("", f"<html>{KEY}</html>")))
    async with agent(tmp_path, fake.base_url, env={**KEYS, "QUILLBACK_LOG": "debug"}) as a:
        session = await a.session()
        await shell(a, fake, session, "env")
        for token in ("bad", "worse"):
            with pytest.raises(RemoteError) as refused:
                await a.client.prompt(session, f"[[{token}]]")
            assert KEY not in f"{refused.value.message} {refused.value.data}"
        assert await a.client.close() == 0
        assert KEY not in str(a.client.log)
        assert KEY not in a.client.stderr
        assert a.client.stderr  # there was a log to look at
    assert holding(tmp_path, KEY) == []
    assert holding(tmp_path, session)  # this is how it would be found
    for form in ("json", "markdown"):
        argv = [sys.executable, "-m", "quillback", "sessions", "export", session, "--format", form]
        env = environment(tmp_path / "home", fake.base_url, KEYS)
        done = subprocess.run(argv, env=env, capture_output=True, text=True, cwd=tmp_path / "workspace")
        assert done.returncode == 0, done.stderr
        assert "[[bad]]" in done.stdout
        assert KEY not in done.stdout + done.stderr


async def test_what_is_kept_is_the_users_alone(tmp_path, fake: FakeModel):
    old = os.umask(0)  # the widest there is
    try:
        async with agent(tmp_path, fake.base_url, env={"QUILLBACK_MODE": "auto"}) as a:
            await shell(a, fake, await a.session(), "seq 20000")
            home = tmp_path / "home" / "quillback"
            files = {p.name: p for p in home.rglob("*")}
            assert {"quillback.db", "quillback.db-wal", "quillback.db-shm"} <= files.keys()
            assert any(p.suffix == ".txt" for p in files.values())
            open_ones = [str(p) for p in (home, *files.values()) if stat.S_IMODE(p.stat().st_mode) & 0o077]
            assert open_ones == []
    finally:
        os.umask(old)
