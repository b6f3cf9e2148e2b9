"""Commands under wardens: started, heard, ended, and all of them gone when the session closes."""

import asyncio
import os
import secrets
import select
import signal
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from quillback.core.ports import ToolError
from quillback.tools.orphans import MARK, Trail, adopt_orphans, reap_adopted
from quillback.tools.spawn import ends, start, write_all

_READ = 64 * 1024
_DRAIN = 0.1
_PIPEFULS = 4
_CLOSE_LIMIT = 4.0
_FORCE = 1.0
_AGAIN = 0.02
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
        handles: Mapping[str, int] | None = None,
    ) -> None:
        self.sink: Callable[[bytes], None] | None = sink
        self.exit_status: int | None = None
        self.failure = ""
        self.gone = False
        self._output_ended = False
        self._ordered = False
        self._finished = False
        self._again: asyncio.TimerHandle | None = None
        self._lines = b""
        self._waiters: set[asyncio.Future[None]] = set()
        self._loop = asyncio.get_running_loop()
        mark = secrets.token_hex(8)
        self._warden = start(cwd, {**environment, MARK: mark}, boxed=boxed, handles=handles)
        self._control, self._output, self._status = ends(self._warden)
        self._trail = Trail(self._warden.pid, mark, os.fstat(self._output).st_ino)
        self._loop.add_reader(self._output, self._hear_output)
        self._loop.add_reader(self._status, self._hear_status)
        body = b"\0".join(map(os.fsencode, argv))
        with suppress(OSError):
            write_all(self._control, b"%d\n" % len(body) + body)

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
        """Order its end and that of all it started: SIGINT, 300 ms, SIGTERM, 300 ms, SIGKILL. Does not wait.

        A warden that has not done it in _FORCE seconds is killed with all of it.
        """
        if not self._ordered:
            self._ordered = True
            os.close(self._control)
            if not self.gone:
                self._set_again(self._loop.call_later(_FORCE, self._trail.kill))

    def abandon(self) -> None:
        """Stop listening, by force."""
        self.end()
        if not self._finished:
            self._trail.kill()
            self._loop.remove_reader(self._status)
            self._finish()
        self._close_output()
        self._set_gone()

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
                self._trail.leader = int(rest)
            case "left":
                pid, _, begun = rest.partition(" ")
                self._trail.know(int(pid), int(begun))
            case "failed":
                self.failure = rest
            case "exited" if not self.failure:
                self.exit_status = int(rest)

    def _finish(self) -> None:
        """The warden has ended: of itself, and then nothing is left, or else the command goes with it."""
        self._finished, ordered = True, self._ordered
        self.end()
        os.close(self._status)
        clear = self._warden.wait() == 0
        self._trail.warden = 0
        if clear:
            self._set_gone()
        else:
            self._clear(_AGAIN)
        if not self.ended and ordered:
            self.exit_status = -signal.SIGKILL
        elif not self.ended:
            self.failure = _KILLED

    def _clear(self, delay: float) -> None:
        """Kill until nothing is left, more and more seldom: something may hang in the kernel for long."""
        if self._trail.kill():
            self._set_gone()
        else:
            self._set_again(self._loop.call_later(delay, self._clear, min(2 * delay, 1.0)))

    def _set_again(self, timer: asyncio.TimerHandle | None) -> None:
        if self._again is not None:
            self._again.cancel()
        self._again = timer

    def _set_gone(self) -> None:
        self._set_again(None)
        self.gone = True
        reap_adopted()
        self._notify()


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
        handles: Mapping[str, int] | None = None,
    ) -> Command:
        if self._closed:
            raise ToolError("the session is closed; no command can run")
        self._running = {command for command in self._running if not command.gone}
        adopt_orphans()
        command = Command(argv, cwd, environment, sink, boxed=boxed, handles=handles)
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
