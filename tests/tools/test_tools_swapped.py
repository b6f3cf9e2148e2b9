"""Directories that become links while the question is open: no call leads anywhere but where it was asked about."""

import os
import shutil
import threading
from pathlib import Path

import pytest

from quillback.core.ports import ToolError
from quillback.tools import atomic, places, scan
from quillback.tools.paths import resolve
from quillback.tools.walk import Walk
from support.toolroom import Room, text

pytestmark = pytest.mark.anyio

CHANGED = "changed while the question was open"


@pytest.fixture
def outside(room: Room) -> Path:
    """A directory that no call was asked about, with what a call must not find."""
    path = room.home / "outside"
    (path / "sub").mkdir(parents=True)
    for name in ("f.txt", "new.txt", "sub/f.txt"):
        (path / name).write_text("needle outside\n")
    return path


def swap(room: Room, name: str, outside: Path) -> None:
    """Put a link where the directory was."""
    (room.workspace / name).rename(room.home / "was")
    (room.workspace / name).symlink_to(outside)


def contents(directory: Path) -> dict[str, str]:
    return {str(path.relative_to(directory)): path.read_text() for path in directory.rglob("*") if path.is_file()}


CALLS: dict[str, dict[str, object]] = {
    "list_dir": {"path": "d"},
    "glob": {"path": "d", "pattern": "*"},
    "grep": {"path": "d", "pattern": "needle"},
    "read_file": {"path": "d/f.txt"},
}


@pytest.mark.parametrize("below", [False, True], ids=["itself", "above"])
@pytest.mark.parametrize("name", CALLS)
async def test_reading(room: Room, outside: Path, name: str, below: bool):
    room.file("d/f.txt", "needle inside\n")
    room.file("d/sub/f.txt", "needle inside\n")
    arguments = {**CALLS[name], "path": str(CALLS[name]["path"]).replace("d", "d/sub" if below else "d", 1)}
    assert "outside" not in await room.text(name, **arguments)
    prepared = await room.prepare(name, **arguments)
    swap(room, "d", outside)
    with pytest.raises(ToolError, match=CHANGED):
        await room.run(prepared)


async def test_searching_one_file(room: Room, outside: Path):
    room.file("d/f.txt", "needle inside\n")
    prepared = await room.prepare("grep", path="d/f.txt", pattern="needle")
    swap(room, "d", outside)
    with pytest.raises(ToolError, match=CHANGED):
        await room.run(prepared)


async def test_a_file_that_became_a_link(room: Room, outside: Path):
    room.file("f.txt", "needle inside\n")
    calls = [("read_file", {"path": "f.txt"}), ("grep", {"path": "f.txt", "pattern": "needle"})]
    prepared = [await room.prepare(name, **arguments) for name, arguments in calls]
    (room.workspace / "f.txt").unlink()
    (room.workspace / "f.txt").symlink_to(outside / "f.txt")
    for call in prepared:
        with pytest.raises(ToolError, match=CHANGED):
            await room.run(call)


async def test_a_link_that_leads_elsewhere_now(room: Room, outside: Path):
    room.file("d/f.txt", "inside\n")
    (room.workspace / "link").symlink_to("d")
    prepared = await room.prepare("list_dir", path="link")
    (room.workspace / "link").unlink()
    (room.workspace / "link").symlink_to(outside)
    with pytest.raises(ToolError, match=CHANGED):
        await room.run(prepared)


@pytest.mark.parametrize("path", ["d/new.txt", "d/f.txt", "d/deep/er/new.txt", "d/sub/new.txt"])
@pytest.mark.parametrize("editor", [False, True], ids=["disk", "editor"])
@pytest.mark.parametrize("reads", [False, True])
async def test_writing(room: Room, outside: Path, path: str, editor: bool, reads: bool):
    room.file("d/f.txt", "inside\n")
    room.file("d/sub/x", "")
    room.editor.offer(read=editor and reads, write=editor)
    if path == "d/f.txt":
        await room.call("read_file", path=path)
    prepared = await room.prepare("write_file", path=path, content="mine\n")
    before = contents(outside)
    swap(room, "d", outside)
    with pytest.raises(ToolError, match=CHANGED):
        await room.run(prepared)
    assert contents(outside) == before
    assert sorted(entry.name for entry in outside.iterdir()) == ["f.txt", "new.txt", "sub"]
    assert room.editor.written == []


async def test_a_directory_swapped_before_the_editor_writes(room: Room, outside: Path, monkeypatch: pytest.MonkeyPatch):
    room.editor.offer(read=True, write=True)
    room.file("d/x", "")
    prepared = await room.prepare("write_file", path="d/deep/new.txt", content="mine\n")
    enter = places.enter

    def swapped(real: str, *, make: bool) -> int:
        handle = enter(real, make=make)
        swap(room, "d", outside)
        return handle

    monkeypatch.setattr("quillback.tools.change.enter", swapped)
    with pytest.raises(ToolError, match=CHANGED):
        await room.run(prepared)
    assert room.editor.written == []
    assert not (outside / "deep").exists()


async def test_an_editor_that_wrote_elsewhere_is_noticed(room: Room, outside: Path, monkeypatch: pytest.MonkeyPatch):
    room.editor.offer(read=True, write=True)
    room.file("d/x", "")
    prepared = await room.prepare("write_file", path="d/fresh.txt", content="mine\n")
    write = room.editor.write_text

    async def late(session_id: str, path: str, content: str) -> None:
        swap(room, "d", outside)
        await write(session_id, path, content)

    monkeypatch.setattr(type(room.editor), "write_text", lambda _, *given: late(*given))
    with pytest.raises(ToolError, match=CHANGED):
        await room.run(prepared)


