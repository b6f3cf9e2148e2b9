"""Runs one command and sees to it that nothing the command started outlives its order to end.

A script of its own, with the standard library only. It adopts every orphan among its descendants (Linux; elsewhere it
knows the command's process group only), so a process that left its group or its session is found all the same. The
agent's end of fd 0 closes when the agent dies, however it dies, and that is an order to end too.

fd 0: the argv of the command, NUL between its items, after its length in bytes and a line feed; later any byte or the
end of the file orders the end. fd 1: becomes the command's output. fd 2: what happened, one line each:
`started PID`, `failed TEXT`, `exited STATUS` (negative: the signal), `left PID START` for each descendant that is still
there when the command ends, so that the agent knows them should this process be killed. It closes when no descendant is
left; the exit status is 1 if some could not be ended.

With the arguments `stdin=N` and `stderr=N` the command gets these inherited handles instead of nothing to read and the
handle of its output.
With the argument `boxed` the command is a sandbox around another one, which would die with it. So the polite signals
go to what is inside, and the sandbox ends after it.
"""

import os
import select
import signal
import sys
import time
from contextlib import suppress

LADDER = ((0.0, signal.SIGINT), (0.3, signal.SIGTERM), (0.6, signal.SIGKILL))
"""Seconds after the order, and the signal sent then."""

LEFT = 200
AGAIN = 0.02
GIVE_UP = 3.0
_POLL = 0.5
_SUBREAPER = 36


def main() -> None:
    adopts = adopt()
    argv = _argv()
    stdin, stderr = _given("stdin"), _given("stderr")
    wake, woken = os.pipe()
    os.set_blocking(woken, False)
    signal.set_wakeup_fd(woken, warn_on_full_buffer=False)
    # Handlers, since a signal that is ignored here would stay ignored in the command.
    for number in (signal.SIGCHLD, signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: None)
    child = os.fork()
    if child == 0:
        _become(argv, stdin, stderr)
    os.dup2(os.open(os.devnull, os.O_RDWR), 1)
    for handle in (stdin, stderr):
        if handle is not None:
            os.close(handle)
    _report(f"started {child}")
    clear = Watch(child, wake, adopts, boxed="boxed" in sys.argv[1:]).run()
    # Not by the usual way: the agent takes the end of fd 2 for the end of this process.
    os._exit(0 if clear else 1)


def adopt() -> bool:
    """Whether orphaned descendants become our children."""
    if sys.platform != "linux":
        return False
    try:
        import ctypes

        return bool(ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0) == 0)
    except (ImportError, OSError, AttributeError):
        return False


def _argv() -> list[bytes]:
    head = b""
    while not head.endswith(b"\n"):
        if not (byte := os.read(0, 1)):
            os._exit(1)
        head += byte
    body = b""
    while len(body) < int(head):
        if not (more := os.read(0, int(head) - len(body))):
            os._exit(1)
        body += more
    return body.split(b"\0")


def _given(word: str) -> "int | None":
    """The handle that the agent passed on as `word`."""
    numbers = [int(item.partition("=")[2]) for item in sys.argv[1:] if item.startswith(word + "=")]
    return numbers[0] if numbers else None


def _become(argv: list[bytes], stdin: "int | None", stderr: "int | None") -> None:
    """Turn the forked child into the command, in a session of its own."""
    try:
        os.setsid()
        for number in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        status = os.dup(2)
        os.dup2(os.open(os.devnull, os.O_RDONLY) if stdin is None else stdin, 0)
        os.dup2(1 if stderr is None else stderr, 2)
        for handle in (stdin, stderr):
            if handle is not None:
                os.close(handle)
        try:
            os.execvp(argv[0], argv)
        except OSError as error:
            os.write(status, f"failed {error.strerror}\n".encode())
    finally:
        os._exit(127)


def _report(line: str) -> None:
    with suppress(OSError):
        os.write(2, line.encode() + b"\n")


