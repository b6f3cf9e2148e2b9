import asyncio
import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from quillback.tools import ignore, matches, walk
from support.processes import running, until
from support.toolroom import Room, text

pytestmark = pytest.mark.anyio

needs_ripgrep = pytest.mark.skipif(
    shutil.which("rg") is None, reason="ripgrep is not installed here; the same test of our own search is run"
)
RIPGREP = pytest.param("ripgrep", marks=needs_ripgrep)
only_own = pytest.mark.parametrize("room", ["own"], indirect=True)
only_ripgrep = pytest.mark.parametrize("room", [RIPGREP], indirect=True)


@pytest.fixture(params=["own", RIPGREP])
def room(request: pytest.FixtureRequest, room: Room, monkeypatch: pytest.MonkeyPatch) -> Room:
    """Each test runs with both searches, so both must give the same."""
    if request.param == "own":
        real = shutil.which
        monkeypatch.setattr(shutil, "which", lambda name: None if name == "rg" else real(name))
    return room


async def grep(room: Room, pattern: str, **more: object) -> list[str]:
    return (await room.text("grep", pattern=pattern, **more)).splitlines()


async def test_matches_have_path_line_and_text(room: Room):
    room.file("b.txt", "no\nneedle one\n")
    room.file("a/x.txt", "needle two\nneedle three\r\n")
    room.file("a.txt", "x\n")
    assert await grep(room, "needle t?") == [
        "a/x.txt:1: needle two",
        "a/x.txt:2: needle three",
        "b.txt:2: needle one",
    ]
    assert await grep(room, "nothing here") == ["No matches."]


@pytest.mark.parametrize(("pattern", "line"), [("=", "a = b"), ("==", "a == b"), ("-e", "x -e y"), ("--", "x --y")])
async def test_a_pattern_that_looks_like_an_option_is_a_pattern(room: Room, pattern: str, line: str):
    room.file("a.txt", f"nothing\n{line}\n")
    assert await grep(room, pattern) == [f"a.txt:2: {line}"]
    assert await grep(room, pattern, path="a.txt", literal=True) == [f"a.txt:2: {line}"]


async def test_options(room: Room):
    room.file("a.py", "Foo.bar(1)\nfooXbar(1)\n")
    room.file("a.ts", "foo.bar(1)\n")
    room.file("src/deep/b.py", "foo.bar(1)\n")
    assert await grep(room, "foo.bar") == ["a.py:2: fooXbar(1)", "a.ts:1: foo.bar(1)", "src/deep/b.py:1: foo.bar(1)"]
    assert await grep(room, "foo.bar(1)", literal=True) == ["a.ts:1: foo.bar(1)", "src/deep/b.py:1: foo.bar(1)"]
    assert await grep(room, "foo.bar", ignore_case=True, glob="a.py") == ["a.py:1: Foo.bar(1)", "a.py:2: fooXbar(1)"]
    assert await grep(room, "foo", glob="*.{ts,js}") == ["a.ts:1: foo.bar(1)"]
    assert await grep(room, "foo", glob="src/**/*.py") == ["src/deep/b.py:1: foo.bar(1)"]
    assert await grep(room, "foo", glob="src/") == ["src/deep/b.py:1: foo.bar(1)"]
    assert await grep(room, "foo", path="src") == ["src/deep/b.py:1: foo.bar(1)"]
    assert await grep(room, "foo", path="src", glob="deep/*.py") == ["src/deep/b.py:1: foo.bar(1)"]
    assert await grep(room, "^foo.*bar.1.$", path="a.ts") == ["a.ts:1: foo.bar(1)"]
    assert await grep(room, "-foo") == ["No matches."]


