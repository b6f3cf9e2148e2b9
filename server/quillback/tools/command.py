"""Commands under wardens: started, heard, ended, and all of them gone when the session closes."""

import asyncio
import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from quillback.core.ports import ToolError

_WARDEN = str(Path(__file__).with_name("warden.py"))
_READ = 64 * 1024
_DRAIN = 0.1
_PIPEFULS = 4
_CLOSE_LIMIT = 4.0
_KILLED = "what watches over it was killed, so it was killed too"


class Command:
    """One command. `exit_status` is its exit code, negative for a signal, None while it runs.

    `failure` is set instead when it could not run. Its output goes to `sink` as bytes, on the loop. A process it
    leaves behind may write on: that is read and, once `sink` is None, dropped, so that the process is never blocked.
    """

    def __init__(
        self,
        argv: Sequence[str],
        cwd: str,
        environment: Mapping[str, str],
        sink: Callable[[bytes], None],
        *,
        boxed: bool = False,
    ) -> None:
        self.sink: Callable[[bytes], None] | None = sink
        self.exit_status: int | None = None
        self.failure = ""
        self.gone = False
        self._output_ended = False
        self._ordered = False
        self._pid = 0
        self._lines = b""
        self._waiters: set[asyncio.Future[None]] = set()
        self._loop = asyncio.get_running_loop()
        self._warden = _start(cwd, environment, boxed=boxed)
        self._control, self._output, self._status = _ends(self._warden)
        self._loop.add_reader(self._output, self._hear_output)
        self._loop.add_reader(self._status, self._hear_status)
        body = b"\0".join(map(os.fsencode, argv))
        with suppress(OSError):
            _write_all(self._control, b"%d\n" % len(body) + body)

    @property
    def ended(self) -> bool:
        """Whether the command itself has ended; others it started may still run."""
        return self.exit_status is not None or self.failure != ""

    async def change(self, seconds: float) -> None:
        """Return after the next output or event, or when the time is over."""
        waiter = self._loop.create_future()
        self._waiters.add(waiter)
        try:
            await asyncio.wait([waiter], timeout=seconds)
        finally:
            self._waiters.discard(waiter)

    async def settle(self) -> None:
        """After its end: take what is still in the pipe, without waiting for children that keep it open."""
        deadline = self._loop.time() + _DRAIN
        while not self._output_ended and (left := deadline - self._loop.time()) > 0:
            await self.change(left)
        # On a busy loop the time may be over before the pipe was looked at.
        for _ in range(_PIPEFULS):
            if self._output_ended or not select.select([self._output], [], [], 0)[0]:
                break
            self._hear_output()

    async def wait_gone(self, seconds: float) -> None:
        """Wait until nothing of it runs any more."""
        deadline = self._loop.time() + seconds
        while not self.gone and (left := deadline - self._loop.time()) > 0:
            await self.change(left)

    def end(self) -> None:
        """Order its end and that of all it started: SIGINT, 300 ms, SIGTERM, 300 ms, SIGKILL. Does not wait."""
        if not self._ordered:
            self._ordered = True
            os.close(self._control)

    def abandon(self) -> None:
        """Stop listening, by force."""
        self.end()
        with suppress(OSError):
            self._warden.kill()
        self._close_output()
        if not self.gone:
            self._loop.remove_reader(self._status)
            self._finish()

    def _notify(self) -> None:
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)

    def _hear_output(self) -> None:
        data = os.read(self._output, _READ)
        if not data:
            self._close_output()
        elif self.sink is not None:
            self.sink(data)
        self._notify()

    def _close_output(self) -> None:
        if not self._output_ended:
            self._output_ended = True
            self._loop.remove_reader(self._output)
            os.close(self._output)

    def _hear_status(self) -> None:
        data = os.read(self._status, _READ)
        *lines, self._lines = (self._lines + data).split(b"\n")
        for line in lines:
            self._note(*line.decode(errors="replace").partition(" ")[::2])
        if not data:
            self._loop.remove_reader(self._status)
            self._finish()
        self._notify()

    def _note(self, word: str, rest: str) -> None:
        match word:
            case "started":
                self._pid = int(rest)
            case "failed":
                self.failure = rest
            case "exited" if not self.failure:
                self.exit_status = int(rest)

    def _finish(self) -> None:
        """The warden has ended. Without a word of the command's end it was killed, and the command goes with it."""
        if not self.ended:
            self.failure = _KILLED
            if self._pid:
                with suppress(OSError):
                    os.killpg(self._pid, signal.SIGKILL)
        self.end()
        os.close(self._status)
        self._warden.wait()
        self.gone = True


def _start(cwd: str, environment: Mapping[str, str], *, boxed: bool) -> "subprocess.Popen[bytes]":
    try:
        return subprocess.Popen(
            [sys.executable, "-I", "-S", _WARDEN, *(("boxed",) if boxed else ())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            cwd=cwd,
            env=environment,
            start_new_session=True,
        )
    except OSError as error:
        if not Path(cwd).is_dir():
            raise ToolError(
                f"the session's directory {cwd} does not exist any more, so no command can run in it; "
                "make it again (write_file makes missing directories), or ask the user to"
            ) from None
        raise ToolError(f"the command could not be started: {error.strerror}") from None


def _ends(warden: "subprocess.Popen[bytes]") -> tuple[int, int, int]:
    """Our ends of its three pipes, taken over from the objects that would close them."""
    files = (warden.stdin, warden.stdout, warden.stderr)
    handles = [os.dup(file.fileno()) for file in files if file is not None]
    for file in files:
        if file is not None:
            file.close()
    control, output, status = handles
    return control, output, status


def _write_all(handle: int, data: bytes) -> None:
    """Blocks at most until the warden has begun to read."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(handle, rest) :]


class Commands:
    """The commands of one session, those that left something running included."""

    def __init__(self) -> None:
        self._running: set[Command] = set()
        self._closed = False

    def start(
        self,
        argv: Sequence[str],
        cwd: str,
        environment: Mapping[str, str],
        sink: Callable[[bytes], None],
        *,
        boxed: bool = False,
    ) -> Command:
        if self._closed:
            raise ToolError("the session is closed; no command can run")
        self._running = {command for command in self._running if not command.gone}
        command = Command(argv, cwd, environment, sink, boxed=boxed)
        self._running.add(command)
        return command

    async def close(self) -> None:
        """End them all. Quick when they obey, bounded when they do not."""
        self._closed = True
        for command in self._running:
            command.sink = None
            command.end()
        try:
            async with asyncio.timeout(_CLOSE_LIMIT):
                for command in self._running:
                    await command.wait_gone(_CLOSE_LIMIT)
        except TimeoutError:
            pass
        finally:
            for command in self._running:
                command.abandon()
            self._running.clear()
