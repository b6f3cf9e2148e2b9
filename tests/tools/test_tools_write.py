import asyncio
import hashlib
import os
import signal
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from quillback.core.message import Diff, FileSeen, Text
from quillback.core.ports import ToolError
from quillback.tools import atomic
from quillback.tools.text import one_line
from support.toolroom import Room, text

pytestmark = pytest.mark.anyio


async def known(room: Room, name: str, content: bytes | str, mode: int | None = None) -> Path:
    path = room.file(name, content, mode)
    await room.call("read_file", path=name)
    return path


def leftovers(directory: Path) -> list[str]:
    return [path.name for path in directory.iterdir() if atomic.is_leftover(path.name)]


async def test_a_new_file_with_its_parents(room: Room):
    prepared = await room.prepare("write_file", path="a/b/c.txt", content="one\ntwo\n")
    path = room.workspace / "a/b/c.txt"
    assert prepared.shown == (Diff(str(path), None, "one\ntwo\n"),)
    assert (prepared.access.reads, prepared.access.writes) == ((), (str(path),))
    assert not path.parent.exists(), "looking at a call has no effect"
    outcome = await room.run(prepared)
    assert path.read_text() == "one\ntwo\n"
    assert text(outcome) == "Created a/b/c.txt (2 lines)."
    digest = hashlib.sha256(b"one\ntwo\n").hexdigest()
    assert outcome.seen == (FileSeen(str(path), digest),)
    assert room.context.known[str(path)] == digest
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~umask


async def test_a_file_never_read_is_not_overwritten(room: Room):
    path = room.file("a.txt", "theirs\n")
    assert "read it first" in await room.refused("write_file", path="a.txt", content="x")
    assert path.read_text() == "theirs\n"


async def test_a_file_changed_since_it_was_read_is_not_overwritten(room: Room):
    path = await known(room, "a.txt", "one\n")
    status = path.stat()
    path.write_text("two\n")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert "read it again" in await room.refused("write_file", path="a.txt", content="x")
    assert path.read_text() == "two\n"
    await room.call("read_file", path="a.txt")
    await room.call("write_file", path="a.txt", content="x")
    assert path.read_text() == "x"


async def test_a_file_touched_but_not_changed_is_written(room: Room):
    path = await known(room, "a.txt", "one\n")
    os.utime(path, (2e9, 2e9))
    await room.call("write_file", path="a.txt", content="two\n")
    await room.call("write_file", path="a.txt", content="three\n")
    assert path.read_text() == "three\n"


@pytest.mark.parametrize("change", ["content", "gone", "appeared"])
async def test_a_file_changed_while_the_question_was_open_is_not_written(room: Room, change: str):
    path = room.workspace / "a.txt"
    if change != "appeared":
        await known(room, "a.txt", "one\n")
    prepared = await room.prepare("write_file", path="a.txt", content="mine\n")
    if change == "gone":
        path.unlink()
    else:
        path.write_text("outside\n")
    with pytest.raises(ToolError, match="changed while"):
        await room.run(prepared)
    assert not path.exists() if change == "gone" else path.read_text() == "outside\n"
    assert leftovers(room.workspace) == []


async def test_a_file_changed_at_the_last_moment_is_not_written(room: Room, monkeypatch: pytest.MonkeyPatch):
    path = await known(room, "a.txt", "one\n")
    write = atomic._write

    def slow(*arguments: object) -> None:
        write(*arguments)
        path.write_text("outside\n")

    monkeypatch.setattr(atomic, "_write", slow)
    assert "last moment" in await room.refused("write_file", path="a.txt", content="mine\n")
    assert path.read_text() == "outside\n"
    assert leftovers(room.workspace) == []


async def test_the_mode_stays(room: Room):
    path = await known(room, "x.sh", "#!/bin/sh\n", 0o755)
    await room.call("write_file", path="x.sh", content="#!/bin/sh\necho hi\n")
    assert stat.S_IMODE(path.stat().st_mode) == 0o755


