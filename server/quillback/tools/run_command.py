"""Runs commands of the user's own configuration, hooks and checks, under wardens like those of the shell tool."""

import asyncio
import codecs
import os
import shutil
from collections.abc import Mapping
from contextlib import ExitStack

from quillback.core.mask import Mask
from quillback.core.ports import ToolError
from quillback.core.process import Ran
from quillback.tools.command import Command, Commands
from quillback.tools.environment import command_environment
from quillback.tools.text import clean

KEPT = 20_000
"""Characters that are kept of the head, and of the tail, of each output."""

_READ = 64 * 1024
_PIPEFULS = 4
_ENDING = 2.0


class CommandRunner:
    """Implements the RunCommand port. What a command leaves behind ends with it."""

    def __init__(self, secret: frozenset[str] = frozenset(), mask: Mask | None = None) -> None:
        """`secret` are the variables that are held back besides those of our own and of model providers; `mask` hides
        what is secret in outputs."""
        self._secret = secret
        self._mask = mask or Mask()
        self._commands = Commands()

    async def __call__(
        self, command: str, *, cwd: str, stdin: str = "", env: Mapping[str, str] | None = None, seconds: float
    ) -> Ran:
        environment = command_environment(self._secret) | dict(env or {})
        if problem := _unfit(command, cwd, environment):
            return Ran(None, problem=problem)
        out, err = Ends(), Ends()
        try:
            run, heard, given = self._start(command, cwd, stdin, environment, out, err)
        except (ToolError, OSError) as error:
            return Ran(None, problem=str(error))
        try:
            in_time = await _end_of(run, seconds)
            heard.take()
        finally:
            run.end()
            run.sink = None
            heard.close()
            given.close()
        if not in_time:
            await run.wait_gone(_ENDING)
            return Ran(None, *self._texts(out, err), f"it was ended after {seconds:g} s")
        if run.exit_status is None:
            return Ran(None, *self._texts(out, err), f"it could not be run: {run.failure}")
        return Ran(run.exit_status, *self._texts(out, err))

    def _texts(self, out: "Ends", err: "Ends") -> tuple[str, str]:
        return self._mask.hide(out.text()), self._mask.hide(err.text())

    async def close(self) -> None:
        """End what still runs; bounded."""
        await self._commands.close()

    def _start(
        self, command: str, cwd: str, stdin: str, environment: Mapping[str, str], out: "Ends", err: "Ends"
    ) -> "tuple[Command, _Heard, _Given]":
        argv = (shutil.which("bash") or "/bin/sh", "-c", command)
        with ExitStack() as theirs, ExitStack() as ours:
            reading, to_say = _pipe(ours, theirs)
            to_read, writing = _pipe(theirs, ours)
            handles = {"stdin": to_read, "stderr": to_say}
            run = self._commands.start(argv, cwd, environment, out.feed, handles=handles)
            ours.pop_all()
        return run, _Heard(reading, err), _Given(writing, stdin.encode(errors="replace"))


def _unfit(command: str, cwd: str, environment: Mapping[str, str]) -> str:
    """Why this cannot be handed to a process."""
    words = (command, cwd, *environment, *environment.values())
    try:
        return "it holds a NUL character" if any(b"\0" in os.fsencode(word) for word in words) else ""
    except UnicodeEncodeError:
        return "it is not valid Unicode text"


def _pipe(reader: ExitStack, writer: ExitStack) -> tuple[int, int]:
    """A pipe whose ends are closed with the stacks."""
    ends = os.pipe()
    for stack, end in zip((reader, writer), ends, strict=True):
        stack.callback(os.close, end)
    return ends


async def _end_of(run: Command, seconds: float) -> bool:
    """Wait for the command's end and take what it said; False when the time is over before."""
    clock = asyncio.get_running_loop().time
    deadline = clock() + seconds
    while not run.ended:
        if (left := deadline - clock()) <= 0:
            return False
        await run.change(left)
    await run.settle()
    return True


class Ends:
    """The head and the tail of a text that comes as bytes."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._head = ""
        self._tail = ""
        self._size = 0

    def feed(self, data: bytes, *, final: bool = False) -> None:
        text = self._decoder.decode(data, final)
        room = KEPT - len(self._head)
        self._head += text[:room]
        self._tail = (self._tail + text[room:])[-KEPT:]
        self._size += len(text)

    def text(self) -> str:
        """What a terminal would show of it; nothing may be fed any more."""
        self.feed(b"", final=True)
        omitted = self._size - len(self._head) - len(self._tail)
        between = f"\n[... {omitted:,} characters omitted ...]\n" if omitted else ""
        return clean(self._head + between + self._tail)


class _Heard:
    """Reads a pipe while the command runs, and drops nothing of what is in it at the end."""

    def __init__(self, handle: int, into: Ends) -> None:
        self._handle = handle
        self._into = into
        self._open = True
        self._loop = asyncio.get_running_loop()
        os.set_blocking(handle, False)
        self._loop.add_reader(handle, self._read)

    def _read(self) -> bool:
        """Whether more may be there."""
        try:
            data = os.read(self._handle, _READ)
        except BlockingIOError:
            return False
        self._into.feed(data)
        if not data:
            self.close()
        return self._open

    def take(self) -> None:
        for _ in range(_PIPEFULS):
            if not self._open or not self._read():
                return

    def close(self) -> None:
        if self._open:
            self._open = False
            self._loop.remove_reader(self._handle)
            os.close(self._handle)


class _Given:
    """Writes to a pipe as fast as the command reads it, then closes it."""

    def __init__(self, handle: int, data: bytes) -> None:
        self._handle = handle
        self._rest = memoryview(data)
        self._open = True
        self._loop = asyncio.get_running_loop()
        os.set_blocking(handle, False)
        self._loop.add_writer(handle, self._write)

    def _write(self) -> None:
        try:
            self._rest = self._rest[os.write(self._handle, self._rest) :] if self._rest else self._rest
        except BlockingIOError:
            return
        except OSError:
            self._rest = self._rest[:0]  # nobody reads it
        if not self._rest:
            self.close()

    def close(self) -> None:
        if self._open:
            self._open = False
            self._loop.remove_writer(self._handle)
            os.close(self._handle)
