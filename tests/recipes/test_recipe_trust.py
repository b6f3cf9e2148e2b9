"""A project's recipes belong to the files that are trusted as they are."""

from pathlib import Path

import pytest

from quillback.project_tools import effects
from quillback.trust import Standing, Trust

TEXT = "prompt: x\nchecks: [make test]\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project/.quillback/recipes"
    folder.mkdir(parents=True)
    (folder / "one.yaml").write_text(TEXT)
    (folder / "two.yml").write_text(TEXT)
    (folder / "notes.txt").write_text("no recipe")
    return (tmp_path / "project").resolve()


def test_recipes_alone_need_trust_and_are_named(tmp_path, project):
    trust = Trust(tmp_path / "home")
    seen = trust.look(project)
    assert (seen.standing, dict(seen.settings.recipes)) == (Standing.NEW, {})
    (line,) = effects(seen.files.settings)
    assert line == "add recipes, which run commands: .quillback/recipes/one.yaml, .quillback/recipes/two.yml"
    trust.grant(seen)
    names = [".quillback/recipes/one.yaml", ".quillback/recipes/two.yml"]
    assert trust.look(project).settings.recipes == dict.fromkeys(names, TEXT.encode())


def test_one_that_changes_comes_or_goes_takes_trust_away(tmp_path, project):
    trust = Trust(tmp_path / "home")
    trust.grant(trust.look(project))
    folder = project / ".quillback/recipes"
    (folder / "notes.txt").write_text("changed")
    assert trust.look(project).standing is Standing.TRUSTED
    (folder / "one.yaml").write_text(TEXT + "#")
    assert trust.look(project).changed == (".quillback/recipes/one.yaml",)
    (folder / "one.yaml").write_text(TEXT)
    (folder / "three.yaml").write_text(TEXT)
    assert trust.look(project).standing is Standing.CHANGED
    (folder / "three.yaml").unlink()
    (folder / "two.yml").unlink()
    assert trust.look(project).standing is Standing.CHANGED


def test_a_link_to_a_directory_cannot_be_trusted(tmp_path, project):
    (project / ".quillback/recipes/more").symlink_to(tmp_path)
    assert Trust(tmp_path / "home").look(project).standing is Standing.UNFIT
