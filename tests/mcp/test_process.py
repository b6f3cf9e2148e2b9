import asyncio
import os
import time

import pytest

from quillback.core.mcp_server import StdioServer
from quillback.mcp import process as module
from quillback.mcp.process import LineSplitter, launch
from quillback.mcp.server import secrets_of
from support.processes import running, until

pytestmark = pytest.mark.anyio
MARK = f"seconds-{os.getpid()}"


@pytest.fixture
async def started(tmp_path):
    """Starts shell scripts; whatever a test leaves is ended."""
    made = []

    async def start(script, **env):
        server = StdioServer("shell", "/bin/sh", ("-c", script), env)
        made.append(await launch(server, tmp_path, {"PATH": os.environ["PATH"]}, secrets_of(server)))
        return made[-1]

    yield start
    for each in made:
        await each.stop()


async def lines(process):
    return [line async for line in process.lines()]


def test_lines_are_cut_however_they_arrive():
    text = b"one\n\nthree\r\nfour"
    splitter = LineSplitter(100)
    made = [line for i in range(len(text)) for line in splitter.feed(text[i : i + 1])]
    assert made == [b"one", b"", b"three\r"]
    assert splitter.feed(b"\n") == [b"four"]
    assert not splitter.overlong


def test_only_the_beginning_of_an_overlong_line_is_kept():
    splitter = LineSplitter(4)
    assert splitter.feed(b"abcdef") == []
    assert splitter.feed(b"gh\nij\n") == [b"abcd", b"ij"]
    assert splitter.overlong


async def test_its_last_words_come_masked_and_without_control_sequences(started):
    process = await started("echo out; printf 'no \\033[31mred\\033[0m %s\\n' \"$TOKEN\" >&2; exit 3", TOKEN="s3cret")
    assert await lines(process) == [b"out"]
    await until(process.last_words)
    assert process.ending() == "it ended with exit status 3; its last words: no red ***"


async def test_a_flood_on_stderr_is_bounded(started):
    process = await started('i=0; while [ $i -lt 3000 ]; do echo "line $i xxxxxxxxxxxxxxxxxxxx" >&2; i=$((i+1)); done')
    await lines(process)
    assert await until(lambda: "line 2999" in process.last_words())
    assert len(process.last_words()) <= 600


async def test_a_signal_is_named(started):
    process = await started("kill -9 $$")
    await lines(process)
    assert process.ending() == "it was ended by signal 9"


async def test_the_end_is_seen_though_a_child_holds_the_pipe(started):
    process = await started("sleep 60 & echo last; exit 4")
    begun = time.monotonic()
    assert await lines(process) == [b"last"]
    assert time.monotonic() - begun < 1.5
    assert "exit status 4" in process.ending()


async def test_a_message_without_end_ends_the_connection(started, monkeypatch):
    monkeypatch.setattr(module, "LINE_LIMIT", 1024 * 1024)
    process = await started("head -c 3000000 /dev/zero; sleep 60")
    assert await lines(process) == []
    assert process.ending() == "it sent a message of more than 1 MiB"


async def test_stop_is_quick_for_one_that_obeys_and_tells_it_by_closing_stdin(started, tmp_path):
    process = await started("cat > /dev/null; echo closed > said")
    begun = time.monotonic()
    await process.stop()
    assert time.monotonic() - begun < 1
    assert (tmp_path / "said").read_text() == "closed\n"
    assert process.write(b"late") is False


async def test_stop_kills_one_that_does_not_listen(started):
    process = await started(f"trap '' TERM; echo up; while :; do sleep 1; done; : stubborn {MARK}")
    async for _ in process.lines():
        break
    begun = time.monotonic()
    await process.stop()
    assert time.monotonic() - begun < 2
    assert running(f"stubborn {MARK}") == []


@pytest.mark.parametrize(
    "birth",
    [
        "sh -c 'sleep 60; : {mark}' & ",
        "setsid sh -c 'sleep 60; : {mark}' & ",
        "(setsid sh -c 'sleep 60; : {mark}' &) & ",
        "setsid sh -c 'trap \"\" TERM HUP; sleep 60; : {mark}' & ",
    ],
)
@pytest.mark.parametrize("ends", ["exit 0", "cat"])
async def test_stop_ends_all_descendants(started, birth, ends):
    mark = f"{MARK}-{abs(hash((birth, ends)))}"
    process = await started(f"{birth.format(mark=mark)} {ends}")
    assert await until(lambda: running(mark))
    await process.stop()
    assert await until(lambda: running(mark) == [], 1)


async def test_a_cancelled_stop_still_kills(started):
    process = await started(f"trap '' TERM; echo up; while :; do sleep 1; done; : halted {MARK}")
    async for _ in process.lines():
        break
    stopping = asyncio.create_task(process.stop())
    await asyncio.sleep(0)
    stopping.cancel()
    with pytest.raises(asyncio.CancelledError):
        await stopping
    assert await until(lambda: running(f"halted {MARK}") == [])


async def test_what_cannot_be_started_is_said_and_leaves_nothing_open(tmp_path):
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    for server in (StdioServer("x", "/no/such/program"), StdioServer("x", "sh", (), {"A": "b\0c"})):
        with pytest.raises((FileNotFoundError, ValueError)):
            await launch(server, tmp_path, {}, secrets_of(server))
    await asyncio.sleep(0.01)
    assert len(os.listdir("/proc/self/fd")) <= before  # noqa: PTH208