def has_attributes() -> bool:
    """Whether files in the directory for temporary files can have attributes of the user."""
    with tempfile.NamedTemporaryFile() as file:
        try:
            os.setxattr(file.name, "user.note", b"mine")
        except (OSError, AttributeError):
            return False
    return True


@pytest.mark.skipif(not has_attributes(), reason="the file system of the temporary directory keeps no attributes")
async def test_attributes_stay(room: Room):
    path = await known(room, "a.txt", "one\n")
    os.setxattr(path, "user.note", b"mine")
    await room.call("write_file", path="a.txt", content="two\n")
    assert os.getxattr(path, "user.note") == b"mine"


@pytest.mark.skipif(os.getuid() != 0, reason="only the superuser gives files away")
async def test_the_owner_stays(room: Room):
    path = await known(room, "a.txt", "one\n", 0o640)
    os.chown(path, 1234, 2345)
    await room.call("write_file", path="a.txt", content="two\n")
    status = path.stat()
    assert (status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)) == (1234, 2345, 0o640)


async def test_a_read_only_file_is_refused(room: Room):
    path = await known(room, "a.txt", "one\n", 0o444)
    assert "read-only" in await room.refused("write_file", path="a.txt", content="two\n")
    assert path.read_text() == "one\n"


async def test_a_link_stays_a_link(room: Room):
    target = await known(room, "real.txt", "old\n")
    link = room.workspace / "link.txt"
    link.symlink_to("real.txt")
    assert room.tool("write_file").touches({"path": "link.txt"}) == {str(target)}
    prepared = await room.prepare("write_file", path="link.txt", content="new\n")
    assert prepared.access.writes == (str(target),)
    await room.run(prepared)
    assert link.is_symlink()
    assert target.read_text() == "new\n"


async def test_a_link_to_nothing_makes_its_target(room: Room):
    (room.workspace / "link").symlink_to("later")
    await room.call("write_file", path="link", content="x")
    assert (room.workspace / "link").is_symlink()
    assert (room.workspace / "later").read_text() == "x"


async def test_a_directory_that_becomes_a_link_is_not_followed(room: Room):
    room.file("d/keep", "")
    outside = room.home / "outside"
    outside.mkdir()
    prepared = await room.prepare("write_file", path="d/f", content="x")
    (room.workspace / "d").rename(room.workspace / "was")
    (room.workspace / "d").symlink_to(outside)
    with pytest.raises(ToolError):
        await room.run(prepared)
    assert list(outside.iterdir()) == []


async def test_what_cannot_be_written(room: Room):
    room.file("f", "x")
    (room.workspace / "d").mkdir()
    os.mkfifo(room.workspace / "pipe")
    assert "not a directory" in await room.refused("write_file", path="f/below", content="x")
    assert "is a directory" in await room.refused("write_file", path="d", content="x")
    assert "a pipe" in await room.refused("write_file", path="pipe", content="x")
    assert "surrogate" in await room.refused("write_file", path="new", content="a\ud800")
    assert sorted(path.name for path in room.workspace.iterdir()) == ["d", "f", "pipe"]


@pytest.mark.parametrize(
    ("before", "content", "after"),
    [
        (b"a\r\nb\r\n", "x\ny\n", b"x\r\ny\r\n"),
        (b"a\r\nb\n", "x\ny\n", b"x\ny\n"),
        (b"a\r\nb\r\n", "x\r\ny\n", b"x\r\ny\n"),
        (b"\xef\xbb\xbfa\n", "x\n", b"\xef\xbb\xbfx\n"),
        (b"\xef\xbb\xbfa\n", "\ufeffx\n", b"\xef\xbb\xbfx\n"),
        ("\ufeffa\n".encode("utf-16-le"), "é\n", "\ufeffé\n".encode("utf-16-le")),
        (b"caf\xe9\n", "th\xe9\n", b"th\xe9\n"),
        (b"caf\xe9\n", "日\n", "日\n".encode()),
        (b"a\n", "a\n", b"a\n"),
        (b"", "", b""),
    ],
)
async def test_the_way_of_writing_stays(room: Room, before: bytes, content: str, after: bytes):
    path = await known(room, "a.txt", before)
    await room.call("write_file", path="a.txt", content=content)
    assert path.read_bytes() == after