class Watch:
    """Waits for the command and its descendants, and ends them when told to."""

    def __init__(self, child: int, wake: int, adopts: bool, *, boxed: bool) -> None:
        self._child = child
        self._wake = wake
        self._adopts = adopts
        self._boxed = boxed
        self._childless = False
        self._ordered: float | None = None
        self._step = 0

    def run(self) -> bool:
        """False when something is left that cannot be killed."""
        while not self._gone():
            sources = [self._wake] if self._ordered is not None else [0, self._wake]
            ready, _, _ = select.select(sources, [], [], self._patience())
            if 0 in ready:
                self._ordered = time.monotonic()
            if self._wake in ready:
                os.read(self._wake, 4096)
            self._reap()
            if self._ordered is not None and not self._climb(time.monotonic() - self._ordered):
                return False
        return True

    def _gone(self) -> bool:
        return self._childless and (self._adopts or not _exists(self._child))

    def _patience(self) -> float | None:
        if self._ordered is None:
            return None if self._adopts or not self._childless else _POLL
        if self._step == len(LADDER):
            return AGAIN
        return max(0.0, self._ordered + LADDER[self._step][0] - time.monotonic())

    def _reap(self) -> None:
        ended = False
        try:
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    break
                if pid == self._child:
                    ended = True
                    _report(f"exited {os.waitstatus_to_exitcode(status)}")
        except ChildProcessError:
            self._childless = True
            return
        if ended and self._adopts:
            for process in descendants(os.getpid(), table())[:LEFT]:
                _report(f"left {process.pid} {process.start}")

    def _climb(self, since: float) -> bool:
        """Send what is due; False when it is time to give up on processes that cannot be killed."""
        if self._step < len(LADDER):
            if since >= LADDER[self._step][0]:
                self._signal(LADDER[self._step][1])
                self._step += 1
        else:
            self._signal(signal.SIGKILL)
        return since < GIVE_UP

    def _signal(self, number: int) -> None:
        if not self._adopts:
            with suppress(OSError):
                os.killpg(self._child, number)
            return
        found = descendants(os.getpid(), table())
        spared = self._boxed and number != signal.SIGKILL
        if number == signal.SIGINT:
            self._interrupt([process for process in found if not spared or process.pid != self._child])
            return
        # A group's number is only ours while a descendant is in it.
        if not spared and any(process.group == self._child for process in found):
            with suppress(OSError):
                os.killpg(self._child, number)
        for process in found:
            if process.pid != self._child if spared else process.group != self._child:
                with suppress(OSError):
                    os.kill(process.pid, number)

    def _interrupt(self, found: "list[Process]") -> None:
        """SIGINT, parents first.

        A shell in the background ignores it, but what it waits for does not: the shell would go on to its next command.
        So who ignores it is ended at once, with all below.
        """
        deaf: set[int] = set()
        for process in found:
            if process.parent in deaf or _ignores(process.pid, signal.SIGINT):
                deaf.add(process.pid)
            with suppress(OSError):
                os.kill(process.pid, signal.SIGTERM if process.pid in deaf else signal.SIGINT)


def _ignores(pid: int, number: int) -> bool:
    # pathlib would be half of the time this script takes to start.
    with suppress(OSError, ValueError, IndexError), open(f"/proc/{pid}/status", "rb") as file:  # noqa: PTH123
        mask = file.read().partition(b"SigIgn:")[2].split(None, 1)[0]
        return bool(int(mask, 16) >> (number - 1) & 1)
    return False


def _exists(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


class Process:
    """One line of the table. `start` (in clock ticks) tells it from a later one of the same number."""

    def __init__(self, pid: int, stat: bytes) -> None:
        # The name in parentheses may hold anything, so count from its end.
        fields = stat.rpartition(b")")[2].split()
        self.pid = pid
        self.dead = fields[0] in (b"Z", b"X")
        self.parent, self.group, self.session = map(int, fields[1:4])
        self.start = int(fields[19])


def table() -> "list[Process]":
    """All processes there are, from /proc."""
    with os.scandir("/proc") as entries:
        names = [entry.name for entry in entries if entry.name.isdigit()]
    found = []
    for name in names:
        # pathlib would be half of the time this script takes to start.
        with suppress(OSError, IndexError, ValueError), open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123
            found.append(Process(int(name), file.read()))
    return found


def descendants(root: int, processes: "list[Process]") -> "list[Process]":
    """All below `root`, parents first."""
    children: dict[int, list[Process]] = {}
    for process in processes:
        children.setdefault(process.parent, []).append(process)
    found: list[Process] = []
    level = [root]
    while level:
        below = [entry for pid in level for entry in children.pop(pid, [])]
        found += below
        level = [process.pid for process in below]
    return found


if __name__ == "__main__":
    try:
        main()
    except OSError as error:
        _report(f"failed {error.strerror}")
        sys.exit(1)
