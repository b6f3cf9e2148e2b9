"""Confines shell commands with bubblewrap: they write in the session's roots and a /tmp of the session's own only.

What it does not hold back: a socket file outside /run and /tmp can be connected to, and a protected path that is not
there yet, or that is a link, can be made or replaced. Only commands run here; MCP servers have the user's rights.
"""

import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from quillback.core.ports import ToolError
from quillback.tools.environment import command_environment
from quillback.tools.threads import in_thread

PROTECTED = (".git/hooks", ".git/config", ".quillback", ".claude", ".vscode", ".mcp.json")
"""Read-only inside the roots: what runs later, outside of any sandbox, because it is there."""

_PROBE_SECONDS = 5.0
_STRANGERS = ("SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR", "GPG_AGENT_INFO", "WAYLAND_DISPLAY")
_STILL_IN_RUN = ("/etc/resolv.conf", "/run/current-system")
_Mount = tuple[str, tuple[str, ...]]


class Sandbox:
    """How commands are confined in every session of this process. Without `offline` they have the network.

    `hidden` are directories and files that no command may read. `problem` says why commands cannot be confined here;
    it is empty when they can, and None as long as nobody has looked.
    """

    def __init__(self, *, offline: bool, hidden: Sequence[Path] = ()) -> None:
        self.offline = offline
        self.problem: str | None = None
        self._hidden = tuple(hidden)
        self._program = ""
        self._looking = asyncio.Lock()

    async def look(self) -> str:
        """`problem`, known from now on."""
        async with self._looking:
            if self.problem is None:
                await in_thread(lambda _: self.probe())
        return self.problem or ""

    def probe(self) -> str:
        """Runs a command in the sandbox, which takes some milliseconds; returns `problem`."""
        self.problem = self._probed()
        return self.problem

    def _probed(self) -> str:
        if sys.platform != "linux":
            return "it needs bubblewrap, which is for Linux only"
        found = shutil.which("bwrap")
        # A relative entry of PATH would let the workspace bring its own.
        if found is None or not Path(found).is_absolute():
            return "bubblewrap is not installed: there is no bwrap on the PATH"
        self._program = found
        try:
            argv = self.argv(("/bin/sh", "-c", "exit 0"), "/", [("/tmp", ("--tmpfs", "/tmp"))])
            done = subprocess.run(
                argv,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_PROBE_SECONDS,
                env=command_environment(frozenset()),
                start_new_session=True,  # what it leaves behind is then known to be no child of ours
            )
        except subprocess.TimeoutExpired:
            return f"{found} does not work here: it hangs"
        except OSError as error:
            return f"{found} does not work here: {error.strerror}"
        if done.returncode == 0:
            return ""
        said = done.stderr.decode(errors="replace").strip().splitlines()
        return f"{found} does not work here: {said[-1] if said else f'exit code {done.returncode}'}"

    def argv(self, command: Sequence[str], cwd: str, mounts: Sequence[_Mount]) -> tuple[str, ...]:
        """The command line that runs `command` confined. Of two mounts the deeper one lies on top, then the later."""
        every = [*_system(), *mounts, *self._masks()]
        every.sort(key=lambda mount: len(Path(mount[0]).parts))
        return (
            self._program,
            *("--die-with-parent", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"),
            *(("--unshare-net",) if self.offline else ()),
            *("--cap-drop", "ALL"),
            # As root, files of other users in the roots stay usable; it opens no read-only mount.
            *(("--cap-add", "CAP_DAC_OVERRIDE") if os.geteuid() == 0 else ()),
            *("--ro-bind", "/", "/"),
            *(word for _, words in every for word in words),
            *("--setenv", "TMPDIR", "/tmp"),
            *(word for name in _STRANGERS for word in ("--unsetenv", name)),
            *("--chdir", cwd, "--", *command),
        )

    def _masks(self) -> Iterator[_Mount]:
        reals = [Path(os.path.realpath(path)) for path in self._hidden]
        for real in reals:
            if any(other in real.parents for other in reals):
                continue
            if real.is_dir():
                yield str(real), ("--tmpfs", str(real))
            elif real.exists():
                yield str(real), ("--ro-bind-try", os.devnull, str(real))


class Cell:
    """The sandbox of one session. `roots` are real paths; `outputs` may be read, though it lies in a hidden place."""

    def __init__(self, sandbox: Sandbox, cwd: Path, roots: Sequence[Path], outputs: Path) -> None:
        self._sandbox = sandbox
        self._cwd = cwd
        self._roots = tuple(map(str, roots))
        self._outputs = outputs
        self._temporary = ""
        self._closed = False

    @property
    def offline(self) -> bool:
        return self._sandbox.offline

    @property
    def problem(self) -> str | None:
        return self._sandbox.problem

    async def look(self) -> str:
        """Why commands of this session cannot be confined; empty when they can."""
        return await self._sandbox.look()

    def confined(self, command: Sequence[str]) -> tuple[str, ...]:
        """The command line that runs `command` in the session's directory. After a `look` that found no problem.

        Raises ToolError when the session is closed.
        """
        if self._closed:
            raise ToolError("the session is closed; no command can run")
        if not self._temporary:
            self._temporary = tempfile.mkdtemp(prefix="quillback-")
        return self._sandbox.argv(command, os.path.realpath(self._cwd), list(self._mounts()))

    async def close(self) -> None:
        """Remove what commands left in their /tmp."""
        self._closed = True
        made, self._temporary = self._temporary, ""
        if made:
            await in_thread(lambda _: shutil.rmtree(made, ignore_errors=True))

    def _mounts(self) -> Iterator[_Mount]:
        yield "/tmp", ("--bind", self._temporary, "/tmp")
        for root in self._roots:
            yield root, ("--bind-try", root, root)
            yield from _guards(root)
        own = os.path.realpath(self._outputs)
        if Path(own).is_dir():
            yield own, ("--ro-bind-try", own, own)


def _system() -> Iterator[_Mount]:
    """What replaces the system's own: sockets in /run are ways out, to the session bus or a container engine."""
    yield "/dev", ("--dev", "/dev")
    # As root the kernel's settings below /proc could be written, whatever is dropped.
    yield "/proc", ("--proc", "/proc", *(("--remount-ro", "/proc") if os.geteuid() == 0 else ()))
    yield "/run", ("--tmpfs", "/run")
    for path in _STILL_IN_RUN:
        real = os.path.realpath(path) if path.startswith("/etc/") else path
        if real.startswith("/run/"):
            yield real, ("--ro-bind-try", real, real)


def _guards(root: str) -> Iterator[_Mount]:
    """The protected paths of a root, links apart: where a link leads is for the workspace to say, so never mounted."""
    git = Path(root, ".git")
    if _is_plain(git):
        # A mount of its own cannot be renamed to put another in its place.
        yield str(git), ("--bind-try" if git.is_dir() else "--ro-bind-try", str(git), str(git))
    for path in (Path(root, name) for name in PROTECTED):
        if _is_plain(path):
            yield str(path), ("--ro-bind-try", str(path), str(path))


def _is_plain(path: Path) -> bool:
    return path.exists() and os.path.realpath(path) == str(path)
