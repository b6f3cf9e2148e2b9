import asyncio
import base64
import hashlib
import os
import socket
import struct
import time
import zlib

import pytest

from quillback.core.message import FileSeen, Image, Location
from support.toolroom import Room, text

pytestmark = pytest.mark.anyio


def png(width: int, height: int) -> bytes:
    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    rows = b"".join(b"\0" + b"\0" * width for _ in range(height)) if width * height < 100_000 else b""
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


async def test_lines_are_numbered_and_the_file_is_known(room: Room):
    path = room.file("a.txt", "one\ntwo\n")
    outcome = await room.call("read_file", path="a.txt")
    assert text(outcome) == "     1\tone\n     2\ttwo"
    digest = hashlib.sha256(b"one\ntwo\n").hexdigest()
    assert outcome.seen == (FileSeen(str(path), digest),)
    assert room.context.known == {str(path): digest}
    assert outcome.shown == outcome.content
    assert outcome.locations == (Location(str(path)),)


async def test_a_part_says_how_to_read_on(room: Room):
    room.file("a.txt", "".join(f"line {n}\n" for n in range(1, 101)))
    out = await room.text("read_file", path="a.txt", line=10, limit=2)
    assert out == "    10\tline 10\n    11\tline 11\n[lines 10-11 of 100; read on with line=12]"
    assert (await room.text("read_file", path="a.txt", line=100)).endswith("[lines 100-100 of 100]")


async def test_two_thousand_lines_a_call(room: Room):
    room.file("a.txt", "x\n" * 5321)
    out = await room.text("read_file", path="a.txt", limit=100_000)
    assert out.endswith("[lines 1-2000 of 5321; read on with line=2001]")
    assert out.count("\n") == 2000


async def test_two_hundred_kilobytes_a_call(room: Room):
    room.file("a.txt", ("y" * 999 + "\n") * 1000)
    out = await room.text("read_file", path="a.txt")
    last = int(out.rsplit("line=", 1)[1].rstrip("]")) - 1
    assert 190 < last < 200
    assert len(out) < 201_000
    again = await room.text("read_file", path="a.txt", line=last + 1)
    assert again.startswith(f"{last + 1:>6}\t")


async def test_one_long_line_is_cut_with_a_note(room: Room):
    room.file("min.js", "z" * 1_000_000)
    out = await room.text("read_file", path="min.js")
    assert "line cut: it has 1,000,000 characters" in out
    assert len(out) < 3000


@pytest.mark.parametrize("size", [10, 300_000])
async def test_a_start_past_the_end_says_how_many_lines(room: Room, size: int):
    room.file("a.txt", "0123456789abcdef\n" * size)
    assert f"has {size} lines" in await room.refused("read_file", path="a.txt", line=size + 1)


@pytest.mark.parametrize("arguments", [{"line": 0}, {"limit": 0}, {"line": -3}, {"line": 1.5}, {"line": True}])
async def test_odd_numbers_are_refused(room: Room, arguments: dict[str, object]):
    room.file("a.txt", "x\n")
    tool = room.tool("read_file")
    with pytest.raises(Exception, match=next(iter(arguments))):
        await tool.prepare("c", {"path": "a.txt", **arguments})


async def test_an_empty_file_says_so(room: Room):
    room.file("a.txt", b"")
    assert await room.text("read_file", path="a.txt") == "[a.txt is empty]"


async def test_missing_files_and_directories(room: Room):
    (room.workspace / "d").mkdir()
    room.file("f", "x")
    assert "no such file" in await room.refused("read_file", path="gone.txt")
    assert "no such file" in await room.refused("read_file", path="f/below")
    assert "list_dir" in await room.refused("read_file", path="d")


async def test_pipes_sockets_devices_and_kernel_files_do_not_hang(room: Room):
    os.mkfifo(room.workspace / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(room.workspace / "s"))
        started = time.monotonic()
        assert "a pipe" in await room.refused("read_file", path="pipe")
        assert "a socket" in await room.refused("read_file", path="s")
        assert "not an ordinary file" in await room.refused("read_file", path="/dev/zero")
        assert "kernel" in await room.refused("read_file", path=f"/proc/{os.getpid()}/environ")
        assert time.monotonic() - started < 1


@pytest.mark.parametrize("path", ["a\0b", "~/x", "~", "", "  ", "x" * 300, "d/" * 3000 + "f", "\ud800"])
async def test_what_can_be_no_path_is_a_clear_error(room: Room, path: str):
    message = await room.refused("read_file", path=path)
    assert message
    assert "Traceback" not in message
    assert room.tool("read_file").touches({"path": path}) == frozenset()


async def test_a_loop_of_links_is_an_error(room: Room):
    (room.workspace / "a").symlink_to("b")
    (room.workspace / "b").symlink_to("a")
    assert await room.refused("read_file", path="a")


async def test_binary_files_are_refused_with_their_size(room: Room):
    room.file("x.bin", b"\x7fELF" + bytes(2000))
    assert "binary file of 2,004 bytes" in await room.refused("read_file", path="x.bin")
    room.file("big.bin", bytes(5_000_000))
    assert "binary file" in await room.refused("read_file", path="big.bin")
    assert room.context.known == {}


