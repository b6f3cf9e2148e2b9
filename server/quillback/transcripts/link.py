"""The connection to the agent that a transcript is run against: a process, or this very one (`in_process`)."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from attrs import define, field

from quillback.transcripts.inbox import Inbox

READ_SIZE = 65536
STDERR_KEPT = 16 * 1024
GRACE = 3.0
"""Seconds that an agent has to end after its input was closed; then it is ended. Not all end by themselves."""
STEP = 2.0


@define(eq=False)
class Link:
    """`process` is None where the agent is in this one."""

    writer: asyncio.StreamWriter
    process: asyncio.subprocess.Process | None = None
    inbox: Inbox = field(factory=Inbox)
    stderr: bytearray = field(factory=bytearray)
    reading: "asyncio.Task[None] | None" = None

    def read(self, reader: asyncio.StreamReader) -> None:
        self.reading = asyncio.create_task(self._read(reader))

    def send(self, line: bytes) -> None:
        """Queue a line. What a closed agent does not take is lost: its end is told by the inbox."""
        if not self.writer.is_closing():
            self.writer.write(line + b"\n")

    async def finish(self) -> bool:
        """Close the agent's input and wait for the end of its output. False when that does not come."""
        self.writer.close()
        if self.reading is None:
            return True
        done, _ = await asyncio.wait({self.reading}, timeout=GRACE)
        return bool(done)

    @property
    def exit_code(self) -> int | None:
        return self.process.returncode if self.process is not None else None

    @property
    def told(self) -> str:
        """The end of what the agent wrote to its standard error."""
        return self.stderr.decode("utf-8", "replace").strip()

    async def _read(self, reader: asyncio.StreamReader) -> None:
        rest = b""
        try:
            while data := await reader.read(READ_SIZE):
                *lines, rest = (rest + data).split(b"\n")
                for line in lines:
                    self.inbox.put(line)
        except OSError:
            pass
        finally:
            if rest:
                self.inbox.put(rest)
            self.inbox.end()


@asynccontextmanager
async def spawned(argv: Sequence[str], cwd: Path | None, env: Mapping[str, str]) -> AsyncIterator[Link]:
    """An agent process, in the current directory for None. It is killed at the end if it still runs.

    Raises OSError when it cannot be started."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *argv, cwd=cwd, env=env, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    link = Link(process.stdin, process)
    link.read(process.stdout)
    keeping = asyncio.create_task(_keep(process.stderr, link.stderr))
    try:
        yield link
    finally:
        link.writer.close()
        await _end(process)
        assert link.reading is not None
        await asyncio.wait({link.reading, keeping}, timeout=STEP)
        for task in (link.reading, keeping):
            task.cancel()


async def _keep(reader: asyncio.StreamReader, kept: bytearray) -> None:
    while data := await reader.read(READ_SIZE):
        kept += data
        del kept[:-STDERR_KEPT]


async def _end(process: asyncio.subprocess.Process) -> None:
    for act in (process.terminate, process.kill):
        with suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), STEP)
            return
        with suppress(ProcessLookupError):
            act()
    await process.wait()
