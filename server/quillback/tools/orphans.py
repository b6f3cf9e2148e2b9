"""Ends what a command started when its warden does not: killed or stopped, by the command itself perhaps.

For that the agent adopts what a dead warden leaves (Linux), and knows it by the variable that each command gets, by its
session, by its open output, and by what the warden told while it lived. Should the agent be killed while a warden is
dead, what is left of that warden's command stays: nobody is there any more to end it.
"""

import functools
import os
import signal
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from quillback.tools.warden import Process, adopt, descendants, table

MARK = "QUILLBACK_COMMAND"
"""The variable; its value is new for each command."""

_PROC = Path("/proc")


@functools.cache
def adopt_orphans() -> bool:
    """Have orphaned descendants become children of this process, from now on. Whether that is possible here."""
    return adopt()


def reap_adopted() -> None:
    """Take notice of the dead among the adopted, of whatever origin, and of no child that somebody here waits for.

    A child is in our session or leads one of its own. One in another session was therefore born to somebody else.
    """
    if sys.platform != "linux" or not _any_dead():
        return
    ours = os.getsid(0)
    for process in table():
        if process.dead and process.parent == os.getpid() and process.session not in (ours, process.pid):
            _reap(process.pid)


def _any_dead() -> bool:
    try:
        return os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        return False


def _reap(pid: int) -> None:
    with suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)


class Trail:
    """The processes of one command, told from all others. `warden` must not be reaped before it is set to 0."""

    def __init__(self, warden: int, mark: str, output: int) -> None:
        self.warden = warden
        self.leader = 0
        self._variable = f"{MARK}={mark}".encode()
        self._pipe = f"pipe:[{output}]"
        self._known: set[tuple[int, int]] = set()

    def know(self, pid: int, start: int) -> None:
        self._known.add((pid, start))

    def kill(self) -> bool:
        """SIGKILL to all there are, the warden last. True when none was left; otherwise it has to be called again."""
        if sys.platform != "linux":
            self._kill_group()
            return True
        processes = self._members(table())
        self._known.update((process.pid, process.start) for process in processes)
        living = [process.pid for process in processes if not process.dead]
        for pid in [*living, *([self.warden] if self.warden else [])]:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        for process in processes:
            if process.parent == os.getpid():
                _reap(process.pid)
        return not living

    def _kill_group(self) -> None:
        for pid, send in ((self.leader, os.killpg), (self.warden, os.kill)):
            if pid:
                with suppress(OSError):
                    send(pid, signal.SIGKILL)

    def _members(self, processes: list[Process]) -> list[Process]:
        ours = descendants(os.getpid(), processes)
        adopted = {process.pid for process in ours if self._in_session(process) or self._holds_output(process)}
        first = [process for process in processes if process.pid in adopted or self._is_known(process)]
        members = {process.pid: process for process in first}
        for root in (self.warden, *members):
            if root:
                members |= {process.pid: process for process in descendants(root, processes)}
        return [member for pid, member in members.items() if pid not in (os.getpid(), self.warden)]

    def _is_known(self, process: Process) -> bool:
        if (process.pid, process.start) in self._known:
            return True
        with suppress(OSError):
            return self._variable in (_PROC / str(process.pid) / "environ").read_bytes().split(b"\0")
        return False

    def _in_session(self, process: Process) -> bool:
        return self.leader != 0 and process.session == self.leader

    def _holds_output(self, process: Process) -> bool:
        """Whether it writes to the command's output; the output's reader is this process alone."""
        return process.parent == os.getpid() and self._pipe in _links(process.pid, (1, 2))


def _links(pid: int, handles: Iterable[int]) -> list[str]:
    found = []
    for handle in handles:
        with suppress(OSError):
            found.append(str((_PROC / str(pid) / "fd" / str(handle)).readlink()))
    return found