async def test_a_directory_swapped_at_the_last_moment(room: Room, outside: Path, monkeypatch: pytest.MonkeyPatch):
    room.file("d/x", "")
    prepared = await room.prepare("write_file", path="d/fresh.txt", content="mine\n")
    write = atomic._write

    def slow(*arguments: object) -> None:
        write(*arguments)
        swap(room, "d", outside)

    monkeypatch.setattr(atomic, "_write", slow)
    with pytest.raises(ToolError, match=CHANGED):
        await room.run(prepared)
    assert not (outside / "fresh.txt").exists()
    assert sorted(path.name for path in (room.home / "was").iterdir()) == ["x"]


async def test_a_directory_replaced_by_another_at_the_last_moment(room: Room, monkeypatch: pytest.MonkeyPatch):
    room.file("d/x", "")
    write = atomic._write

    def slow(*arguments: object) -> None:
        write(*arguments)
        (room.workspace / "d").rename(room.home / "was")
        (room.workspace / "d").mkdir()

    monkeypatch.setattr(atomic, "_write", slow)
    assert CHANGED in await room.refused("write_file", path="d/fresh.txt", content="mine\n")
    assert sorted(path.name for path in (room.home / "was").iterdir()) == ["x"]


@pytest.mark.parametrize("way", ["call", "job", "terminal"])
async def test_a_command_in_a_directory_that_was_swapped(room: Room, outside: Path, way: str):
    room.file("cwd/f.txt", "inside\n")
    room.editor.offer(terminal=True)
    room.shell_in_editor = way == "terminal"
    room.open(room.workspace / "cwd")
    prepared = await room.prepare("shell", command="ls; touch was_here", background=way == "job")
    swap(room, "cwd", outside)
    with pytest.raises(ToolError, match=CHANGED):
        await room.run(prepared)
    assert room.editor.created == []
    assert not (outside / "was_here").exists()


# ---------------------------------------------------------------- during the run


needs_ripgrep = pytest.mark.skipif(
    shutil.which("rg") is None, reason="ripgrep is not installed here; the same test of our own search is run"
)


@pytest.mark.parametrize("search", ["own", pytest.param("ripgrep", marks=needs_ripgrep)])
async def test_a_search_stays_in_the_directory_it_opened(
    room: Room, outside: Path, search: str, monkeypatch: pytest.MonkeyPatch
):
    real = shutil.which
    room.file("d/f.txt", "needle inside\n")
    room.file("d/sub/g.txt", "needle inside\n")

    def late(name: str) -> str | None:
        """Asked for after the directory was opened."""
        if not (room.home / "was").exists():
            swap(room, "d", outside)
        return real(name) if search == "ripgrep" or name != "rg" else None

    monkeypatch.setattr(shutil, "which", late)
    found = (await room.text("grep", path="d", pattern="needle")).splitlines()
    assert found == ["d/f.txt:1: needle inside", "d/sub/g.txt:1: needle inside"]


async def test_a_walk_enters_no_link_it_took_for_a_directory(room: Room, outside: Path):
    room.file("a/f", "")
    room.file("d/f.txt", "inside\n")
    handle = places.open_directory(str(room.workspace))
    try:
        files = Walk(str(room.workspace), handle, threading.Event()).files()
        assert next(files) == ("a/f", False)
        swap(room, "d", outside)
        assert list(files) == []
    finally:
        os.close(handle)


async def test_our_own_search_opens_no_link_on_its_way(room: Room, outside: Path, monkeypatch: pytest.MonkeyPatch):
    (room.workspace / "d").symlink_to(outside)
    monkeypatch.chdir(room.workspace)
    with pytest.raises(OSError):
        scan._open(b"d/f.txt")
    monkeypatch.chdir(outside)
    os.close(scan._open(b"sub/f.txt"))


# ---------------------------------------------------------------- what still works


async def test_ways_that_are_no_problem(room: Room):
    (room.home / "real" / "sub").mkdir(parents=True)
    (room.workspace / "link").symlink_to(room.home / "real")
    await room.call("write_file", path="link/sub/a/b/f.txt", content="x\n")
    assert (room.home / "real/sub/a/b/f.txt").read_text() == "x\n"
    assert await room.text("list_dir", path="link/sub/a/..") == "a/"
    assert await room.text("list_dir", path="link") == "sub/"
    assert "real/" in await room.text("list_dir", path="..")
    assert await room.text("list_dir", path="/") != ""
    room.open(room.workspace / ".." / "ws")
    assert "link ->" in await room.text("list_dir")
    assert await room.text("shell", command="ls") == "link"


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is closed to root")
async def test_a_directory_that_may_only_be_passed(room: Room):
    room.file("closed/open/f.txt", "x\n")
    (room.workspace / "closed").chmod(0o100)
    try:
        assert "x" in await room.text("read_file", path="closed/open/f.txt")
        assert "permission" in await room.refused("list_dir", path="closed")
    finally:
        (room.workspace / "closed").chmod(0o700)


async def test_a_replaced_directory_at_the_same_path_is_the_one_asked_about(room: Room):
    room.file("d/f.txt", "old\n")
    prepared = await room.prepare("list_dir", path="d")
    shutil.rmtree(room.workspace / "d")
    room.file("d/g.txt", "new\n")
    assert text(await room.run(prepared)) == "g.txt (4 bytes)"


async def test_handles_are_not_left_open(room: Room):
    room.file("d/f.txt", "x\n")
    before = len(list(Path("/dev/fd").iterdir()))
    for path in ("d", "d/f.txt", "gone", "d/f.txt/x"):
        with pytest.raises((ToolError, OSError)), places.opened_directory(resolve(room.context, path)):
            raise OSError
    assert len(list(Path("/dev/fd").iterdir())) == before
