"""Builds .venv from requirements.lock, so that every make target runs the same versions on every machine.

The stamp is written last and removed first: a build that was interrupted is done again from the start.
"""

import fcntl
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "requirements.lock"
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
STAMP = VENV / "built-from.json"

# Where packages come from is the user's business; what is installed, and where to, is the lock file's.
KEPT = frozenset(
    f"{tool}_{name}"
    for tool, names in {
        "PIP": "INDEX_URL EXTRA_INDEX_URL FIND_LINKS NO_INDEX TRUSTED_HOST CERT CLIENT_CERT PROXY CONFIG_FILE "
        "TIMEOUT DEFAULT_TIMEOUT RETRIES CACHE_DIR NO_CACHE_DIR KEYRING_PROVIDER",
        "UV": "INDEX DEFAULT_INDEX INDEX_URL EXTRA_INDEX_URL FIND_LINKS OFFLINE NATIVE_TLS SYSTEM_CERTS "
        "INSECURE_HOST HTTP_TIMEOUT HTTP_RETRIES CACHE_DIR NO_CACHE LINK_MODE KEYRING_PROVIDER",
    }.items()
    for name in names.split()
)
DROPPED = ("PIP_", "UV_", "PYTHON", "VIRTUAL_ENV", "CONDA_")


class Failure(Exception):
    """The build cannot go on; the text is for the user."""


def say(text: str) -> None:
    print(f"bootstrap: {text}", file=sys.stderr, flush=True)


def clean_environment() -> dict[str, str]:
    env = {name: value for name, value in os.environ.items() if name in KEPT or not name.startswith(DROPPED)}
    return env | {"PIP_USER": "0", "PIP_NO_INPUT": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}


