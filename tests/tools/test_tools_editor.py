"""Files that the editor holds: its unsaved text is what counts, and it is written only where that is faithful."""

import pytest

from quillback.core.message import Diff
from quillback.core.ports import EditorError
from support.toolroom import Room

pytestmark = pytest.mark.anyio


@pytest.fixture
def room(room: Room) -> Room:
    room.editor.offer(read=True, write=True)
    return room


async def test_without_capabilities_the_editor_is_not_asked(room: Room):
    room.editor.offer()
    room.file("a.txt", "disk\n")
    await room.call("read_file", path="a.txt")
    await room.call("write_file", path="a.txt", content="new\n")
    assert room.editor.read_paths == []
    assert room.editor.written == []


async def test_a_file_as_on_disk_is_written_through_the_editor(room: Room):
    path = room.file("a.txt", "disk\n")
    await room.call("read_file", path="a.txt")
    assert await room.text("edit_file", path="a.txt", old_text="disk", new_text="new") == (
        "Edited a.txt: 1 replacement (line 1)."
    )
    assert room.editor.written == [(str(path), "new\n")]
    await room.call("edit_file", path="a.txt", old_text="new", new_text="newer")
    assert path.read_text() == "newer\n"


async def test_a_new_file_is_written_through_the_editor(room: Room):
    await room.call("write_file", path="d/new.txt", content="x\n")
    assert room.editor.written == [(str(room.workspace / "d/new.txt"), "x\n")]
    await room.call("edit_file", path="d/new.txt", old_text="x", new_text="y")
    assert (room.workspace / "d/new.txt").read_text() == "y\n"


async def test_unsaved_text_is_read_and_changed(room: Room):
    path = room.file("a.txt", "disk\n")
    room.editor.buffers[str(path)] = "typed\nmore\n"
    out = await room.text("read_file", path="a.txt")
    assert out.startswith("     1\ttyped\n     2\tmore\n")
    assert "unsaved" in out
    prepared = await room.prepare("edit_file", path="a.txt", old_text="typed", new_text="TYPED")
    assert prepared.shown == (Diff(str(path), "typed\nmore\n", "TYPED\nmore\n"),)
    await room.run(prepared)
    assert room.editor.written == [(str(path), "TYPED\nmore\n")]


@pytest.mark.parametrize("side", ["buffer", "disk"])
async def test_a_change_on_either_side_is_noticed(room: Room, side: str):
    path = room.file("a.txt", "disk\n")
    room.editor.buffers[str(path)] = "typed\n"
    await room.call("read_file", path="a.txt")
    if side == "disk":
        path.write_text("outside\n")
    else:
        room.editor.buffers[str(path)] = "typed on\n"
    assert "read it again" in await room.refused("write_file", path="a.txt", content="x\n")
    assert room.editor.written == []


async def test_typing_while_the_question_is_open_is_noticed(room: Room):
    path = room.file("a.txt", "disk\n")
    await room.call("read_file", path="a.txt")
    prepared = await room.prepare("write_file", path="a.txt", content="mine\n")
    room.editor.buffers[str(path)] = "disk, and more\n"
    with pytest.raises(Exception, match="changed while"):
        await room.run(prepared)
    assert path.read_text() == "disk\n"


async def test_a_buffer_without_a_file(room: Room):
    path = str(room.workspace / "new.txt")
    room.editor.buffers[path] = "draft\n"
    assert "read it first" in await room.refused("write_file", path="new.txt", content="x\n")
    assert "draft" in await room.text("read_file", path="new.txt")
    await room.call("edit_file", path="new.txt", old_text="draft", new_text="final")
    assert room.editor.written == [(path, "final\n")]


async def test_an_empty_answer_for_a_missing_file_is_no_file(room: Room):
    room.editor.buffers[str(room.workspace / "new.txt")] = ""
    assert "no such file" in await room.refused("read_file", path="new.txt")
    await room.call("write_file", path="new.txt", content="x\n")
    assert (room.workspace / "new.txt").read_text() == "x\n"


@pytest.mark.parametrize(
    "data", [b"\xef\xbb\xbfa\nb\n", b"a\r\nb\r\n", b"a\nb\ncaf\xe9\n", "\ufeffa\nb\n".encode("utf-16-le")]
)
async def test_what_the_editor_might_not_keep_is_written_by_us(room: Room, data: bytes):
    path = room.file("a.txt", data)
    await room.call("read_file", path="a.txt")
    await room.call("edit_file", path="a.txt", old_text="a\nb", new_text="A\nb")
    assert room.editor.written == []
    assert path.read_bytes().replace(b"A", b"a") == data

    room.editor.buffers[str(path)] = "a\nb\nand more, unsaved\n"
    await room.call("read_file", path="a.txt")
    assert "unsaved changes" in await room.refused("edit_file", path="a.txt", old_text="a\nb", new_text="x")
    assert room.editor.written == []


