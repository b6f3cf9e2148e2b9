"""Holds the tree to the rules of the house. ARCHITECTURE.md states each rule and names its test here."""

import re
import tomllib
from collections.abc import Callable
from pathlib import Path

from quillback.core import turn_table
from support import house

ROOT = Path(__file__).resolve().parent.parent
FILES = house.tracked_files(ROOT)
SERVER = [name for name in FILES if name.startswith(house.SERVER) and name.endswith(".py")]
PROTOCOL = [name for name in FILES if name.startswith(house.PROTOCOL) and name.endswith(".py")]
CORE = [name for name in SERVER if house.part_of(name) == "core"]
CODE = [name for name in FILES if name.endswith((".py", ".ts", ".lua", ".sh")) or name.startswith(".ci/")]


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def broken(rule: Callable[[str, str], list[str]], names: list[str]) -> list[str]:
    assert names, "the rule would hold for nothing"
    return [found for name in names for found in rule(name, text_of(name))]


def test_parts_of_the_server_are_known():
    assert [found for name in SERVER for found in house.unknown_part(name)] == []


def test_imports_go_one_way():
    assert broken(house.direction, SERVER) == []


def test_core_is_pure():
    assert broken(house.purity, CORE) == []


def test_protocol_stands_alone():
    assert broken(house.protocol_alone, PROTOCOL) == []


def test_libraries_stay_where_they_belong():
    assert broken(house.confinement, SERVER) == []


def test_every_library_is_a_declared_dependency():
    project = tomllib.loads(text_of("pyproject.toml"))["project"]
    extras = project.get("optional-dependencies", {}).values()
    needs = [line for group in (project["dependencies"], *extras) for line in group]
    declared = frozenset(re.split(r"[^\w.-]", line)[0].replace("-", "_") for line in needs)
    assert [found for name in SERVER + PROTOCOL for found in house.undeclared(name, text_of(name), declared)] == []


def test_imports_are_absolute():
    assert broken(house.relative_imports, [name for name in FILES if name.endswith(".py")]) == []


def test_files_and_functions_stay_small():
    assert broken(house.too_long, SERVER + PROTOCOL) == []


def test_every_module_says_why_it_exists():
    assert broken(house.no_docstring, SERVER + PROTOCOL) == []


def test_nothing_is_left_for_later():
    assert broken(house.notes_to_self, CODE) == []


def test_nothing_is_about_one_machine():
    found = []
    for name in FILES:
        try:
            found += house.machine_specific(name, text_of(name))
        except UnicodeDecodeError:
            continue
    assert found == []


def test_the_top_level_is_fixed():
    assert house.stray_entries(FILES) == []


def test_the_turn_diagram_is_made_from_the_table():
    assert f"```mermaid\n{turn_table.diagram()}\n```" in text_of("ARCHITECTURE.md")


def test_every_invariant_names_its_test():
    text = text_of("ARCHITECTURE.md")
    assert house.untested_invariants(text, ROOT) == []
    assert len([line for line in text.splitlines() if house.INVARIANT.match(line.replace("*", ""))]) > 5


def test_every_rule_is_an_invariant():
    rules = [name for name in house.function_names(text_of("tests/test_architecture.py")) if name.startswith("test_")]
    text = text_of("ARCHITECTURE.md")
    assert [name for name in rules if f"`tests/test_architecture.py::{name}`" not in text] == []
