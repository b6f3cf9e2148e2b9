"""Stands between an editor and an agent, and passes on every byte; what was said is written down beside that.

Each direction has a thread that reads and writes, and nothing else. A third one writes the transcript: however slow the
disk is, nobody waits for it.
"""

import os
import queue
import signal
import subprocess
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import FrameType

from quillback.transcripts.recorder import Recorder

READ_SIZE = 65536
MOST_WAITING = 256 * 1024 * 1024
"""Bytes that wait to be written down; when there are more, the disk hangs and the record ends."""
TICK = 0.25
LAST_SECONDS = 5.0
"""How long the record may take to its end after the agent's."""
FORWARDED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def record(file: Path, agent: Sequence[str]) -> int:
    """The exit code of the agent. Ends by the same signal where the agent did. Raises OSError where it cannot be
    started."""
    process = subprocess.Popen(agent, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
    assert process.stdin is not None
    assert process.stdout is not None

    def forward(number: int, frame: FrameType | None) -> None:
        with suppress(ProcessLookupError):
            process.send_signal(number)

    for number in FORWARDED:
        signal.signal(number, forward)
    scribe = Scribe(file, agent)
    to_agent = Pump(0, process.stdin.fileno(), partial(_nothing_for, 0), process.stdin.close, scribe.sent)
    to_editor = Pump(process.stdout.fileno(), 1, process.stdout.close, partial(_nothing_for, 1), scribe.came)
    to_agent.start()
    to_editor.start()
    code = process.wait()
    to_editor.finish()
    scribe.end()
    return code


class Pump(threading.Thread):
    """Passes every byte from `source` to `target`. The end of one is told to the other: `end` closes the target, `stop`
    the source."""

    def __init__(
        self, source: int, target: int, stop: Callable[[], None], end: Callable[[], None], told: Callable[[bytes], None]
    ) -> None:
        super().__init__(daemon=True)
        self._source = source
        self._target = target
        self._stop_source = stop
        self._end_target = end
        self._told = told
        self._writing = False

    def run(self) -> None:
        close = self._end_target
        while data := _read(self._source):
            self._told(data)
            self._writing = True
            if not _wrote(self._target, data):
                close = self._stop_source
                break
            self._writing = False
        with suppress(OSError):
            close()
        self._writing = False

    def finish(self) -> None:
        """Wait for the end of what the source's process said. What that has started may hold its output open, and is
        not waited for; a target that reads slowly is."""
        self.join(LAST_SECONDS)
        while self.is_alive() and self._writing:
            self.join(LAST_SECONDS)


class Scribe:
    """Takes what was said, in order, and has it written by a thread of its own. It never waits and never raises."""

    def __init__(self, file: Path, agent: Sequence[str]) -> None:
        self._file = file
        self._agent = agent
        self._queue: queue.SimpleQueue[tuple[str, bytes] | None] = queue.SimpleQueue()
        self._waiting = 0
        self._lock = threading.Lock()
        self._over = False
        self._thread = threading.Thread(target=self._run, name="record", daemon=True)
        self._thread.start()

    def sent(self, data: bytes) -> None:
        self._put("->", data)

    def came(self, data: bytes) -> None:
        self._put("<-", data)

    def end(self) -> None:
        """Wait until all is written, but not for ever."""
        self._queue.put(None)
        self._thread.join(LAST_SECONDS)
        if self._thread.is_alive():
            self._give_up("writing takes too long")

    def _put(self, way: str, data: bytes) -> None:
        if self._over:
            return
        with self._lock:
            self._waiting += len(data)
        if self._waiting > MOST_WAITING:
            self._give_up("writing takes too long")
            return
        self._queue.put((way, data))

    def _give_up(self, why: str) -> None:
        self._over = True
        with suppress(OSError):
            os.write(2, f"quillback: {self._file} is not written any more: {why}. The session goes on.\n".encode())

    def _run(self) -> None:
        try:
            fd = self._open()
            try:
                self._write(Recorder(fd, self._agent))
            finally:
                os.close(fd)
        except OSError as error:
            self._give_up(error.strerror or str(error))
        except Exception as error:
            self._give_up(f"it failed inside ({type(error).__name__}: {error})")

    def _open(self) -> int:
        """A new file. Where there is one of the name already, since editors start agents again, with a number."""
        named, number = self._file, 1
        while True:
            try:
                return os.open(self._file, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_EXCL, 0o600)
            except FileExistsError:
                number += 1
                self._file = named.with_stem(f"{named.stem}-{number}")

    def _write(self, recorder: Recorder) -> None:
        rest = {"->": b"", "<-": b""}
        write = {"->": recorder.sent, "<-": recorder.came}
        while not self._over:
            try:
                item = self._queue.get(timeout=TICK)
            except queue.Empty:
                recorder.tick()
                continue
            if item is None:
                for way, line in rest.items():
                    if line.strip():
                        write[way](line)
                recorder.end()
                return
            way, data = item
            with self._lock:
                self._waiting -= len(data)
            *lines, rest[way] = (rest[way] + data).split(b"\n")
            for line in lines:
                if line.strip():
                    write[way](line)


def _read(fd: int) -> bytes:
    try:
        return os.read(fd, READ_SIZE)
    except OSError:
        return b""


def _wrote(fd: int, data: bytes) -> bool:
    try:
        while data:
            data = data[os.write(fd, data) :]
    except OSError:
        return False
    return True


def _nothing_for(fd: int) -> None:
    """Close a standard stream; its number stays taken, so that no file is opened under it."""
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, fd)
    os.close(nothing)


def end_like(code: int) -> int:
    """The exit code of an agent that ended by itself. Where a signal ended it, this process ends by the same one."""
    if code < 0:
        with suppress(OSError, ValueError):  # some cannot be set, and need not be
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
        return 128 - code  # as a shell would say it, where that signal does nothing
    return code