async def test_a_link_is_written_by_us(room: Room):
    path = room.file("real.txt", "a\n")
    link = room.workspace / "link.txt"
    link.symlink_to("real.txt")
    await room.call("read_file", path="link.txt")
    await room.call("write_file", path="link.txt", content="b\n")
    assert room.editor.written == []
    assert path.read_text() == "b\n"
    room.editor.buffers[str(link)] = "typed\n"
    await room.call("read_file", path="link.txt")
    assert "unsaved changes" in await room.refused("write_file", path="link.txt", content="c\n")


async def test_reading_alone_does_not_write(room: Room):
    room.editor.offer(read=True)
    path = room.file("a.txt", "a\n")
    await room.call("read_file", path="a.txt")
    await room.call("write_file", path="a.txt", content="b\n")
    assert path.read_text() == "b\n"
    room.editor.buffers[str(path)] = "typed\n"
    await room.call("read_file", path="a.txt")
    assert "unsaved changes" in await room.refused("write_file", path="a.txt", content="c\n")


async def test_the_editor_knows_the_path_as_it_was_given(room: Room):
    room.file("in/f.txt", "inside\n")
    link = room.home / "wslink"
    link.symlink_to(room.workspace)
    room.open(link)
    await room.call("read_file", path="in/f.txt")
    assert room.editor.read_paths == [str(link / "in/f.txt")]


async def test_files_outside_the_roots_are_not_the_editors(room: Room):
    (room.home / "o.txt").write_text("x\n")
    await room.call("read_file", path="../o.txt")
    await room.call("write_file", path="../o.txt", content="y\n")
    assert room.editor.read_paths == []
    assert room.editor.written == []
    assert (room.home / "o.txt").read_text() == "y\n"


async def test_an_editor_that_cannot_read_is_passed_over(room: Room):
    room.editor.read_error = EditorError("no", -32603)
    room.file("a.txt", "disk\n")
    assert "disk" in await room.text("read_file", path="a.txt")


async def test_an_editor_that_refuses_to_write(room: Room):
    path = room.file("a.txt", "disk\n")
    room.editor.write_error = EditorError("no", -32603)
    await room.call("read_file", path="a.txt")
    await room.call("write_file", path="a.txt", content="new\n")
    assert path.read_text() == "new\n"
    room.editor.buffers[str(path)] = "typed\n"
    await room.call("read_file", path="a.txt")
    assert "did not take" in await room.refused("write_file", path="a.txt", content="x\n")
    assert path.read_text() == "new\n"


async def test_a_buffer_left_unsaved_is_named(room: Room):
    room.editor.saves = False
    path = room.file("a.txt", "disk\n")
    await room.call("read_file", path="a.txt")
    assert "unsaved; commands still see" in await room.text("write_file", path="a.txt", content="new\n")
    await room.call("edit_file", path="a.txt", old_text="new", new_text="newer")
    assert room.editor.buffers[str(path)] == "newer\n"
    assert path.read_text() == "disk\n"


async def test_an_editor_that_formats_is_named(room: Room):
    room.editor.formats = True
    room.file("a.txt", "disk\n")
    await room.call("read_file", path="a.txt")
    assert "changes of its own" in await room.text("write_file", path="a.txt", content="a  b\n")
    await room.call("edit_file", path="a.txt", old_text="a b", new_text="c")


@pytest.mark.parametrize("buffer", ["a\nb", "\ufeffa\r\nb\r\n", "a\nb\n"])
async def test_other_line_ends_are_no_unsaved_change(room: Room, buffer: str):
    path = room.file("a.txt", b"a\r\nb\r\n")
    room.editor.buffers[str(path)] = buffer
    assert "unsaved" not in await room.text("read_file", path="a.txt")
    await room.call("edit_file", path="a.txt", old_text="b", new_text="c")
    assert path.read_bytes() == b"a\r\nc\r\n"


@pytest.mark.parametrize("buffer", ["caf\ufffd\n", "café\n", "caf"])
async def test_an_editor_that_reads_another_encoding(room: Room, buffer: str):
    path = room.file("a.txt", b"caf\xe9\n")
    room.editor.buffers[str(path)] = buffer
    out = await room.text("read_file", path="a.txt")
    assert ("unsaved" in out) == (buffer == "caf")
