"""Skills: directories with a SKILL.md, the user's own and those of a trusted project."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from attrs import frozen

from quillback.core.text import one_line, plain
from quillback.documents.front_matter import parted, values
from quillback.documents.reading import UnfitError, as_text, read_bytes

SIZE_LIMIT = 100 * 1024
SKILLS_LIMIT = 100
DESCRIPTION_LIMIT = 300
FILE = "SKILL.md"
PROJECT_FOLDERS = (".quillback/skills", ".claude/skills")
"""Where a project keeps skills; what is in the first counts before what is in the second."""
_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,63}")


@frozen
class Skill:
    """`directory` is where its other files are, an absolute path."""

    name: str
    description: str
    body: str
    directory: str


def read_skill(directory: Path, data: bytes) -> Skill:
    """Raises UnfitError."""
    front, body = parted(plain(as_text(data)))
    told = values(front, ("name", "description"))
    name = told.get("name") or directory.name
    if not _NAME.fullmatch(name):
        raise UnfitError("a skill's name has letters, digits, dots, - and _ only, 64 at most")
    if not body:
        raise UnfitError("it says nothing")
    description = told.get("description") or body.lstrip("#").strip().partition("\n")[0]
    return Skill(name, one_line(description, DESCRIPTION_LIMIT), body, str(directory))


def user_skills(directory: Path, notice: Callable[[str], None]) -> list[Skill]:
    """The skills below a directory of the user, by name."""
    return _skills(_files(directory), notice)


def project_skills(root: Path, contents: Mapping[str, bytes], notice: Callable[[str], None]) -> list[Skill]:
    """The skills of a project, from what was read of it: contents by their paths below `root`."""
    found = [
        (root / name, contents[name])
        for folder in PROJECT_FOLDERS
        for name in sorted(contents)
        if name.startswith(f"{folder}/") and Path(name).name == FILE
    ]
    return _skills(found, notice)


def joined(*groups: Iterable[Skill]) -> dict[str, Skill]:
    """All of them in the order of their names; the first of a name counts."""
    found: dict[str, Skill] = {}
    for group in groups:
        for skill in group:
            found.setdefault(skill.name, skill)
    return dict(sorted(found.items()))


def _files(directory: Path) -> Iterator[tuple[Path, bytes | UnfitError]]:
    try:
        places = sorted(p for p in directory.iterdir() if p.is_dir())[:SKILLS_LIMIT]
    except OSError:
        return
    for place in places:
        try:
            yield place / FILE, read_bytes(place / FILE, SIZE_LIMIT)
        except UnfitError as unfit:
            yield place / FILE, unfit
        except FileNotFoundError:
            continue
        except OSError as error:
            yield place / FILE, UnfitError(f"it cannot be read: {error.strerror}")


def _skills(files: Iterable[tuple[Path, bytes | UnfitError]], notice: Callable[[str], None]) -> list[Skill]:
    skills = []
    for path, data in files:
        try:
            if isinstance(data, UnfitError):
                raise data
            skills.append(read_skill(path.parent, data))
        except UnfitError as unfit:
            notice(f"The skill {path} cannot be used: {unfit}.")
    return skills
