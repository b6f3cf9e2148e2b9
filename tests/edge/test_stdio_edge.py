"""The pipes of the process: how they are read and written, whoever else holds them and however slow the other end."""

import asyncio
import os
import threading
from collections.abc import Iterator

import pytest

from quillback.edge import fds, handshake
from quillback.edge.stderr import Stderr
from quillback.edge.stdio import READ_AHEAD, READ_SIZE, Reader
from support.processes import until

pytestmark = pytest.mark.anyio


@pytest.fixture
def ends() -> Iterator[tuple[int, int]]:
    """The reading and the writing end of a pipe."""
    reading, writing = os.pipe()
    yield reading, writing
    for fd in (reading, writing):
        try:
            os.close(fd)
        except OSError:
            continue


# ---------------------------------------------------------------- descriptors


async def test_a_read_waits_where_the_pipe_does_not(ends):
    os.set_blocking(ends[0], False)
    reading = asyncio.create_task(asyncio.to_thread(fds.read, ends[0], 10))
    assert not await until(reading.done, 0.1)
    os.write(ends[1], b"here")
    assert await reading == b"here"
    assert not os.get_blocking(ends[0])
    os.close(ends[1])
    assert fds.read(ends[0], 10) == b""


async def test_a_write_waits_where_the_pipe_does_not(ends):
    os.set_blocking(ends[1], False)
    while True:
        try:
            os.write(ends[1], b"x" * 4096)
        except BlockingIOError:
            break
    writing = asyncio.create_task(asyncio.to_thread(fds.write, ends[1], b"more"))
    assert not await until(writing.done, 0.1)
    os.read(ends[0], 65536)
    assert await writing == 4


def test_what_cannot_be_read_has_ended_and_what_nobody_takes_is_an_error(ends):
    os.close(ends[0])
    assert fds.read(ends[1], 10) == b""
    with pytest.raises(OSError):
        fds.write(ends[1], b"x")


# ---------------------------------------------------------------- the reader


async def test_a_held_reader_feeds_nothing_and_goes_on_where_it_stopped(ends):
    got, over, held = bytearray(), asyncio.Event(), True
    Reader(ends[0], asyncio.get_running_loop(), got.extend, over.set, lambda: held)
    sent = 0
    os.set_blocking(ends[1], False)
    while sent < 4 * READ_AHEAD * READ_SIZE:
        try:
            sent += os.write(ends[1], bytes(READ_SIZE))
        except BlockingIOError:
            if await until(lambda: _room(ends[1]), 0.2):
                continue
            break
    assert sent < (READ_AHEAD + 3) * READ_SIZE
    assert not got
    held = False
    assert await until(lambda: len(got) == sent)
    os.close(ends[1])
    assert await until(over.is_set)


async def test_a_reader_is_held_between_two_pieces_of_what_came(ends):
    got: list[bytes] = []
    Reader(ends[0], asyncio.get_running_loop(), got.append, lambda: None, lambda: len(got) >= 2)
    for number in range(5):
        os.write(ends[1], b"%d" % number)
        await until(lambda n=number: len(got) > n, 0.05)
    assert got == [b"0", b"1"]


def _room(fd: int) -> bool:
    try:
        return os.write(fd, b"") == 0 and fds.select.select([], [fd], [], 0)[1] != []
    except BlockingIOError:
        return False


# ---------------------------------------------------------------- stderr


async def test_a_log_that_nobody_reads_takes_no_time_and_its_losses_are_counted(ends):
    stream = Stderr(ends[1], limit=100_000)
    line = "word " * 200 + "\n"
    for _ in range(1000):
        assert stream.write(line) == len(line)
    assert not stream.flushed(0.05)
    with os.fdopen(ends[0], "rb", closefd=False) as output:
        text = bytearray()
        reader = threading.Thread(target=lambda: text.extend(output.read()))
        reader.start()
        assert await asyncio.to_thread(stream.flushed, 5)
        stream.write("after\n")
        assert await asyncio.to_thread(stream.flushed, 5)
        os.close(ends[1])
        reader.join(5)
    lines = text.decode().splitlines()
    kept = [x for x in lines if x.startswith("word")]
    assert 90 <= len(kept) <= 101
    assert f"quillback: {1000 - len(kept)} pieces of the log were dropped: nobody read stderr" in lines
    assert lines[-1] == "after"


async def test_a_log_whose_reader_is_gone_is_no_accident(ends):
    stream = Stderr(ends[1])
    os.close(ends[0])
    print("to nobody \udc80", file=stream, flush=True)
    assert await asyncio.to_thread(stream.flushed, 5)
    print("again", file=stream)
    assert stream.flushed(0)


# ---------------------------------------------------------------- the first exchange

HELLO = b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}\n'


def exchange(data: bytes, ends: tuple[int, int]) -> tuple[handshake.Handshake, bytes]:
    os.write(ends[1], data)
    os.close(ends[1])
    answers, stdout = os.pipe()
    with os.fdopen(answers, "rb") as output:
        done = handshake.first_exchange(ends[0], stdout, os.getppid())
        os.close(stdout)
        return done, output.read()


@pytest.mark.parametrize("before", [b"", b"\n", b" \r\n\t\n"])
def test_the_first_line_is_answered_and_the_rest_kept(ends, before):
    done, output = exchange(before + HELLO + b"rest", ends)
    assert b'"agentInfo"' in output
    assert (done.rest, done.params, done.eof) == (b"rest", {"protocolVersion": 1}, False)


@pytest.mark.parametrize("data", [b"{bad\nx", b"[]\n", b"\xef\xbb\xbf" + HELLO, b"Content-Length: 3\r\n\r\n{}\n"])
def test_what_is_no_plain_initialize_is_left_to_the_ordinary_path(ends, data):
    done, output = exchange(data, ends)
    assert output == b""
    assert (done.rest, done.params) == (data, None)


def test_an_answer_that_nobody_takes_ends_the_input(ends):
    answers, stdout = os.pipe()
    os.close(answers)
    os.write(ends[1], HELLO)
    done = handshake.first_exchange(ends[0], stdout, os.getppid())
    os.close(stdout)
    assert (done.rest, done.eof) == (b"", True)


def test_a_refusal_answers_requests_and_nothing_else(ends):
    answers, stdout = os.pipe()
    rest = b'{"jsonrpc":"2.0","id":1,"method":"a"}\n{"method":"note"}\n{"id":9,"result":{}}\n[1]\n{bad\n{"id":null,'
    os.write(ends[1], b'"method":"b"}\n{"id":[],"method":"c"}\n{"id":"x","method":"d"}')
    os.close(ends[1])
    handshake.refuse(ends[0], stdout, rest, "broken")
    os.close(stdout)
    with os.fdopen(answers, "rb") as output:
        lines = output.read().splitlines()
    error = b'"error":{"code":-32603,"message":"broken"}}'
    assert lines == [b'{"jsonrpc":"2.0","id":%b,' % id_ + error for id_ in (b"1", b"null", b'"x"')]
