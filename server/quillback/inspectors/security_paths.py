"""Where the paths of a call lead, and which places no call may change or read without a question."""

import fnmatch
import os
import re
from collections.abc import Iterable, Sequence
from itertools import islice, pairwise
from pathlib import PurePath

from attrs import field, frozen

from quillback.core.secrets import looks_secret
from quillback.inspectors.shell_script import UNKNOWN, Word


def _any(*patterns: str) -> re.Pattern[str]:
    """File name patterns as one expression."""
    return re.compile("|".join(fnmatch.translate(pattern) for pattern in patterns))


OURS = "belongs to Quillback itself"
_WILD = frozenset("*?[")
# fmt: off
_SYSTEM_DIRS = frozenset("/" + name for name in (
    "", "bin", "boot", "dev", "etc", "home", "lib", "lib32", "lib64", "media", "mnt", "opt", "proc", "root", "run",
    "sbin", "srv", "sys", "usr", "var", "usr/bin", "usr/lib", "usr/local", "usr/sbin", "usr/share", "var/lib",
    "var/log",
    "Applications", "Library", "System", "Users", "Volumes", "private", "private/etc", "private/var", "nix", "snap",
))
_GUARDING = _any(
    "/etc/passwd", "/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/etc/sudoers.d/*", "/etc/pam.d/*",
    "/etc/ld.so.preload", "/private/etc/sudoers", "/private/etc/sudoers.d/*", "/boot/*", "/proc/sys/*",
    "/proc/sysrq-trigger", "/sys/*",
)
_HARMLESS_DEVICES = _any(
    "/dev/null", "/dev/zero", "/dev/full", "/dev/tty", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/random",
    "/dev/urandom", "/dev/fd/*", "/dev/shm/*", "/dev/pts/*", "/dev/tcp/*", "/dev/udp/*",
)
_START_UP = frozenset({
    ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".zshrc", ".zprofile",
    ".zshenv", ".zlogin", ".zlogout", ".kshrc", ".mkshrc", ".cshrc", ".tcshrc", ".login", ".inputrc", ".xprofile",
    ".xinitrc", ".xsession", ".xsessionrc", ".pam_environment", ".envrc", ".exrc", ".vimrc", ".nvim.lua", ".nvimrc",
    ".gvimrc", ".emacs", ".dir-locals.el", ".gitconfig", ".npmrc", ".pypirc", ".curlrc", ".wgetrc", ".tmux.conf",
    ".screenrc", ".gdbinit", ".lldbinit", ".pythonrc", ".pdbrc", ".irbrc", ".pryrc", ".rhosts", ".mcp.json",
    "authorized_keys", "microsoft.powershell_profile.ps1", "profile.ps1",
})
_PRIVATE_DIRS = frozenset({".ssh", ".gnupg", ".aws", ".kube", ".docker", ".azure", ".password-store"})
_HOOK_DIRS = frozenset({".husky", ".githooks", ".git-hooks", ".lefthook", ".lefthook-local", ".git_hooks"})
_HOOK_FILES = frozenset({
    *(f"{name}.{kind}" for name in ("lefthook", "lefthook-local", ".lefthook") for kind in ("yml", "yaml", "toml")),
    ".pre-commit-config.yaml", ".overcommit.yml", ".simple-git-hooks.json", ".huskyrc", ".huskyrc.js", ".huskyrc.json",
})
_CONFIG_OF_TOOLS = frozenset({".quillback", ".claude", ".cursor", ".idea", ".zed", ".devcontainer", ".fleet"})
_VSCODE = frozenset({"tasks.json", "settings.json", "launch.json", "mcp.json", "extensions.json"})
_AUTOSTART = frozenset({
    "autostart", "fish", "git", "systemd", "environment.d", "nvim", "direnv", "gh", "op", "gcloud", "pip", "uv",
    "quillback",
})
_SECRET_IN_HOME = _any(
    ".ssh/*", ".aws/*", ".gnupg/*", ".kube/config", ".docker/config.json", ".azure/*", ".config/gcloud/*",
    ".config/gh/hosts.yml", ".config/op/*", ".config/hub", ".password-store/*", ".local/share/keyrings/*",
    ".mozilla/*/key4.db", ".mozilla/*/logins.json", ".mozilla/*cookies.sqlite", ".config/google-chrome/*",
    ".config/chromium/*", "library/keychains/*", "library/application support/google/chrome/*", ".vault-token",
    ".cargo/credentials*", ".gem/credentials", ".terraform.d/credentials*", ".config/rclone/*", ".s3cfg", ".boto",
    ".bash_history", ".zsh_history", ".python_history", ".mysql_history", ".psql_history", ".node_repl_history",
    ".config/anthropic/*", ".anthropic/*", ".config/quillback/*",
)
_SECRET_DIRS = frozenset({".ssh", ".aws", ".gnupg", ".password-store"})
_SECRET_FILES = _any(
    "/etc/shadow*", "/etc/gshadow*", "/etc/sudoers*", "/etc/ssl/private/*", "/proc/*/environ", "/proc/kcore",
    "/proc/*/mem", "/dev/mem", "/dev/kmem", "/etc/ssh/ssh_host_*_key",
)
# fmt: on
_ENTRIES_LIMIT = 2000
_NO_SECRETS = (".example", ".sample", ".template", ".dist", ".pub", ".test", ".md", ".py", ".ts", ".js", ".go", ".rs")