@pytest.mark.parametrize(
    ("data", "shown", "remark"),
    [
        (b"\xef\xbb\xbfa\r\nb", "     1\ta\n     2\tb", "CR LF"),
        ("\ufeffé\n".encode("utf-16-le"), "     1\té", "UTF-16"),
        ("\ufeffé\n".encode("utf-16-be"), "     1\té", "UTF-16"),
        (b"caf\xe9\n", "     1\tcafé", "not valid UTF-8"),
        ("日本\n".encode(), "     1\t日本", ""),
        (b"a", "     1\ta", "no line feed at the end"),
        (b"a\x1b[31m\x0cb\n", "     1\ta␛[31m␌b", ""),
        ("a\u2028b\n".encode(), "     1\ta\u2028b", ""),
    ],
)
async def test_encodings(room: Room, data: bytes, shown: str, remark: str):
    room.file("a.txt", data)
    out = await room.text("read_file", path="a.txt")
    assert out.startswith(shown)
    assert remark in out
    assert "\ufeff" not in out
    assert "\x1b" not in out


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "utf-16"])
async def test_large_files_are_read_in_pieces(room: Room, encoding: str):
    lines = [f"{n} é{'.' * 40}" for n in range(120_000)]
    data = ("\n".join(lines) + "\n").encode(encoding)
    path = room.file("big.log", data)
    outcome = await room.call("read_file", path="big.log", line=100_001, limit=1)
    assert "100001\t100000 é" in text(outcome)
    assert "of 120000" in text(outcome)
    assert outcome.seen == (FileSeen(str(path), hashlib.sha256(data).hexdigest()),)


async def test_a_cancel_of_a_long_read_is_answered_at_once(room: Room):
    path = room.workspace / "sparse"
    with path.open("wb") as file:
        file.write(b"x" * 10_000)
        file.truncate(20_000_000_000)
    task = asyncio.ensure_future(room.call("read_file", path="sparse"))
    await asyncio.sleep(0.1)
    started = time.monotonic()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert time.monotonic() - started < 0.5


async def test_images_are_images(room: Room):
    data = png(3, 2)
    room.file("a.png", data)
    outcome = await room.call("read_file", path="a.png")
    assert outcome.content == (Image(base64.b64encode(data).decode(), "image/png"),)
    assert outcome.shown == outcome.content


@pytest.mark.parametrize(
    ("data", "note"),
    [
        (png(9000, 10), "9000 x 10 pixels"),
        (b"\x89PNG\r\n\x1a\n" + b"\0" * 4_000_000, "more than"),
        (b"\x89PNG\r\n\x1a\nbroken", "damaged"),
        (b"\xff\xd8\xff\xe0\0\x04ab", "damaged"),
        (b"GIF89a\0", "damaged"),
        (b"RIFF\0\0\0\0WEBPXXXX", "damaged"),
    ],
)
async def test_images_that_cannot_be_sent_are_noted(room: Room, data: bytes, note: str):
    room.file("a.png", data)
    out = await room.text("read_file", path="a.png")
    assert "image" in out
    assert note in out


async def test_paths_are_real_for_inspectors_and_as_given_for_the_editor(room: Room):
    outside = room.home / "outside"
    outside.mkdir()
    (outside / "f").write_text("secret\n")
    (room.workspace / "out").symlink_to(outside)
    prepared = await room.prepare("read_file", path="out/f")
    assert prepared.access.reads == (str(outside / "f"),)
    assert prepared.locations == (Location(str(room.workspace / "out/f")),)
    assert room.tool("read_file").touches({"path": "out/f"}) == {str(outside / "f")}
    dotted = await room.prepare("read_file", path="out/../../ws/x")
    assert dotted.access.reads == (str(room.home.parent / "ws/x"),)


async def test_a_link_put_in_the_way_after_the_question_is_noticed(room: Room):
    room.file("d/f", "mine\n")
    (room.home / "other").mkdir()
    (room.home / "other" / "f").write_text("secret\n")
    prepared = await room.prepare("read_file", path="d/f")
    (room.workspace / "d").rename(room.workspace / "was")
    (room.workspace / "d").symlink_to(room.home / "other")
    with pytest.raises(Exception, match="changed while the question was open"):
        await room.run(prepared)


async def test_a_cwd_that_is_a_link_works(room: Room):
    room.file("in/f.txt", "inside\n")
    (room.home / "wslink").symlink_to(room.workspace)
    room.open(room.home / "wslink")
    prepared = await room.prepare("read_file", path=str(room.home / "wslink/in/f.txt"))
    assert prepared.access.reads == (str(room.workspace / "in/f.txt"),)
    assert "inside" in text(await room.run(prepared))


@pytest.mark.parametrize(
    ("arguments", "title", "line"),
    [
        ({"path": "src/a.py"}, "Read src/a.py", None),
        ({"path": "src/a.py", "line": 10, "limit": 11}, "Read src/a.py (10-20)", 10),
        ({"path": "src/a.py", "line": 10}, "Read src/a.py (from 10)", 10),
        ({"path": "src/a.py", "limit": 5}, "Read src/a.py (1-5)", None),
        ({"path": "/etc/hosts"}, "Read /etc/hosts", None),
        ({}, "Read", None),
        ({"path": 5, "line": "x"}, "Read", None),
        ({"path": "a\nb\0", "line": -1}, "Read a b (from -1)", None),
    ],
)
async def test_titles(room: Room, arguments: dict[str, object], title: str, line: int | None):
    sketch = room.tool("read_file").spec.describe(arguments)
    assert sketch.title == title
    assert all(location.path.startswith("/") and location.line == line for location in sketch.locations)