@pytest.mark.parametrize("repository", [True, False])
async def test_ignored_files_are_left_out(room: Room, repository: bool):
    if repository:
        subprocess.run(["git", "init", "-q", room.workspace], check=True)
        room.file(".git/info/exclude", "excluded.txt\n")
        room.file(".git/hit", "needle\n")
    room.file(".gitignore", "# note\nbuild/\n*.log\n!keep.log\n/top.txt\n\\\n")
    room.file("sub/.gitignore", "local.txt\n!again.log\n")
    for name in (
        "a.txt",
        "build/x",
        "x.log",
        "keep.log",
        "top.txt",
        "sub/top.txt",
        "sub/local.txt",
        "sub/again.log",
        "sub/build/x",
        "local.txt",
        ".hidden/f",
        "excluded.txt",
    ):
        room.file(name, "needle\n")
    expected = [".hidden/f", "a.txt", "keep.log", "local.txt", "sub/again.log", "sub/top.txt"]
    if not repository:
        expected = sorted([*expected, "excluded.txt"])
    assert [line.split(":")[0] for line in await grep(room, "needle")] == expected
    assert [line.split(":")[0] for line in await grep(room, "needle", glob="*.log")] == ["keep.log", "sub/again.log"]
    files = (await room.text("glob", pattern="**")).splitlines()
    assert [name for name in files if not name.endswith(".gitignore")] == expected
    # rules from above hold below; what is named itself is searched all the same
    below = [line.split(":")[0] for line in await grep(room, "needle", path="sub")]
    assert below == (
        ["sub/again.log", "sub/top.txt"] if repository else ["sub/again.log", "sub/build/x", "sub/top.txt"]
    )
    assert await grep(room, "needle", path="build") == ["build/x:1: needle"]
    assert await grep(room, "needle", path="x.log") == ["x.log:1: needle"]
    assert "build/x" in await room.text("glob", pattern="x", path="build")


async def test_rules_above_a_repository_do_not_hold(room: Room):
    (room.home / ".gitignore").write_text("*\n")
    room.file("a.txt", "needle\n")
    assert await grep(room, "needle") == ["a.txt:1: needle"]
    subprocess.run(["git", "init", "-q", room.workspace], check=True)
    assert await grep(room, "needle") == ["a.txt:1: needle"]
    assert await room.text("glob", pattern="*.txt") == "a.txt"


async def test_links_lead_nowhere(room: Room):
    outside = room.home / "outside"
    outside.mkdir()
    (outside / "f").write_text("needle\n")
    room.file("in/f", "needle\n")
    (room.workspace / "out").symlink_to(outside)
    (room.workspace / "file").symlink_to(outside / "f")
    (room.workspace / "loop").symlink_to(".")
    assert await grep(room, "needle") == ["in/f:1: needle"]
    assert await room.text("glob", pattern="**/f") == "in/f"
    assert await room.text("glob", pattern="out/*") == "No files match."
    prepared = await room.prepare("grep", pattern="needle", path="out")
    assert prepared.access.reads == (str(outside),), "who searches through it sees where it leads"
    assert text(await room.run(prepared)) == "out/f:1: needle"
    assert (await room.prepare("glob", pattern="*", path="../outside")).access.reads == (str(outside),)


async def test_binary_and_odd_files(room: Room):
    room.file("bin", b"needle\0needle\n")
    room.file("late.bin", b"x" * 20_000 + b"\n\0\nneedle\n")
    room.file("utf16.txt", "\ufeffneedle é\n".encode("utf-16-le"))
    room.file("latin.txt", b"needle caf\xe9\n")
    room.file("esc.txt", b"needle \x1b[31m\n")
    os.mkfifo(room.workspace / "pipe")
    room.file("secret", "needle\n", 0o000)
    found = await grep(room, "needle")
    assert [line for line in found if not line.startswith("secret")] == [
        "esc.txt:1: needle ␛[31m",
        "latin.txt:1: needle caf�",
        "utf16.txt:1: needle é",
    ]


async def test_names_that_are_no_text(room: Room):
    (room.workspace / os.fsdecode(b"caf\xe9.txt")).write_text("needle\n")
    room.file("a b:1: c.txt", "needle\n")
    assert sorted(await grep(room, "needle")) == ["a b:1: c.txt:1: needle", "caf�.txt:1: needle"]
    assert sorted((await room.text("glob", pattern="*")).splitlines()) == ["a b:1: c.txt", "caf�.txt"]
    assert "caf�.txt (7 bytes)" in await room.text("list_dir")


async def test_long_lines_and_many_matches_are_bounded(room: Room):
    room.file("min.js", "needle" + "x" * 3_000_000 + "\n")
    (line,) = await grep(room, "needle")
    assert line == "min.js:1: needle" + "x" * 494 + "…"
    room.file("many.txt", "needle\n" * 1000)
    found = await grep(room, "needle", path="many.txt")
    assert len(found) == 201
    assert "only the first 200" in found[-1]
    room.file("wide.txt", ("needle" + "y" * 400 + "\n") * 190)
    result = await room.text("grep", pattern="needle", path="wide.txt")
    assert len(result) <= 30_000
    assert "the whole is in" in result


