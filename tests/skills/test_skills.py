"""Skills and context files: found, in a fixed order, bounded, and told when one cannot be used."""

import os
from pathlib import Path

import pytest

from quillback.core.message import Text
from quillback.core.ports import ToolError
from quillback.skills.catalog import joined, project_skills, user_skills
from quillback.skills.context_files import ALL_LIMIT, FILE_LIMIT, context
from quillback.skills.tool import SkillBox

pytestmark = pytest.mark.anyio


def skill(directory: Path, name: str, text: str) -> None:
    (directory / name).mkdir(parents=True)
    (directory / name / "SKILL.md").write_text(text)


def test_a_skill_has_a_name_a_description_and_a_body(tmp_path: Path):
    skill(tmp_path, "deploy", "---\nname: ship-it\ndescription: How to deploy\n---\nRun make ship.\n")
    skill(tmp_path, "plain", "# Write tests\n\nAlways.")
    (first, second) = user_skills(tmp_path, print)
    assert (first.name, first.description, first.body) == ("ship-it", "How to deploy", "Run make ship.")
    assert (second.name, second.description) == ("plain", "Write tests")
    assert first.directory == str(tmp_path / "deploy")


@pytest.mark.parametrize(("text", "why"), [("", "says nothing"), ("---\nname: ../x\n---\na", "name"), ("a\0", "text")])
def test_one_that_cannot_be_used_is_told_and_the_others_work(tmp_path: Path, text, why):
    skill(tmp_path, "bad", text)
    skill(tmp_path, "good", "Do it.")
    told: list[str] = []
    assert [s.name for s in user_skills(tmp_path, told.append)] == ["good"]
    assert len(told) == 1
    assert why in told[0]
    assert "SKILL.md" in told[0]


def test_no_directory_no_skills(tmp_path: Path):
    assert user_skills(tmp_path / "none", pytest.fail) == []


def test_the_users_own_count_before_the_projects(tmp_path: Path):
    skill(tmp_path, "b", "mine")
    contents = {
        ".quillback/skills/b/SKILL.md": b"theirs",
        ".quillback/skills/a/SKILL.md": b"a",
        ".claude/skills/a/SKILL.md": b"second",
        ".claude/skills/c/notes.md": b"not a skill",
    }
    found = joined(user_skills(tmp_path, print), project_skills(Path("/p"), contents, print))
    assert {name: s.body for name, s in found.items()} == {"a": "a", "b": "mine"}


async def test_the_tool_names_them_and_gives_the_text(tmp_path: Path):
    skill(tmp_path, "deploy", "---\ndescription: How to deploy\n---\nRun make ship.")
    (tool,) = SkillBox(joined(user_skills(tmp_path, print))).tools()
    assert "- deploy: How to deploy" in tool.spec.description
    prepared = await tool.prepare("c1", {"name": "deploy"})
    (outcome,) = [item async for item in prepared.run()]
    text = "".join(p.text for p in outcome.content if isinstance(p, Text))
    assert "Run make ship." in text
    assert str(tmp_path / "deploy") in text
    with pytest.raises(ToolError, match="the skills are deploy"):
        await tool.prepare("c2", {"name": "nope"})


def test_without_skills_there_is_no_tool():
    assert SkillBox({}).tools() == []


# ---------------------------------------------------------------- context files


def order(text: str, *pieces: str) -> list[int]:
    places = [text.index(piece) for piece in pieces]
    assert places == sorted(places)
    return places


def test_they_come_from_the_user_then_from_the_top_of_the_repository_down(tmp_path: Path):
    home, top = tmp_path / "home", tmp_path / "repo"
    root = top / "a" / "b"
    root.mkdir(parents=True)
    home.mkdir()
    (top / ".git").mkdir()
    (home / "AGENTS.md").write_text("MINE")
    (top / "CLAUDE.md").write_text("TOP-CLAUDE")
    (top / "AGENTS.md").write_text("TOP-AGENTS")
    (root / "AGENTS.md").write_text("BELOW")
    (tmp_path / "AGENTS.md").write_text("OUTSIDE")
    text = context(home, [root], pytest.fail)
    order(text, "MINE", "TOP-AGENTS", "TOP-CLAUDE", "BELOW")
    assert "OUTSIDE" not in text
    assert text == context(home, [root], pytest.fail)


def test_outside_a_repository_only_the_root_counts(tmp_path: Path):
    (tmp_path / "AGENTS.md").write_text("ABOVE")
    root = tmp_path / "root"
    root.mkdir()
    assert context(tmp_path / "none", [root], pytest.fail) == ""


def test_a_link_to_another_is_told_once(tmp_path: Path):
    (tmp_path / "AGENTS.md").write_text("THE-RULES")
    (tmp_path / "CLAUDE.md").symlink_to("AGENTS.md")
    assert context(tmp_path / "none", [tmp_path], pytest.fail).count("THE-RULES") == 1


