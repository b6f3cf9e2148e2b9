"""`quillback undo` and `quillback sessions fork`: files go back, and a session goes on twice."""

import json

import pytest

EDITS = """\
text: I will write.
call: write_file {"path": "new/file.txt", "content": "one\\n"}
call: edit_file {"path": "old.txt", "old_text": "", "new_text": "made\\n"}
---
text: Done.
---
call: read_file {"path": "new/file.txt"}
---
call: write_file {"path": "new/file.txt", "content": "two\\n"}
---
text: Done again.
"""


def sessions(shell, *arguments: str) -> list[dict]:
    return json.loads(shell("sessions", "list", "--json", *arguments).stdout)


@pytest.fixture
def stored(shell) -> str:
    """The id of a session with two turns that changed files."""
    shell.script(EDITS.partition("---\ncall: read_file")[0])
    assert shell("run", "--mode", "auto", "Make files").returncode == 0
    shell.script("call: read_file" + EDITS.partition("---\ncall: read_file")[2])
    assert shell("run", "--mode", "auto", "--continue", "Change one").returncode == 0
    (session,) = sessions(shell)
    return session["id"]


def test_undo_goes_back_turn_by_turn_and_tells_the_session(shell, stored):
    file = shell.workspace / "new" / "file.txt"
    assert file.read_text() == "two\n"
    done = shell("undo", stored[-8:])
    assert (done.returncode, done.stderr) == (0, "")
    assert "“Change one”:\n\n- restored `new/file.txt`\n" in done.stdout
    assert file.read_text() == "one\n"
    done = shell("undo", stored)
    assert (done.returncode, done.stderr) == (0, "")
    assert "- removed `new/file.txt`\n- removed `old.txt`\n" in done.stdout
    assert list(shell.workspace.iterdir()) == []
    done = shell("undo", stored)
    assert (done.returncode, done.stderr) == (0, "")
    assert "nothing to undo" in done.stdout
    shown = shell("sessions", "show", stored).stdout
    assert shown.count("Undid the file changes") == 2
    assert "The user undid" not in shown
    told = json.loads(shell("sessions", "export", stored, "--format", "json").stdout)["messages"]
    hidden = [m for m in told if not m["visible_to_user"]]
    assert ["The user undid" in m["parts"][0]["text"] for m in hidden] == [True, True]


def test_what_was_changed_since_is_left_alone(shell, stored):
    (shell.workspace / "new" / "file.txt").write_text("mine\n")
    done = shell("undo", stored)
    assert done.returncode == 1
    assert "- left alone `new/file.txt`: changed since the agent wrote it" in done.stdout
    assert (shell.workspace / "new" / "file.txt").read_text() == "mine\n"


def test_a_session_that_is_open_elsewhere_is_not_undone(shell, stored):
    shell.script("text: Beginning.\nwait: 60s\ntext: Never.")
    with shell.start("run", "--json", "--continue", "go") as process:
        assert any("Beginning." in line for line in process.stdout)
        done = shell("undo", stored)
        assert done.returncode == 1
        assert str(process.pid) in done.stderr
        assert (shell.workspace / "new" / "file.txt").read_text() == "two\n"
        forked = shell("sessions", "fork", stored)
        assert forked.returncode == 0, "a fork takes nothing away from its owner"


def test_undo_names_what_it_does_not_know(shell, stored):
    assert shell("undo", "sess_nobody").returncode == 2
    assert shell("undo").returncode == 2


def test_what_is_kept_goes_with_the_session(shell, stored):
    assert shell("sessions", "delete", stored, "--yes").returncode == 0
    assert shell("undo", stored).returncode == 2
    assert (shell.workspace / "new" / "file.txt").read_text() == "two\n"


def test_fork(shell, stored):
    done = shell("sessions", "fork", stored)
    assert (done.returncode, done.stderr) == (0, "")
    fork = done.stdout.strip()
    assert {s["id"]: s["title"] for s in sessions(shell)} == {stored: "Make files", fork: "Make files (fork)"}
    messages = json.loads(shell("sessions", "export", stored, "--format", "json").stdout)["messages"]
    first = next(m["id"] for m in messages if m["role"] == "assistant")
    early = shell("sessions", "fork", stored, "--at", first).stdout.strip()
    copies = json.loads(shell("sessions", "export", early, "--format", "json").stdout)["messages"]
    assert [m["role"] for m in copies] == ["user", "assistant", "tool", "tool"]
    assert not {m["id"] for m in copies} & {m["id"] for m in messages}
    shell.script("text: Going on.")
    assert "Going on." in shell("run", "--session", early, "Another way").stdout
    assert "nothing to undo" in shell("undo", fork).stdout, "the files belong to the original"
    refused = shell("sessions", "fork", stored, "--at", "msg_nobody")
    assert refused.returncode == 2
    assert "msg_nobody" in refused.stderr
    assert len(sessions(shell)) == 3


def test_export_as_html(shell, stored):
    out = shell.place / "out.html"
    done = shell("sessions", "export", stored, "--format", "html", "-o", str(out))
    assert (done.returncode, done.stdout) == (0, "")
    text = out.read_text()
    assert text.startswith("<!doctype html>\n")
    assert "<title>Make files</title>" in text
    assert '<span class="add">+two</span>' in text
    assert text == shell("sessions", "export", stored, "--format", "html").stdout
