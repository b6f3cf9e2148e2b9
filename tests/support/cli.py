"""The command line as a real process: plain, or behind a terminal of its own."""

import fcntl
import os
import pty
import select
import shlex
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import IO

from attrs import frozen

from support.agent import environment

SECONDS = 30.0


@frozen
class Shell:
    """Where commands run. `home` is QUILLBACK_HOME; the model plays what `script` was given, if it was called."""

    place: Path

    @property
    def home(self) -> Path:
        return self.place / "home" / "quillback"

    @property
    def workspace(self) -> Path:
        return self.place / "workspace"

    def env(self, **more: str) -> dict[str, str]:
        """Without credentials; `more` adds and replaces."""
        script = self.place / "model.script"
        played = {"QUILLBACK_MODEL": f"scripted:{script}"} if script.exists() else {}
        nothing = {"ANTHROPIC_API_KEY": "", "PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring"}
        return environment(self.place / "home", "", {**nothing, **played, **more})

    def script(self, text: str) -> None:
        (self.place / "model.script").write_text(text)

    def __call__(
        self, *arguments: str, stdin: str = "", env: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run to the end. The child has no terminal."""
        with self.start(*arguments, stdin=subprocess.PIPE, env=env) as process:
            out, err = process.communicate(stdin, timeout=SECONDS)
        return subprocess.CompletedProcess(arguments, process.returncode, out, err)

    @contextmanager
    def start(
        self,
        *arguments: str,
        stdin: int = subprocess.DEVNULL,
        stdout: int = subprocess.PIPE,
        env: Mapping[str, str] | None = None,
    ) -> Iterator[subprocess.Popen[str]]:
        process = subprocess.Popen(
            [sys.executable, "-m", "quillback", *arguments],
            cwd=self.workspace,
            env=self.env(**(env or {})),
            stdin=stdin,
            stdout=stdout,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            errors="surrogateescape",
            start_new_session=True,
        )
        try:
            yield process
        finally:
            _end(process)

    @contextmanager
    def terminal(
        self,
        *arguments: str,
        stdin: str | None = None,
        stdout: IO[str] | None = None,
        env: Mapping[str, str] | None = None,
        argv: Sequence[str] = (),
    ) -> Iterator["Terminal"]:
        """The command behind a terminal; `stdin` is piped in instead of the keys, `stdout` takes what it prints.

        `argv` is a program to run instead.
        """
        master, slave = pty.openpty()
        process = subprocess.Popen(
            argv or [sys.executable, "-m", "quillback", *arguments],
            cwd=self.workspace,
            env=self.env(**{"TERM": "xterm-256color", **(env or {})}),
            stdin=slave if stdin is None else subprocess.PIPE,
            stdout=stdout or slave,
            stderr=slave,
            preexec_fn=lambda: (os.setsid(), fcntl.ioctl(slave, termios.TIOCSCTTY, 0)),
        )
        os.close(slave)
        if stdin is not None:
            assert process.stdin is not None
            process.stdin.write(stdin.encode())
            process.stdin.close()
        try:
            yield Terminal(process, master)
        finally:
            _end(process)
            os.close(master)

    def through(self, filter_: str, *arguments: str) -> AbstractContextManager["Terminal"]:
        """The command behind a terminal, with its standard output piped through `filter_` to it."""
        command = shlex.join([sys.executable, "-m", "quillback", *arguments])
        return self.terminal(argv=["sh", "-c", f"{command} | {filter_}"])


class Terminal:
    """What a person at the terminal sees and types."""

    def __init__(self, process: "subprocess.Popen[bytes]", master: int) -> None:
        self.process = process
        self.output = ""
        self._master = master

    def wait_for(self, text: str, times: int = 1) -> None:
        """Until the output holds `text` so many times."""
        deadline = time.monotonic() + SECONDS
        while self.output.count(text) < times:
            assert self._more(deadline), f"{text!r} never came; there was: {self.output!r}"

    def type(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def end(self) -> int:
        """The exit code, when the process has ended and all of its output is read."""
        deadline = time.monotonic() + SECONDS
        while self._more(deadline):
            pass
        return self.process.wait(SECONDS)

    def modes(self) -> list[object]:
        return termios.tcgetattr(self._master)

    def _more(self, deadline: float) -> bool:
        ready, _, _ = select.select([self._master], [], [], max(0.0, deadline - time.monotonic()))
        data = b""
        with suppress(OSError):  # Linux says EIO when the other end is closed
            data = os.read(self._master, 65536) if ready else b""
        self.output += data.decode("utf-8", "replace")
        return bool(data)


def _end(process: "subprocess.Popen[str] | subprocess.Popen[bytes]") -> None:
    if process.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream:
            stream.close()