def fingerprint() -> dict[str, str]:
    """What .venv depends on. The path is part of it: scripts in bin name their interpreter in full."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    parts = {
        "build-system": project["build-system"],
        "project": project["project"],
        "dependency-groups": project["dependency-groups"],
        "hatch": project["tool"]["hatch"],
    }
    digest = hashlib.sha256(LOCK.read_bytes() + Path(__file__).read_bytes())
    digest.update(json.dumps(parts, sort_keys=True).encode())
    # A Python that was asked for by name must be the one that is used; any that is found will do.
    asked = sys.version if os.environ.get("PYTHON") else ""
    return {"root": str(ROOT), "digest": digest.hexdigest(), "python": asked}


def is_built(wanted: dict[str, str]) -> bool:
    try:
        stamp = json.loads(STAMP.read_text(encoding="utf-8"))
        matches = all(stamp[name] == value for name, value in wanted.items() if value)
    except (OSError, ValueError, KeyError, TypeError):
        return False
    return matches and os.access(PYTHON, os.X_OK)


@contextmanager
def only_one() -> Iterator[tuple[int, ...]]:
    """Holds a lock on the folder .ci; gives the descriptors that child processes must inherit.

    They keep the lock when this process is killed, so nobody clears .venv under an installer that lives on.
    """
    held: tuple[int, ...]
    folder = os.open(ROOT / ".ci", os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        held = (folder,)
    except BlockingIOError:
        say("another run is building .venv, waiting for it")
        fcntl.flock(folder, fcntl.LOCK_EX)
        held = (folder,)
    except OSError:
        held = ()  # some network file systems cannot lock a folder; then two runs at once are the user's risk
    try:
        yield held
    finally:
        os.close(folder)


class Build:
    def __init__(self, held: tuple[int, ...]) -> None:
        self.held = held
        self.env = clean_environment()

    def run(self, *command: str | Path, quiet: bool = False) -> bool:
        """Whether the command succeeded. A quiet one shows nothing of its output."""
        sink = subprocess.DEVNULL if quiet else None
        done = subprocess.run(
            command, env=self.env, stdin=subprocess.DEVNULL, stdout=sink, stderr=sink, pass_fds=self.held, check=False
        )
        return done.returncode == 0

    def make_venv(self) -> None:
        try:
            import ensurepip
            import venv
        except ImportError:
            version = f"{sys.version_info.major}.{sys.version_info.minor}"
            raise Failure(
                f"{sys.executable} cannot make virtual environments: its venv and ensurepip modules are missing.\n"
                f"  Debian and Ubuntu: sudo apt-get install python{version}-venv\n"
                "  Elsewhere: install a complete Python 3.11 or newer, or name one: make PYTHON=/path/to/python3 test"
            ) from None
        del ensurepip, venv
        if not self.run(sys.executable, "-I", "-m", "venv", "--clear", VENV):
            raise Failure(f"could not make a virtual environment in {VENV}")

    def install(self) -> None:
        uv_lines, other_lines = split_lock(LOCK.read_text(encoding="utf-8"))
        with tempfile.TemporaryDirectory(prefix="bootstrap-") as folder:
            uv_only = Path(folder, "uv.txt")
            uv_only.write_text(uv_lines, encoding="utf-8")
            without_uv = Path(folder, "without-uv.txt")
            without_uv.write_text(other_lines, encoding="utf-8")
            if self.pip_install("--only-binary", ":all:", "-r", uv_only, quiet=True) and self.install_with_uv():
                return
            say("uv is not to be had or failed here, using pip, which is slower")
            if not self.pip_install("-r", without_uv):
                raise Failure("could not install what requirements.lock names; see above")
        if not self.run(
            PYTHON, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--editable", ROOT
        ):
            raise Failure("could not install the project itself; see above")

    def pip_install(self, *arguments: str | Path, quiet: bool = False) -> bool:
        return self.run(PYTHON, "-m", "pip", "install", "--quiet", "--require-hashes", *arguments, quiet=quiet)

    def install_with_uv(self) -> bool:
        self.env.setdefault("UV_PYTHON_DOWNLOADS", "never")
        if "PIP_CERT" in self.env:
            self.env.setdefault("SSL_CERT_FILE", self.env["PIP_CERT"])
        index = self.pip_index()
        if index and not {"UV_DEFAULT_INDEX", "UV_INDEX_URL"} & self.env.keys():
            self.env["UV_DEFAULT_INDEX"] = index
        uv = (VENV / "bin" / "uv", "pip", "install", "--quiet", "--python", PYTHON)
        # Compiled here once: else the first processes of the test suite would all do it at the same time.
        # Where it fails pip does the same work and says what is wrong.
        return self.run(*uv, "--compile-bytecode", "--require-hashes", "--requirements", LOCK, quiet=True) and self.run(
            *uv, "--no-deps", "--no-build-isolation", "--editable", ROOT, quiet=True
        )

    def pip_index(self) -> str:
        """The package index that pip is set up to use, which uv does not read by itself; empty for the usual one."""
        done = subprocess.run(
            [PYTHON, "-m", "pip", "config", "get", "global.index-url"],
            env=self.env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        return self.env.get("PIP_INDEX_URL") or (done.stdout.strip() if done.returncode == 0 else "")


def split_lock(text: str) -> tuple[str, str]:
    """The lock file's entry for uv, and all the others."""
    uv: list[str] = []
    others: list[str] = []
    entry = others
    for line in text.splitlines(keepends=True):
        if not line.startswith((" ", "#")):
            entry = uv if line.startswith("uv==") else others
        entry.append(line)
    return "".join(uv), "".join(others)


def main() -> int:
    try:
        wanted = fingerprint()
        with only_one() as held:
            if is_built(wanted):
                return 0
            say(f"building .venv with Python {sys.version.split()[0]}, about half a minute")
            build = Build(held)
            build.make_venv()
            build.install()
            fresh = STAMP.with_suffix(".new")
            fresh.write_text(json.dumps(wanted | {"python": sys.version}, indent=1) + "\n", encoding="utf-8")
            fresh.replace(STAMP)
    except (Failure, OSError) as error:
        say(str(error))
        return 1
    except KeyboardInterrupt:
        say("interrupted; the next run starts over")
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
