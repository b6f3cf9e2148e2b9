"""`quillback sessions`: what is stored can be listed, read, exported and forgotten, without disturbing its owner."""

import json
import os
import signal

import pytest

TURN = """\
think: Let me see.
text: I will write.
call: write_file {"path": "new.txt", "content": "one\\n"}
call: shell {"command": "echo ```; echo \\u001b[31m; cat gone"}
---
text: # Done\\n\\nAll of it.
"""


def listed(shell, *arguments: str) -> list[dict]:
    return json.loads(shell("sessions", "list", "--json", *arguments).stdout)


@pytest.fixture
def stored(shell) -> str:
    """The id of a session with one turn."""
    shell.script(TURN)
    assert shell("run", "--yes", "Make", "a", "file", "\x1b[2J").returncode == 0
    (session,) = listed(shell)
    return session["id"]


def test_list(shell, stored):
    other = shell.workspace / "other"
    other.mkdir()
    assert shell("run", "--yes", "--cwd", "other", "Elsewhere").returncode == 0
    lines = shell("sessions", "list").stdout.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith(f"{stored}  20")
    assert lines[0].endswith("Make a file [2J")
    assert [s["title"] for s in listed(shell, "--cwd", "other")] == ["Elsewhere"]
    assert [s["title"] for s in listed(shell, "--all")] == ["Elsewhere", "Make a file [2J"]
    assert [s["title"] for s in listed(shell, "--all", "--limit", "1")] == ["Elsewhere"]
    assert str(other) in shell("sessions", "list", "--all").stdout
    cut = shell("sessions", "list", "--all", "--limit", "1")
    assert cut.stderr == "1 of 2; --limit N shows more\n"
    assert len(cut.stdout.splitlines()) == 1


def test_a_directory_is_known_by_any_path_to_it(shell, stored):
    link = shell.place / "link"
    link.symlink_to(shell.workspace)
    assert [s["id"] for s in listed(shell, "--cwd", str(link))] == [stored]


def test_an_empty_home_lists_nothing_and_makes_nothing(shell):
    assert listed(shell) == []
    assert "no sessions" in shell("sessions", "list").stdout
    assert not shell.home.exists()


def test_show_is_the_turn_again(shell, stored):
    done = shell("sessions", "show", stored)
    assert (done.returncode, done.stderr) == (0, "")
    assert "> Make a file ␛[2J\n\nthinking: Let me see.\n\nI will write.\n\n" in done.stdout
    assert "✓ Write new.txt\n" in done.stdout
    assert "  +one\n" in done.stdout
    assert "✗ $ echo ```" in done.stdout
    assert "# Done\n\nAll of it.\n" in done.stdout
    assert "\x1b" not in done.stdout


@pytest.mark.parametrize("piece", [slice(None), slice(-6, None), slice(0, 16), slice(5, 20)])
def test_an_id_may_be_a_piece(shell, stored, piece):
    assert stored in shell("sessions", "show", stored[piece]).stdout


def test_a_piece_that_fits_two_is_refused_and_names_them(shell, stored):
    assert shell("run", "--yes", "more").returncode == 0
    done = shell("sessions", "show", "sess_")
    assert done.returncode == 2
    assert all(session["id"] in done.stderr for session in listed(shell))
    assert shell("sessions", "show", "ab").returncode == 2


def test_export_as_markdown(shell, stored):
    out = shell.place / "out.md"
    done = shell("sessions", "export", stored, "-o", str(out))
    assert (done.returncode, done.stdout) == (0, "")
    assert str(out) in done.stderr
    text = out.read_text()
    assert text.startswith("# Make a file [2J\n\n" + stored)
    assert "\n## Prompt\n\nMake a file ␛[2J\n" in text
    assert "\n### Thinking\n\n> Let me see.\n\n### Answer\n\nI will write.\n\n### Call: Write new.txt\n" in text
    assert "\n```diff\n--- /dev/null\n+++ new.txt\n@@ -0,0 +1 @@\n+one\n```\n" in text
    assert "\n````\necho ```;" in text, "a fence in the text does not end the block"
    assert "\n# Done\n\nAll of it.\n" in text
    assert "\x1b" not in text
    assert out.stat().st_mode & 0o777 == 0o666 & ~_umask()
    assert shell("sessions", "export", stored).stdout == text


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_export_as_json(shell, stored):
    told = json.loads(shell("sessions", "export", stored, "--format", "json").stdout)
    assert told["version"] == 1
    assert told["session"]["id"] == stored
    assert [m["role"] for m in told["messages"]] == ["user", "assistant", "tool", "tool", "assistant"]
    kinds = [p["type"] for m in told["messages"] for p in m["parts"]]
    assert kinds == ["text", "thinking", "text", "tool_use", "tool_use", "tool_result", "tool_result", "text"]