@pytest.mark.parametrize("pattern", ["(", "[z-a]", "a{2,1}", "(?P<x"])
async def test_bad_patterns(room: Room, pattern: str):
    room.file("a.txt", "x\n")
    assert "not valid" in await room.refused("grep", pattern=pattern)


async def test_other_odd_input(room: Room):
    room.file("f", "x\n")
    assert "empty" in await room.refused("grep", pattern="")
    assert "NUL" in await room.refused("grep", pattern="a\0")
    assert "Unicode" in await room.refused("grep", pattern="\ud800")
    assert "no such file" in await room.refused("grep", pattern="x", path="gone")
    assert "below it" in await room.refused("grep", pattern="x", glob="../*")
    assert "no such directory" in await room.refused("glob", pattern="*", path="gone")
    assert "not a directory" in await room.refused("glob", pattern="*", path="f")
    assert "not an ordinary file" in await room.refused("grep", pattern="x", path="/dev/null")


async def test_titles(room: Room):
    describe = room.tool("grep").spec.describe
    assert describe({"pattern": "a\nb", "path": "src"}).title == "Search 'a b' in src"
    assert describe({"pattern": "x"}).title == "Search 'x'"
    assert describe({}).title == "Search"
    assert room.tool("glob").spec.describe({"pattern": "*.py", "path": "src"}).title == "Find *.py in src"
    assert room.tool("list_dir").spec.describe({}).title == "List ."
    assert all(room.tool(name).spec.read_only for name in ("grep", "glob", "list_dir"))


CREDENTIALS = (".env", ".ENV.local", "id_rsa", "deep/down/key.pem", "deep/secrets.yaml")


async def test_files_that_look_like_credentials_are_left_out(room: Room):
    for name in CREDENTIALS:
        room.file(name, "needle secret\n" * 3)
    room.file("app.py", "needle\n")
    room.file("credentials/readme.md", "needle\n")
    found = await grep(room, "needle")
    assert found == [
        "app.py:1: needle",
        "credentials/readme.md:1: needle",
        "[5 files that look like credentials were left out; to search one, name it as path]",
    ]
    assert await grep(room, "secret") == ["No matches.", found[-1]], "whether one matches must not be told"
    assert await grep(room, "not in any") == ["No matches.", found[-1]]
    assert await grep(room, "needle", path="deep/down") == [
        "No matches.",
        "[1 file that looks like credentials was left out; to search one, name it as path]",
    ]
    assert await grep(room, "needle", glob="*.py") == ["app.py:1: needle"]
    assert (await grep(room, "needle", glob=".env*"))[-1].startswith("[1 file "), "glob tells upper from lower case"


async def test_a_file_with_credentials_is_searched_by_name(room: Room):
    room.file(".env", "TOKEN=needle\n")
    (room.workspace / "harmless.txt").symlink_to(".env")
    for path in (".env", "harmless.txt"):
        prepared = await room.prepare("grep", pattern="needle", path=path)
        assert prepared.access.reads == (str(room.workspace / ".env"),), "so that the user is asked"
        assert text(await room.run(prepared)) == f"{path}:1: TOKEN=needle"


async def test_rules_do_not_bring_credentials_back(room: Room):
    room.file(".gitignore", "/ignored/\n!.env\n")
    room.file(".env", "needle\n")
    room.file("ignored/.env", "needle\n")
    (room.workspace / "link.pem").symlink_to(".env")
    assert await grep(room, "needle") == [
        "No matches.",
        "[1 file that looks like credentials was left out; to search one, name it as path]",
    ]


async def test_matches_are_bounded_beside_credentials(room: Room):
    room.file(".env", "needle\n" * 500)
    room.file("a.txt", "needle\n" * 500)
    found = await grep(room, "needle")
    assert len(found) == 202
    assert "only the first 200" in found[-2]
    assert "1 file that looks" in found[-1]