def test_they_are_bounded_and_what_is_left_out_is_told(tmp_path: Path):
    (tmp_path / "AGENTS.md").write_text("x" * (FILE_LIMIT + 1))
    (tmp_path / "CLAUDE.md").write_text("a" * (FILE_LIMIT - 1))
    (tmp_path / "GEMINI.md").write_text("b" * (FILE_LIMIT - 1))
    (tmp_path / "CRUSH.md").write_text("c" * (FILE_LIMIT - 1))
    told: list[str] = []
    text = context(tmp_path / "none", [tmp_path], told.append)
    assert len(text) < ALL_LIMIT + 2_000
    assert [t.split(" ", 1)[0].rpartition("/")[2] for t in told] == ["AGENTS.md", "CRUSH.md"]


@pytest.mark.parametrize("name", ["AGENTS.md", "CLAUDE.md"])
def test_a_link_out_of_the_workspace_is_not_followed(tmp_path: Path, name):
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "credentials").write_text("SECRET")
    (tmp_path / "notes.md").write_text("SECRET")
    for target in ("credentials", "notes.md"):
        (root / name).unlink(missing_ok=True)
        (root / name).symlink_to(tmp_path / target)
        told: list[str] = []
        assert context(tmp_path / "none", [root], told.append) == ""
        assert "outside of the workspace" in told[0]


def test_a_link_to_a_file_that_is_no_text_for_agents_is_not_followed(tmp_path: Path):
    (tmp_path / ".env").write_text("KEY=SECRET")
    (tmp_path / "AGENTS.md").symlink_to(".env")
    told: list[str] = []
    assert context(tmp_path / "none", [tmp_path], told.append) == ""
    assert ".env" in told[0]


def test_links_inside_the_workspace_and_the_users_own_are_followed(tmp_path: Path):
    root, home = tmp_path / "root", tmp_path / "home"
    (root / "docs").mkdir(parents=True)
    home.mkdir()
    (root / "docs/agents.md").write_text("THE-RULES")
    (root / "AGENTS.md").symlink_to("docs/agents.md")
    (tmp_path / "dotfile").write_text("MINE")
    (home / "AGENTS.md").symlink_to(tmp_path / "dotfile")
    assert len(order(context(home, [root], pytest.fail), "MINE", "THE-RULES")) == 2


def test_a_directory_that_is_a_link_leads_nowhere_else(tmp_path: Path):
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets/copilot-instructions.md").write_text("SECRET")
    (root / ".github").symlink_to(tmp_path / "secrets")
    told: list[str] = []
    assert context(tmp_path / "none", [root], told.append) == ""
    assert "outside of the workspace" in told[0]


def test_a_link_that_is_turned_while_it_is_read_leads_nowhere_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    root = tmp_path / "root"
    root.mkdir()
    (root / "real.md").write_text("FINE")
    (tmp_path / "AGENTS.md").write_text("SECRET")
    link = root / "AGENTS.md"
    link.symlink_to(tmp_path / "AGENTS.md")
    opened = os.open

    def turning(path, *rest):
        handle = opened(path, *rest)
        if path == link:
            link.unlink()
            link.symlink_to("real.md")
        return handle

    monkeypatch.setattr("os.open", turning)
    told: list[str] = []
    assert context(tmp_path / "none", [root], told.append) == ""
    assert "outside of the workspace" in told[0]


def test_a_repository_of_somebody_else_above_does_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    root = tmp_path / "repo" / "below"
    root.mkdir(parents=True)
    (tmp_path / ".git").mkdir()
    (tmp_path / "repo/.git").mkdir()
    (tmp_path / "repo/AGENTS.md").write_text("ABOVE")
    (root / "AGENTS.md").write_text("HERE")
    assert "ABOVE" in context(tmp_path / "none", [root], pytest.fail)
    owner = os.geteuid()
    monkeypatch.setattr("os.geteuid", lambda: owner + 1)
    text = context(tmp_path / "none", [root], pytest.fail)
    assert "HERE" in text
    assert "ABOVE" not in text


def test_a_skill_has_nothing_that_a_terminal_would_obey(tmp_path: Path):
    skill(tmp_path, "odd", "---\ndescription: a\u202eb\n---\nx\x1b[2Jy\u2066z")
    (found,) = user_skills(tmp_path, print)
    assert (found.description, found.body) == ("ab", "x[2Jyz")


def test_what_a_terminal_would_obey_is_left_out(tmp_path: Path):
    (tmp_path / "AGENTS.md").write_text("a\x1b[31mb\u202ec\td\n")
    assert "a[31mbc\td" in context(tmp_path / "none", [tmp_path], pytest.fail)