@pytest.mark.parametrize("kind", ["markdown", "json", "html"])
def test_exports_hold_no_secrets(shell, kind):
    secrets = {"ANTHROPIC_API_KEY": 'sk-quote"and-more', "ANTHROPIC_AUTH_TOKEN": "token-of-a-gateway"}
    said = f"{secrets['ANTHROPIC_API_KEY']} {secrets['ANTHROPIC_AUTH_TOKEN']} sk-ant-api03-AAAABBBBCCCCDDDD-x"
    assert shell("run", said, env={**secrets, "QUILLBACK_MODEL": "scripted:echo"}).returncode == 0
    (session,) = listed(shell)
    text = shell("sessions", "export", session["id"], "--format", kind, env=secrets).stdout
    assert text.count("[secret] [secret] [secret]") >= 2
    assert "token-of" not in text
    assert "and-more" not in text
    assert "AAAA" not in text


def test_an_export_that_cannot_be_written(shell, stored):
    done = shell("sessions", "export", stored, "-o", str(shell.place / "nowhere" / "x.md"))
    assert done.returncode == 1
    assert "nowhere/x.md cannot be written" in done.stderr


def test_delete_asks_in_a_terminal(shell, stored):
    with shell.terminal("sessions", "delete", stored) as terminal:
        terminal.wait_for("y or n: ")
        terminal.type("n\n")
        assert terminal.end() == 3
    assert [s["id"] for s in listed(shell)] == [stored]
    with shell.terminal("sessions", "delete", stored) as terminal:
        terminal.wait_for("y or n: ")
        terminal.type("y\n")
        assert terminal.end() == 0
    assert listed(shell) == []


def test_delete_without_a_terminal_needs_yes(shell, stored):
    assert shell("sessions", "delete", stored).returncode == 2
    assert shell("sessions", "delete", stored, "--yes").returncode == 0
    assert listed(shell) == []
    done = shell("sessions", "delete", stored, "--yes")
    assert done.returncode == 2
    assert stored in done.stderr


def test_a_session_that_runs_elsewhere_is_read_as_it_stands_and_left_alone(shell):
    shell.script("text: Beginning.\nwait: 60s\ntext: Never.")
    with shell.start("run", "--json", "go") as process:
        assert any("Beginning." in line for line in process.stdout)
        (session,) = listed(shell)
        shown = shell("sessions", "show", session["id"])
        assert "Beginning.\n" in shown.stdout
        assert "goes on in another process" in shown.stdout
        told = json.loads(shell("sessions", "export", session["id"], "--format", "json").stdout)
        assert told["messages"][-1]["state"] == "streaming"
        refused = shell("sessions", "delete", session["id"], "--yes")
        assert refused.returncode == 1
        assert str(process.pid) in refused.stderr
        busy = shell("run", "--continue", "more")
        assert busy.returncode == 1
        assert str(process.pid) in busy.stderr
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=5)
    assert (process.returncode, err) == (3, "")
    told = json.loads(shell("sessions", "export", session["id"], "--format", "json").stdout)
    assert [m["state"] for m in told["messages"]] == ["complete", "interrupted"]


def test_what_a_killed_process_left_is_shown(shell):
    shell.script('text: I will wait.\ncall: shell {"command": "sleep 60"}')
    with shell.start("run", "--json", "--mode", "auto", "go") as process:
        assert any('"tool_started"' in line for line in process.stdout)
        process.kill()
        process.wait(5)
    (session,) = listed(shell)
    shown = shell("sessions", "show", session["id"]).stdout
    assert "I will wait." in shown
    assert "(broke off here)" not in shown, "the reply had ended"
    assert "? $ sleep 60 (no result)" in shown


def test_a_reply_that_broke_off_says_so(shell):
    shell.script("text: Beginning.\nwait: 60s\ntext: Never.")
    with shell.start("run", "--json", "go") as process:
        assert any("Beginning." in line for line in process.stdout)
        process.send_signal(signal.SIGINT)
        process.wait(5)
    (session,) = listed(shell)
    assert "Beginning.\n\n(broke off here)\n" in shell("sessions", "show", session["id"]).stdout
    assert "Beginning.\n\n*(broke off here)*\n" in shell("sessions", "export", session["id"]).stdout


def test_delete_takes_the_kept_outputs_along(shell):
    shell.script('call: shell {"command": "seq 1 100000"}\n---\ntext: Done.')
    assert shell("run", "--mode", "auto", "go").returncode == 0
    (session,) = listed(shell)
    outputs = shell.home / "outputs"
    assert outputs.stat().st_mode & 0o777 == 0o700
    assert [f.name for f in outputs.iterdir()] == [session["id"]]
    assert any((outputs / session["id"]).iterdir())
    assert shell("sessions", "delete", session["id"], "--yes").returncode == 0
    assert list(outputs.iterdir()) == []


def test_an_export_with_wrong_settings_is_refused_for_what_it_could_tell(shell, stored):
    (shell.home / "config.toml").write_text('secret_env = "TOKEN"\n')
    done = shell("sessions", "export", stored)
    assert (done.returncode, done.stdout) == (2, "")
    assert "nothing was exported" in done.stderr
