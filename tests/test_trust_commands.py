"""Command files of a project are part of what is trusted."""

import os
from pathlib import Path

import pytest

from quillback.project_tools import summary
from quillback.trust import Standing, Trust

OURS, CLAUDES = ".quillback/commands/db/ship.md", ".claude/commands/fix.md"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    for name in (OURS, CLAUDES, ".claude/commands/notes.txt"):
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(f"text of {name}")
    return project


@pytest.fixture
def trust(tmp_path: Path) -> Trust:
    return Trust(tmp_path / "home")


def test_commands_count_only_as_they_were_trusted(trust: Trust, project: Path):
    found = trust.look(project)
    assert found.standing is Standing.NEW
    assert found.settings.commands == {}
    assert set(found.files.digests) == {OURS, CLAUDES}
    assert f"add slash commands: {OURS}, {CLAUDES}" in summary(found)
    trust.grant(found)
    assert trust.look(project).settings.commands[CLAUDES] == f"text of {CLAUDES}".encode()
    (project / CLAUDES).write_text("something else")
    changed = trust.look(project)
    assert (changed.standing, changed.changed, changed.settings.commands) == (Standing.CHANGED, (CLAUDES,), {})


def test_a_new_command_needs_trust_too(trust: Trust, project: Path):
    trust.grant(trust.look(project))
    (project / ".claude/commands/more.md").write_text("x")
    assert trust.look(project).changed == (".claude/commands/more.md",)


def test_what_cannot_be_checked_is_not_trusted(trust: Trust, project: Path):
    os.mkfifo(project / ".claude/commands/pipe.md")
    assert trust.look(project).standing is Standing.UNFIT
    (project / ".claude/commands/pipe.md").unlink()
    (project / ".claude/commands/linked").symlink_to(project)
    assert trust.look(project).standing is Standing.UNFIT


def test_the_users_own_directory_is_no_project(tmp_path: Path):
    home = tmp_path / ".quillback"
    (home / "commands").mkdir(parents=True)
    (home / "commands/mine.md").write_text("x")
    assert Trust(home).look(tmp_path).standing is Standing.EMPTY