async def test_a_large_difference_is_not_shown(room: Room):
    prepared = await room.prepare("write_file", path="big.txt", content="0123456789\n" * 200_000)
    assert [type(part) for part in prepared.shown] == [Text]
    await room.run(prepared)
    assert (room.workspace / "big.txt").stat().st_size == 2_200_000


async def test_a_cancel_in_mid_write_changes_nothing(room: Room, monkeypatch: pytest.MonkeyPatch):
    path = await known(room, "a.txt", "old\n")
    prepared = await room.prepare("write_file", path="a.txt", content="new\n")
    loop = asyncio.get_running_loop()
    writing, write = asyncio.Event(), atomic._write

    def slow(*arguments: object) -> None:
        loop.call_soon_threadsafe(writing.set)
        time.sleep(0.2)
        write(*arguments)

    monkeypatch.setattr(atomic, "_write", slow)
    task = asyncio.ensure_future(room.run(prepared))
    await writing.wait()
    started = loop.time()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert loop.time() - started < 0.15, "a cancel does not wait for the disk"
    while leftovers(room.workspace) or loop.time() - started < 0.3:
        await asyncio.sleep(0.01)
    assert path.read_text() == "old\n"


async def test_a_failed_write_leaves_nothing(room: Room, monkeypatch: pytest.MonkeyPatch):
    path = await known(room, "a.txt", "old\n")

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(atomic.os, "fsync", full)
    assert "no space left" in await room.refused("write_file", path="a.txt", content="new\n")
    assert path.read_text() == "old\n"
    assert leftovers(room.workspace) == []


KILLED = """
import sys, threading
from pathlib import Path
from quillback.tools import atomic, files
from quillback.tools.paths import Target
path = sys.argv[1]
stop = threading.Event()
target = Target("f", path, path, False)
state = files.load(target, 100, stop)
print("writing", flush=True)
while True:
    staged = atomic._stage(target, b"new." * 5_000_000, state.stat, stop)
    staged.discard()
"""


async def test_after_a_kill_the_old_content_is_whole_and_the_rest_is_swept(room: Room):
    path = await known(room, "f", "old\n")
    process = subprocess.Popen([sys.executable, "-c", KILLED, str(path)], stdout=subprocess.PIPE, env=environment())
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"writing\n"
        while not leftovers(room.workspace):
            await asyncio.sleep(0.005)
        process.send_signal(signal.SIGKILL)
    finally:
        process.communicate()
    assert path.read_text() == "old\n"
    (left,) = leftovers(room.workspace)
    assert left not in await room.text("list_dir")
    assert left not in await room.text("glob", pattern="*")
    assert left not in await room.text("grep", pattern="new")
    await room.call("write_file", path="other.txt", content="x")
    assert leftovers(room.workspace) == []


async def test_leftovers_of_the_living_stay_until_they_are_old(room: Room):
    live = room.file(f".a.quillback-{os.getppid()}-0123abcd.tmp", "x")
    old = room.file(f".b.quillback-{os.getppid()}-0123abcd.tmp", "x")
    not_ours = room.file(".b.quillback-note.tmp", "x")
    os.utime(old, (1, 1))
    await room.call("write_file", path="other.txt", content="x")
    assert live.exists()
    assert not_ours.exists()
    assert not old.exists()


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


async def test_long_names(room: Room):
    name = "é" * 120
    await room.call("write_file", path=name, content="x")
    assert (room.workspace / name).read_text() == "x"
    assert room.tool("write_file").spec.describe({"path": name}).title == f"Write {one_line(name)}"
