import pytest

from quillback.core.message import Diff, Location
from support.toolroom import Room, text

pytestmark = pytest.mark.anyio


async def edited(room: Room, before: bytes, old: str, new: str, **more: object) -> bytes:
    path = room.file("f.txt", before)
    await room.call("read_file", path="f.txt")
    await room.call("edit_file", path="f.txt", old_text=old, new_text=new, **more)
    return path.read_bytes()


async def refused(room: Room, before: bytes, old: str, new: str, **more: object) -> str:
    """The reason; the file must be as it was."""
    path = room.file("f.txt", before)
    await room.call("read_file", path="f.txt")
    reason = await room.refused("edit_file", path="f.txt", old_text=old, new_text=new, **more)
    assert path.read_bytes() == before
    return reason


@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        # line ends and marks
        (b"\xef\xbb\xbfa\r\nb\r\nc", "a\nb", "a\nB", b"\xef\xbb\xbfa\r\nB\r\nc"),
        (b"a\r\nb\r\nc", "a\nb", "a\nB", b"a\r\nB\r\nc"),
        (b"a\r\nb\r\nc", "a\r\nb", "a\r\nB", b"a\r\nB\r\nc"),
        (b"a\nb\nc", "a\r\nb", "a\r\nB\r\nD", b"a\nB\nD\nc"),
        (b"a\r\nb\r\n", "b\n", "b\nx\ny\n", b"a\r\nb\r\nx\r\ny\r\n"),
        (b"a\r\nb\r\n", "\nb", "\nc", b"a\r\nc\r\n"),
        (b"a\r\nb\r\n", "\nb\n", "", b"a"),
        (b"a\r\nb", "a", "a\nx", b"a\r\nx\r\nb"),
        # in a file of both kinds only what changes is touched
        (b"a\r\nb\nc\r\nd\n", "a\nb\nc\nd", "a\nb\nC\nd", b"a\r\nb\nC\r\nd\n"),
        (b"a\r\nb\nc\nd\n", "b\nc", "b\nx\nc", b"a\r\nb\nx\nc\nd\n"),
        # a single line takes the line ends it is given
        (b"a", "a", "a\nb", b"a\nb"),
        (b"a", "a", "a\r\nb", b"a\r\nb"),
        # encodings
        (b"x = 1\n# caf\xe9\n", "x = 1", "x = 2", b"x = 2\n# caf\xe9\n"),
        (b"# caf\xe9\n", "caf\xe9", "th\xe9", b"# th\xe9\n"),
        ("\ufeffa\nb".encode("utf-16-le"), "b", "é", "\ufeffa\né".encode("utf-16-le")),
        ("日本 a\n".encode(), "日本", "中国", "中国 a\n".encode()),
        # ends of the file
        (b"a\nb", "b", "c", b"a\nc"),
        (b"abc", "abc", "", b""),
        (b"a\rb\n", "b", "c", b"a\rc\n"),
        # what both have in common may overlap
        (b"xaax", "aa", "aaa", b"xaaax"),
        (b"xaaax", "aaa", "a", b"xax"),
        (b"a.b\n", "a.b", "a*b", b"a*b\n"),
    ],
)
async def test_only_the_passage_changes(room: Room, before: bytes, old: str, new: str, after: bytes):
    assert await edited(room, before, old, new) == after


async def test_the_change_is_shown_before_and_after(room: Room):
    path = room.file("f.txt", "a\nb\nc\n")
    await room.call("read_file", path="f.txt")
    prepared = await room.prepare("edit_file", path="f.txt", old_text="b", new_text="B")
    assert prepared.shown == (Diff(str(path), "a\nb\nc\n", "a\nB\nc\n"),)
    assert prepared.locations == (Location(str(path), 2),)
    assert (prepared.access.reads, prepared.access.writes) == ((str(path),), (str(path),))
    outcome = await room.run(prepared)
    assert outcome.shown == prepared.shown
    assert text(outcome) == "Edited f.txt: 1 replacement (line 2)."


async def test_own_edits_count_as_read(room: Room):
    path = room.file("f.txt", "a\nb\n")
    await room.call("read_file", path="f.txt")
    await room.call("edit_file", path="f.txt", old_text="a", new_text="A")
    await room.call("edit_file", path="f.txt", old_text="b", new_text="B")
    await room.call("write_file", path="f.txt", content="c\n")
    await room.call("edit_file", path="f.txt", old_text="c", new_text="C")
    assert path.read_text() == "C\n"


