import re
import time

import pytest

from quillback.core.ports import ToolError
from quillback.tools.globs import compiled, tidy

NAMES = [
    "a.py",
    "b.txt",
    "src/a.py",
    "src/b.ts",
    "src/deep/c.tsx",
    "src/deep/er/d.py",
    "tests/a.py",
    "x[1].md",
    "dot/.hidden",
    "é.md",
]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("*.py", ["a.py", "src/a.py", "src/deep/er/d.py", "tests/a.py"]),
        ("./*.txt", ["b.txt"]),
        ("src/*.py", ["src/a.py"]),
        ("src/**/*.py", ["src/a.py", "src/deep/er/d.py"]),
        ("src/**", ["src/a.py", "src/b.ts", "src/deep/c.tsx", "src/deep/er/d.py"]),
        ("src/", ["src/a.py", "src/b.ts", "src/deep/c.tsx", "src/deep/er/d.py"]),
        ("**/a.py", ["a.py", "src/a.py", "tests/a.py"]),
        ("**/**/a.py", ["a.py", "src/a.py", "tests/a.py"]),
        ("**", NAMES),
        ("*.{ts,tsx}", ["src/b.ts", "src/deep/c.tsx"]),
        ("{src,tests}/{a,b}.{py,ts}", ["src/a.py", "src/b.ts", "tests/a.py"]),
        ("*.{t{s,sx},md}", ["src/b.ts", "src/deep/c.tsx", "x[1].md", "é.md"]),
        ("?.py", ["a.py", "src/a.py", "src/deep/er/d.py", "tests/a.py"]),
        ("[ab].*", ["a.py", "b.txt", "src/a.py", "src/b.ts", "tests/a.py"]),
        ("[!a].*", ["b.txt", "src/b.ts", "src/deep/c.tsx", "src/deep/er/d.py", "é.md"]),
        ("[^a-c].*", ["src/deep/er/d.py", "é.md"]),
        (r"x\[1\].md", ["x[1].md"]),
        ("x[[]1].md", ["x[1].md"]),
        (".hid*", ["dot/.hidden"]),
        ("{a}.py", []),
        ("a.{py", []),
        ("nothing", []),
        ("src", []),
        ("*r*/*.py", ["src/a.py"]),
    ],
)
def test_patterns(pattern: str, expected: list[str]):
    wanted = compiled(pattern)
    assert [name for name in NAMES if wanted.fullmatch(name)] == expected


@pytest.mark.parametrize("pattern", ["", " ", "/etc/*", "../*", "a/../b", "~/x", "a\0b", "{a,b}" * 9, "[z-a].py", "./"])
def test_patterns_that_are_refused(pattern: str):
    with pytest.raises(ToolError, match="pattern"):
        compiled(pattern)


@pytest.mark.parametrize("pattern", ["*a" * 20 + "b", "**/" * 20 + "b", "*" * 50 + "b", "[a-]*[]a]*[&&a]*" * 5 + "b"])
def test_no_pattern_blows_up(pattern: str):
    wanted = compiled(pattern)
    started = time.monotonic()
    assert wanted.fullmatch("a" * 250) is None
    assert wanted.fullmatch("/".join("a" * 100)) is None
    assert time.monotonic() - started < 0.5


def test_tidy():
    assert tidy(" ./a/ ") == "a/**"
    assert isinstance(compiled("a"), re.Pattern)
