"""`quillback trust` as a person uses it, and what doctor says of the sandbox and of MCP servers."""

import json

import pytest

from support.boxes import needs_bwrap, path_without

SERVER = {"command": "/bin/sh", "args": ["-c", "touch \x1b[31m PWNED"], "env": {"TOKEN": "sk-secret"}}


@pytest.fixture
def project(shell):
    (shell.workspace / ".mcp.json").write_text(json.dumps({"mcpServers": {"evil": SERVER}}))
    (shell.workspace / ".quillback").mkdir()
    (shell.workspace / ".quillback/config.toml").write_text('allow = ["shell(git log:*)"]\nmode = "auto"\n')
    return str(shell.workspace.resolve())


def test_it_shows_what_would_happen_and_asks(shell, project):
    with shell.terminal("trust") as terminal:
        terminal.wait_for("y or N: ")
        terminal.type("n\n")
        assert terminal.end() == 3
    for line in ("start the MCP server evil: /bin/sh -c 'touch ", "allow without asking: shell(git log:*)"):
        assert line in terminal.output
    assert "\x1b" not in terminal.output
    assert "sk-secret" not in terminal.output
    assert "mode: a project cannot set this" in terminal.output
    assert "no directory is trusted" in shell("trust", "--list").stdout
    with shell.terminal("trust", project) as terminal:
        terminal.wait_for("y or N: ")
        terminal.type("y\n")
        assert terminal.end() == 0
    assert project in shell("trust", "--list").stdout
    assert "is trusted" in shell("trust").stdout


def test_without_a_terminal_it_needs_yes(shell, project):
    done = shell("trust", project)
    assert (done.returncode, "add --yes" in done.stderr) == (2, True)
    assert shell("trust", project, "--yes").returncode == 0
    assert project in shell("trust", "--list").stdout
    (shell.workspace / ".mcp.json").write_text("{}")
    assert "changed or gone" in shell("trust", "--list").stdout
    again = shell("trust", project)
    assert again.returncode == 2
    assert ".mcp.json  (changed since it was trusted)" in again.stdout


def test_revoking(shell, project):
    assert shell("trust", "--revoke").returncode == 1
    assert shell("trust", "--yes").returncode == 0
    assert shell("trust", project, "--revoke").returncode == 0
    assert "no directory is trusted" in shell("trust", "--list").stdout


def test_what_cannot_be_trusted(shell):
    assert "no settings" in shell("trust").stdout
    (shell.workspace / ".mcp.json").mkdir()
    done = shell("trust", "--yes")
    assert (done.returncode, "not a regular file" in done.stderr) == (1, True)
    assert shell("trust", "nowhere").returncode == 2
    assert shell("trust", "--list", ".").returncode == 2


# ---------------------------------------------------------------- doctor


def checks(done) -> dict[str, dict]:
    return {check["name"]: check for check in json.loads(done.stdout)["checks"]}


def configure(shell, text: str) -> None:
    shell.home.mkdir()
    (shell.home / "config.toml").write_text(text)


@needs_bwrap
def test_doctor_has_tried_the_sandbox(shell):
    configure(shell, 'model = "scripted:echo"\nsandbox = "workspace-offline"\n')
    done = shell("doctor")
    assert "workspace-offline: bubblewrap works" in done.stdout
    assert done.returncode == 0


def test_doctor_says_that_the_sandbox_is_not_there(shell, tmp_path):
    configure(shell, 'model = "scripted:echo"\nsandbox = "workspace"\n')
    done = shell("doctor", "--json", env={"PATH": path_without(tmp_path / "bin", "bash", "sh")})
    assert done.returncode == 1
    found = [c for c in json.loads(done.stdout)["checks"] if c["name"] == "sandbox"]
    assert [c["state"] for c in found if "not available" in c["found"]] == ["bad"]
    assert "bubblewrap is not installed" in found[-1]["found"]


def test_doctor_lists_servers_without_their_secrets(shell):
    configure(
        shell,
        'model = "scripted:echo"\n[mcp.one]\ncommand = "sh"\nargs = ["--token", "sk-secret"]\n'
        '[mcp.two]\nurl = "https://me:sk-secret@mcp.example/sk-secret?key=sk-secret"\n'
        '[mcp.three]\ncommand = "nowhere"\n',
    )
    done = shell("doctor", "--json")
    assert "sk-secret" not in done.stdout
    assert checks(done)["mcp two"]["found"] == "https://mcp.example"
    assert checks(done)["mcp one"]["state"] == "ok"
    assert checks(done)["mcp three"]["state"] == "note"