async def test_never_read_or_changed_since_is_refused(room: Room):
    path = room.file("f.txt", "a\n")
    assert "read it first" in await room.refused("edit_file", path="f.txt", old_text="a", new_text="b")
    await room.call("read_file", path="f.txt")
    path.write_text("a\nmore\n")
    assert "read it again" in await room.refused("edit_file", path="f.txt", old_text="a", new_text="b")
    assert path.read_text() == "a\nmore\n"


async def test_a_passage_that_is_there_often_is_refused_with_count_and_lines(room: Room):
    reason = await refused(room, b"x1\nx2\nx3\n", "x", "y")
    assert "3 times (lines 1, 2, 3)" in reason
    assert "at least 1000 times" in await refused(room, b"x" * 5000, "x", "y")


async def test_overlapping_passages_are_not_one(room: Room):
    assert "2 times" in await refused(room, b"aaa\n", "aa", "b")
    assert await edited(room, b"aaa\n", "aa", "b", replace_all=True) == b"ba\n"


async def test_replace_all(room: Room):
    assert await edited(room, b"x1\r\nx2\r\nx3\r\n", "x", "y", replace_all=True) == b"y1\r\ny2\r\ny3\r\n"
    assert await edited(room, b"a\r\na\nb", "a\n", "c\n", replace_all=True) == b"c\r\nc\nb"
    assert await edited(room, b"x" * 5000, "x", "yy", replace_all=True) == b"yy" * 5000
    assert await edited(room, b"only once", "once", "1", replace_all=True) == b"only 1"


async def test_what_changes_nothing_or_names_nothing_is_refused(room: Room):
    assert "same" in await refused(room, b"x\n", "x", "x")
    assert "same" in await refused(room, b"x\r\ny\r\n", "x\ny", "x\r\ny")
    assert "empty" in await refused(room, b"x\n", "", "y")
    assert "empty" in await refused(room, b"", "", "y")


async def test_a_passage_that_is_not_there_shows_the_closest(room: Room):
    before = b"def first():\n    return 1\n\ndef second():\n    return 2\n"
    reason = await refused(room, before, "def second(x):\n    return 3", "y")
    assert "not found" in reason
    assert "     4\tdef second():" in reason
    reason = await refused(room, before, "def second():\n\treturn 2", "y")
    assert "only in white space" in reason
    assert "     5\t    return 2" in reason
    assert "No line is like it" in await refused(room, before, "@@@@@@@@@", "y")


async def test_characters_the_encoding_does_not_have(room: Room):
    assert "not UTF-8" in await refused(room, b"caf\xe9\n", "caf", "日")
    assert "surrogate" in await refused(room, b"a\n", "a", "\ud800")


async def test_creating(room: Room):
    outcome = await room.call("edit_file", path="new/f.txt", old_text="", new_text="x\n")
    assert (room.workspace / "new/f.txt").read_text() == "x\n"
    assert outcome.shown == (Diff(str(room.workspace / "new/f.txt"), None, "x\n"),)
    assert "write_file" in await room.refused("edit_file", path="other.txt", old_text="a", new_text="b")
    assert not (room.workspace / "other.txt").exists()


async def test_binary_files_and_directories(room: Room):
    room.file("x.bin", b"\0\1\2")
    room.context.known[str(room.workspace / "x.bin")] = "0" * 64
    assert "changed since" in await room.refused("edit_file", path="x.bin", old_text="a", new_text="b")
    room.file("i.png", b"\x89PNG\r\n\x1a\n\0\0")
    await room.call("read_file", path="i.png")
    assert "binary" in await room.refused("edit_file", path="i.png", old_text="PNG", new_text="GIF")
    assert "is a directory" in await room.refused("edit_file", path=".", old_text="a", new_text="b")


async def test_edits_through_a_link(room: Room):
    path = room.file("real.txt", "a\n")
    (room.workspace / "link.txt").symlink_to(path)
    await room.call("read_file", path="link.txt")
    await room.call("edit_file", path="real.txt", old_text="a", new_text="b")
    await room.call("edit_file", path="link.txt", old_text="b", new_text="c")
    assert path.read_text() == "c\n"
    assert (room.workspace / "link.txt").is_symlink()


async def test_a_large_file(room: Room):
    before = b"0123456789\r\n" * 500_000 + b"needle\r\n"
    after = await edited(room, before, "9\nneedle\n", "9\nfound\n")
    assert after == b"0123456789\r\n" * 500_000 + b"found\r\n"


async def test_titles(room: Room):
    describe = room.tool("edit_file").spec.describe
    assert describe({"path": "a.py"}).title == "Edit a.py"
    assert describe({"path": str(room.workspace / "d/a.py")}).title == "Edit d/a.py"
    assert describe({}).title == "Edit"