@only_ripgrep
async def test_a_count_that_takes_too_long_is_not_waited_for(room: Room, monkeypatch: pytest.MonkeyPatch):
    """Our own search has counted them anyway."""
    monkeypatch.setattr(matches, "_COUNT_SECONDS", 0.0)
    room.file(".env", "needle\n")
    room.file("a.txt", "needle\n")
    found = await grep(room, "needle")
    assert found[0] == "a.txt:1: needle"
    assert found[1].startswith("[files that look like credentials, if there are any, were left out;")


CATASTROPHE = "(a+)+$"
"""No pattern takes ripgrep so long."""


@only_own
async def test_a_pattern_without_end_is_stopped(room: Room, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(matches, "SECONDS", 0.5)
    room.file("a.txt", "a" * 40 + "!\n")
    task = asyncio.ensure_future(room.refused("grep", pattern=CATASTROPHE))
    worst, last = 0.0, time.monotonic()
    while not task.done():
        await asyncio.sleep(0.005)
        worst, last = max(worst, time.monotonic() - last), time.monotonic()
    assert "longer than 0.5 s" in await task
    assert worst < 0.2, "the loop stays free"
    assert await until(lambda: not running(CATASTROPHE))


@only_own
async def test_what_was_found_before_is_kept(room: Room, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(matches, "SECONDS", 0.5)
    room.file("a.txt", "aaa\n")
    room.file("b.txt", "a" * 40 + "!\n")
    found = await grep(room, CATASTROPHE)
    assert found == ["a.txt:1: aaa", "[stopped after 0.5 s; there may be more]"]


@only_own
async def test_a_cancel_ends_the_search(room: Room):
    room.file("a.txt", "a" * 40 + "!\n")
    task = asyncio.ensure_future(room.call("grep", pattern=CATASTROPHE))
    assert await until(lambda: running(CATASTROPHE))
    started = time.monotonic()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert time.monotonic() - started < 0.3
    assert await until(lambda: not running(CATASTROPHE))


async def test_walks_are_bounded(room: Room, monkeypatch: pytest.MonkeyPatch):
    for n in range(30):
        room.file(f"d{n}/f", "x")
    monkeypatch.setattr(walk, "ENTRY_LIMIT", 20)
    assert "stopped after 21 files and directories; there may be more" in await room.text("glob", pattern="*")


async def test_five_hundred_files_at_most(room: Room):
    for n in range(520):
        room.file(f"f{n:03}", "")
    lines = (await room.text("glob", pattern="f*")).splitlines()
    assert lines[0] == "f000"
    assert len(lines) == 501
    assert "only the first 500" in lines[-1]


async def test_listing(room: Room):
    room.file("b.txt", "12345")
    room.file("d/x", "")
    room.file(".gitignore", "b.txt\n")
    (room.workspace / "link").symlink_to("d")
    assert (await room.text("list_dir")).splitlines() == [
        ".gitignore (6 bytes)",
        "b.txt (5 bytes)",
        "d/",
        "link -> d",
    ]
    assert await room.text("list_dir", path="link") == "x (0 bytes)"
    (room.workspace / "none").mkdir()
    assert await room.text("list_dir", path="none") == "[none is empty]"
    assert "not a directory" in await room.refused("list_dir", path="b.txt")
    assert "no such directory" in await room.refused("list_dir", path="gone")


async def test_a_long_listing_is_bounded(room: Room):
    for n in range(1005):
        (room.workspace / f"f{n:04}").touch()
    lines = (await room.text("list_dir")).splitlines()
    assert len(lines) == 1001
    assert lines[-1] == "[only the first 1000 of 1005 entries]"


def test_broken_lines_of_an_ignore_file_are_passed_over(tmp_path: Path):
    (tmp_path / ".gitignore").write_bytes(b"\xef\xbb\xbf*.log\n!\n\\\n\n# no\n\xff\n")
    rules = ignore.Ignore().enter(str(tmp_path))
    assert rules.ignored(str(tmp_path / "x.log"), directory=False)
    assert not rules.ignored(str(tmp_path / "x.txt"), directory=False)
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / ".gitignore").symlink_to(tmp_path / ".gitignore")
    os.mkfifo(tmp_path / "pipe")
    assert ignore.Ignore().enter(str(tmp_path / "sub")).rules == ()
    assert ignore.Ignore().enter(str(tmp_path / "gone")).rules == ()
