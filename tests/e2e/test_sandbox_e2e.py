"""The configured sandbox in the real process: confined without a question, asked about where it is not."""

from pathlib import Path

import pytest

from support.agent import agent, calls, result_of, scripted
from support.boxes import elsewhere, needs_bwrap, path_without

pytestmark = pytest.mark.anyio


def configure(tmp_path: Path, text: str) -> Path:
    """The file of the settings, which now says `text`."""
    home = tmp_path / "home" / "quillback"
    home.mkdir(parents=True)
    config = home / "config.toml"
    config.write_text(text)
    return config


def call(**arguments: object) -> str:
    import json

    return f"call: shell {json.dumps(arguments)}"


@needs_bwrap
async def test_in_auto_mode_only_the_way_out_is_asked_about(tmp_path):
    config = configure(tmp_path, 'mode = "auto"\nsandbox = "workspace-offline"\n')
    with elsewhere() as outside:
        script = "\n---\n".join(
            [
                call(command=f"echo x > inside; echo x > {outside}/a"),
                call(command=f"cat {config}"),
                call(command=f"echo x > {outside}/b", outside_sandbox=True, reason="it belongs there"),
                "text: done",
            ]
        )
        async with agent(tmp_path, env=scripted(tmp_path, script)) as a:
            turn = await a.client.prompt(await a.session(), "go")
            assert turn.text == "done"
            first, second, _ = calls(turn.updates).values()
            assert "Read-only file system" in result_of(first)
            assert "No such file" in result_of(second)
            assert (a.workspace / "inside").exists()
            assert [p.name for p in outside.iterdir()] == ["b"]
            reasons = [
                c["content"]["text"] for q in a.asked for c in q["toolCall"]["content"] if c["type"] == "content"
            ]
            assert len(a.asked) >= 1
            assert "this command is to run outside the sandbox (it belongs there)" in str(reasons)


@pytest.mark.parametrize("answer", ["allow_once", "reject_once"])
async def test_where_there_is_none_every_command_is_asked_about(tmp_path, answer):
    configure(tmp_path, 'mode = "auto"\nsandbox = "workspace"\n')
    env = scripted(tmp_path, f"{call(command='echo x > made')}\n---\ntext: done")
    env["PATH"] = path_without(tmp_path / "bin", "bash", "sh")
    async with agent(tmp_path, env=env, permissions=answer) as a:
        turn = await a.client.prompt(await a.session(), "go")
        assert turn.text.endswith("done")
        (asked,) = a.asked
        assert "the sandbox is configured but not available (bubblewrap is not installed" in str(asked)
        assert "this command runs without it" in str(asked)
        assert (a.workspace / "made").exists() == (answer == "allow_once")
