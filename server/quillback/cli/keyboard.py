"""Single keys from the terminal, whatever standard input is used for."""

import asyncio
import os
import select
import termios
import threading
import tty
from collections.abc import Iterator
from contextlib import contextmanager, suppress

TERMINAL = "/dev/tty"


class Keyboard:
    """The terminal of this process. `restore` may be called at any time, any number of times."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self._before: list[int | list[bytes | int]] | None = None

    @classmethod
    def open(cls) -> "Keyboard | None":
        """None where there is no terminal."""
        try:
            return cls(os.open(TERMINAL, os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC))
        except OSError:
            return None

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Keys count from here on, each at once and without an echo; what was typed before does not."""
        try:
            with suppress(termios.error):
                self._before = termios.tcgetattr(self.fd)
                tty.setcbreak(self.fd)
            yield
        finally:
            self.restore()

    async def key(self) -> str:
        """The next key, in lower case; empty when the terminal is gone.

        What comes at once and is not one key, an arrow or a paste, is given whole: no part of it is a key. The Enter
        of somebody who sends lines is none of it.
        """
        with suppress(OSError):
            typed = (await self._typed()).lower()
            typed = typed.rstrip("\r\n") or typed
            return typed[:1] if len(set(typed)) == 1 else typed
        return ""

    async def _typed(self) -> str:
        """What is typed next. Waits in a thread, since not every system lets an event loop wait for /dev/tty."""
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        stopped, stop = os.pipe()
        threading.Thread(target=_wait, args=(self.fd, stopped, ready), name="keyboard", daemon=True).start()
        try:
            await ready
        finally:
            os.close(stop)
        return os.read(self.fd, 64).decode("ascii", "replace")

    def restore(self) -> None:
        before, self._before = self._before, None
        if before is not None:
            with suppress(termios.error):
                termios.tcsetattr(self.fd, termios.TCSADRAIN, before)

    def close(self) -> None:
        self.restore()
        os.close(self.fd)


def _wait(fd: int, stopped: int, ready: "asyncio.Future[None]") -> None:
    """Settles `ready` when there is something to read; ends when the other end of `stopped` is closed."""
    try:
        select.select([fd, stopped], [], [])
        ready.get_loop().call_soon_threadsafe(_settle, ready)
    except (OSError, RuntimeError):  # the loop is closed: nobody waits any more
        return
    finally:
        os.close(stopped)


def _settle(ready: "asyncio.Future[None]") -> None:
    if not ready.done():
        ready.set_result(None)
