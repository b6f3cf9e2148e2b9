"""A Neovim with the plug-in in a test: started on a workspace, typed into, looked at."""

import gc
import os
import socket
import subprocess
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

PLUGIN = Path(__file__).resolve().parents[2] / "editors" / "nvim"
LONGEST = 60.0
"""Seconds after which an editor that hangs is killed: a question that blocks would hold up the test for ever."""


def _wait_for_listener(path: Path) -> None:
    until = time.monotonic() + 10
    while time.monotonic() < until:
        with socket.socket(socket.AF_UNIX) as probe, suppress(OSError):
            probe.connect(str(path))
            return
        time.sleep(0.01)
    raise AssertionError("Neovim does not listen")


class Neovim:
    """`start` runs the editor. Everything is in folders of the test; nothing of the user's is read."""

    def __init__(self, path: str, home: Path, workspace: Path, server: Path) -> None:
        self._path = path
        self._home = home
        self.workspace = workspace
        self._server = server
        self._watchdog: threading.Timer | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._sockets: tempfile.TemporaryDirectory[str] | None = None
        self.nvim: Any = None

    def start(self, model: str = "scripted:demo", setup: str = "", env: Mapping[str, str] | None = None) -> None:
        init = self._home / "init.lua"
        init.write_text(
            f"vim.opt.runtimepath:prepend({str(PLUGIN)!r})\n"
            "vim.opt.swapfile = false\n"
            "vim.opt.lines, vim.opt.columns = 50, 140\n"
            "told = {}\n"
            "vim.notify = function(text) table.insert(told, text) end\n"
            f"require('quillback').setup({{ command = {{ {str(self._server)!r}, 'acp' }} }})\n" + setup
        )
        given = {
            "QUILLBACK_HOME": str(self._home / "quillback"),
            "QUILLBACK_MODEL": model,
            **{f"XDG_{kind}_HOME": str(self._home / kind.lower()) for kind in ("STATE", "DATA", "CACHE", "CONFIG")},
            **(env or {}),
        }
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("QUILLBACK_", "NVIM"))}
        # A socket's path may have a hundred characters only.
        self._sockets = tempfile.TemporaryDirectory(prefix="nvim-")
        address = Path(self._sockets.name, "s")
        argv = [self._path, "--headless", "--listen", str(address), "--clean", "-u", str(init)]
        quiet = subprocess.DEVNULL
        self._process = subprocess.Popen(
            argv, cwd=self.workspace, env=kept | given, stdin=quiet, stdout=quiet, stderr=quiet
        )
        self.pid = self._process.pid
        self._watchdog = threading.Timer(LONGEST, self.kill)
        self._watchdog.daemon = True
        self._watchdog.start()
        _wait_for_listener(address)
        import pynvim  # only where the editors' environment is

        self.nvim = pynvim.attach("socket", path=str(address))

    def kill(self) -> None:
        """At once, so that the editor can do nothing more."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def quit(self) -> None:
        """Like `:qa!`; returns once the editor is gone."""
        with suppress(OSError, EOFError):
            self.nvim.command("qa!", async_=True)
        assert self._process is not None
        self._process.wait(10)

    def is_alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def close(self) -> None:
        if self._watchdog is not None:
            self._watchdog.cancel()
        if self.nvim is not None:
            self.nvim.close()
            self.nvim = None
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ResourceWarning)  # pynvim leaves its socket to the collector
                gc.collect()
        self.kill()
        if self._sockets is not None:
            self._sockets.cleanup()

    # ------------------------------------------------------------ what the user does

    def command(self, text: str) -> None:
        self.nvim.command(text)

    def type(self, keys: str) -> None:
        self.nvim.input(keys)

    def send(self, text: str) -> None:
        """Open the chat and send a prompt like a user: typed into the prompt window, then Enter."""
        self.command("Quillback")
        self.wait(lambda: self.lua("return require('quillback.chat').current.session.id ~= nil"), "no session")
        self.type(f"i{text}<Esc><CR>")

    # ------------------------------------------------------------ what the user sees

    def lua(self, code: str, *arguments: object) -> Any:
        return self.nvim.exec_lua(code, *arguments)

    def chat(self) -> str:
        """The text of the chat."""
        return "\n".join(
            self.lua("return vim.api.nvim_buf_get_lines(require('quillback.chat').current.buffer, 0, -1, false)")
        )

    def prompt(self) -> str:
        return self.lua("return require('quillback.chat').current:text()")

    def told(self) -> list[str]:
        """The notices so far."""
        return self.lua("return told")

    def bars(self) -> str:
        """The lines above the two windows of the chat."""
        windows = "local a, b = require('quillback.layout').windows()"
        return self.lua(f"{windows}; return vim.wo[a].winbar .. '\\n' .. vim.wo[b].winbar")

    def wait(self, condition: Callable[[], object], why: str, seconds: float = 20) -> Any:
        until = time.monotonic() + seconds
        while True:
            found = condition()
            if found:
                return found
            if time.monotonic() > until:
                raise AssertionError(f"{why}; the chat:\n{self.chat()}\ntold: {self.told()}")
            time.sleep(0.02)

    def wait_for_text(self, text: str, seconds: float = 20) -> str:
        self.wait(lambda: text in self.chat(), f"{text!r} never came", seconds)
        return self.chat()

    def wait_for_question(self) -> None:
        """A question is open, and shown."""
        open_ones = "return #require('quillback.chat').current.session.questions > 0"
        self.wait(lambda: self.lua(open_ones) and "\n▶ " in self.chat(), "no question came")

    def answer(self, command: str) -> None:
        """Answer the question that is open, and wait until it is gone from the chat."""
        self.wait_for_question()
        self.command(command)

    def problems(self) -> str:
        """What went wrong inside: error messages, and the plug-in's log."""
        messages = self.nvim.command_output("messages")
        logs = [log.read_text() for log in self._home.rglob("quillback.log")]
        return "\n".join(text for text in [messages if "rror" in messages else "", *logs] if text)

    def wait_for_end(self, seconds: float = 20) -> None:
        idle = "local s = require('quillback.chat').current.session; return not s.running and s.id ~= nil"
        self.wait(lambda: self.lua(idle), "the turn did not end", seconds)

    def server_pid(self) -> int | None:
        return self.lua("return require('quillback.agent').pid()")