@frozen
class Places:
    """The places of a session: real paths of its roots, of the home directory and of what nobody may touch unasked.

    `readable` is a folder there that may be read.
    """

    roots: tuple[str, ...]
    home: str
    protected: tuple[str, ...] = ()
    readable: str = ""
    _vital: frozenset[str] = field(init=False)

    def __attrs_post_init__(self) -> None:
        above = {str(p) for path in (*self.roots, self.home) for p in PurePath(path).parents}
        object.__setattr__(self, "_vital", _SYSTEM_DIRS | above | {self.home})

    def inside(self, path: str) -> bool:
        return any(_below(path, root) for root in self.roots)

    def resolve(self, word: Word, folders: Iterable[str], *, links: bool = True) -> tuple[str, ...]:
        """The real paths a word may mean, one for each directory it may be looked up in; nothing when unknown.

        A wild card stands for the directory it is looked for in and, in the workspace and with `links`, for all that it
        fits, wherever that leads.
        """
        shape, below = self.home + word.shape[1:] if word.home else word.shape, ""
        if word.wild:
            shape, below = _before_wild(shape)
        if UNKNOWN in shape or UNKNOWN in below or ".." in below.split("/"):
            return ()
        found: list[str] = []
        try:
            for folder in folders:
                base = os.path.realpath(PurePath(folder, shape))
                fitting = _fitting(base, below) if below and links and self.inside(base) else []
                if fitting is None:
                    return ()
                found += [base, *fitting]
        except (OSError, ValueError):
            return ()
        return tuple(dict.fromkeys(found))

    def own(self, path: str) -> bool:
        """Whether a real path belongs to Quillback itself, and is none that the session may read."""
        return any(_below(path, place) for place in self.protected) and not (
            self.readable and _below(path, self.readable)
        )

    def vital(self, path: str) -> bool:
        """Whether a directory's loss would take the system, the home directory or what holds the workspace."""
        return path in self._vital

    def protection(self, path: str) -> str:
        """Why no mode lets a call change `path` without a question; empty when that is no such place."""
        if any(_below(path, place) for place in self.protected):
            return f"{path} {OURS}"
        parts = [part.lower() for part in PurePath(path).parts]
        name = parts[-1] if parts else ""
        if ".git" in parts:
            return f"{path} belongs to git, which runs code from there"
        if not _HOOK_DIRS.isdisjoint(parts) or name in _HOOK_FILES:
            return f"{path} is run by git hooks"
        if name in _START_UP:
            return f"{path} is read when programs start"
        if not _PRIVATE_DIRS.isdisjoint(parts):
            return f"{path} holds keys or access settings"
        settings = not _CONFIG_OF_TOOLS.isdisjoint(parts) or (".vscode" in parts and name in _VSCODE)
        if settings or name.endswith((".code-workspace", ".desktop")) or _is_autostart(parts):
            return f"{path} holds settings that can run code"
        return ""


def fatal_change(path: str) -> str:
    """Why a change of `path` is never right; empty when it may be."""
    if _GUARDING.match(path):
        return f"{path} guards the system"
    return f"{path} is a device" if path.startswith("/dev/") and not harmless_device(path) else ""


def harmless_device(path: str) -> bool:
    return _HARMLESS_DEVICES.match(path) is not None


def credential(path: str, home: str) -> bool:
    """Whether a path (real, or as far as it is known) looks like a place of keys, passwords or histories."""
    lower, below = path.lower(), home.lower().rstrip("/") + "/"
    if _SECRET_FILES.match(lower):
        return True
    if lower.endswith((".ssh/known_hosts", ".ssh/config", *_NO_SECRETS)):
        return False
    inner = lower.removeprefix(below) if lower.startswith(below) else lower.removeprefix("~/")
    if inner != lower and (_SECRET_IN_HOME.match(inner) or inner.rstrip("/") in _SECRET_DIRS):
        return True
    return "/.ssh/" in lower or looks_secret(path)


def _below(path: str, folder: str) -> bool:
    return PurePath(path).is_relative_to(folder)


def _before_wild(shape: str) -> tuple[str, str]:
    """The directory that a wild card is looked for in, and the rest."""
    parts = shape.split("/")
    first = next((i for i, part in enumerate(parts) if not _WILD.isdisjoint(part)), len(parts))
    return "/".join(parts[:first]) or ("/" if shape.startswith("/") else "."), "/".join(parts[first:])


def _fitting(folder: str, below: str) -> list[str] | None:
    """The real paths of what a wild card fits; None when there is too much to be looked through."""
    found, left = [folder], _ENTRIES_LIMIT
    for part in below.split("/"):
        entries: list[str] = []
        for place in found:
            if _WILD.isdisjoint(part):
                entries.append(f"{place}/{part}")
                continue
            names = _names(place, left)
            left -= len(names)
            if left <= 0:
                return None
            entries += [f"{place}/{n}" for n in names if fnmatch.fnmatchcase(n, part.replace("[^", "[!"))]
        found = entries
    return [os.path.realpath(path) for path in found]


def _names(folder: str, limit: int) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return [entry.name for entry in islice(entries, limit)]
    except OSError:
        return []


def _is_autostart(parts: Sequence[str]) -> bool:
    if not {"launchagents", "launchdaemons"}.isdisjoint(parts):
        return True
    return any(a == ".config" and b in _AUTOSTART for a, b in pairwise(parts))
