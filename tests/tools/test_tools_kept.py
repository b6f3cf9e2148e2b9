"""Kept outputs: which go with the time, and which never."""

import os
from pathlib import Path

import pytest

from quillback.tools.kept import AGE, DAY, sweep

NOW = 1_800_000_000.0


@pytest.fixture
def outputs(tmp_path: Path) -> Path:
    return tmp_path / "outputs"


def keep(outputs: Path, name: str, days: float, size: int = 10) -> Path:
    path = outputs / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x" * size)
    os.utime(path, (NOW - days * DAY,) * 2)
    return path


def left(outputs: Path) -> set[str]:
    return {path.relative_to(outputs).as_posix() for path in outputs.rglob("*") if path.is_file()}


def test_old_outputs_go_with_their_directory_and_younger_ones_stay(outputs: Path):
    for name, days in (("s1/a", 31), ("s1/b", 40), ("s2/a", 31), ("s2/b", 29), ("s3/a", 0)):
        keep(outputs, name, days)
    assert sweep(outputs, (), NOW) == 3
    assert left(outputs) == {"s2/b", "s3/a"}
    assert not (outputs / "s1").exists()


def test_nothing_of_an_open_session_goes(outputs: Path):
    for name in ("s1/a", "s2/a"):
        keep(outputs, name, 400, 1000)
    assert sweep(outputs, {"s1"}, NOW, size=1) == 1
    assert left(outputs) == {"s1/a"}


def test_where_they_are_too_many_the_oldest_go_first_but_none_of_the_last_day(outputs: Path):
    for days in (0.5, 2, 3, 4):
        keep(outputs, f"s{days}/a", days, 100)
    assert sweep(outputs, (), NOW, size=250) == 2
    assert left(outputs) == {"s0.5/a", "s2/a"}
    assert sweep(outputs, (), NOW, size=1) == 1
    assert left(outputs) == {"s0.5/a"}


def test_links_and_strange_entries_are_left_alone(outputs: Path, tmp_path: Path):
    elsewhere = keep(tmp_path, "elsewhere/file", 400)
    keep(outputs, "s1/a", 400)
    (outputs / "link").symlink_to(elsewhere.parent)
    (outputs / "s1/link").symlink_to(elsewhere)
    (outputs / "s1/deep").mkdir()
    keep(outputs, "stray", 400)
    assert sweep(outputs, (), NOW) == 1
    assert elsewhere.exists()
    assert (outputs / "s1/link").is_symlink()
    assert left(outputs) >= {"stray"}


def test_without_any_outputs_nothing_happens(outputs: Path):
    assert sweep(outputs, (), NOW, age=AGE) == 0
    assert not outputs.exists()
