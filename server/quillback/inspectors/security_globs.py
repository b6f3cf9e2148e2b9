"""Whether a word with wild cards may name a file with keys or passwords."""

import os
import re
from collections.abc import Iterable
from fnmatch import fnmatchcase
from itertools import islice

from quillback.inspectors.security_paths import credential
from quillback.inspectors.shell_script import UNKNOWN

_WILD = re.compile(r"[*?\[]")
_ENTRIES_LIMIT = 2000
_EXAMPLES = tuple(
    tuple(path.split("/"))
    for path in (
        *(
            ".env",
            ".env.local",
            ".netrc",
            ".npmrc",
            ".pypirc",
            ".pgpass",
            ".git-credentials",
            ".bash_history",
            "id_rsa",
        ),
        *("id_ed25519", "server.pem", "private.key", "credentials", "credentials.json", "secrets.yml", ".zsh_history"),
        *(".ssh/id_rsa", ".ssh/id_ed25519", ".aws/credentials", ".config/gh/hosts.yml", ".kube/config", "etc/shadow"),
        *(".docker/config.json", ".gnupg/secring.gpg", "etc/sudoers", "proc/1/environ", "proc/self/environ"),
        *(".azure/x", ".vault-token", ".config/gcloud/x", ".config/op/config", ".cargo/credentials.toml"),
    )
)


def may_be_credential(pattern: str, folders: Iterable[str], home: str, *, dots: bool = False) -> bool:
    """Looks the pattern up in each of the folders; what cannot be looked through counts by its name alone.

    `dots` when wild cards fit names that begin with a dot.
    """
    if UNKNOWN in pattern:
        return _like_one(pattern, plainly=True, dots=dots)
    folders = ("/",) if pattern.startswith("/") else tuple(folders)
    if not folders or "**" in pattern:
        return _like_one(pattern, plainly=True, dots=dots)
    return any(_in_folder(folder, pattern, home, dots) for folder in folders)


def _in_folder(folder: str, pattern: str, home: str, dots: bool) -> bool:
    found, left = [folder], _ENTRIES_LIMIT
    for number, part in enumerate(p for p in pattern.split("/") if p):
        if not _WILD.search(part):
            found = [f"{place}/{part}" for place in found]
            continue
        entries: list[str] = []
        for place in found:
            try:
                with os.scandir(place) as listing:
                    names = [entry.name for entry in islice(listing, left)]
            except FileNotFoundError:
                if number == 0 or len(found) == 1:
                    return _like_one(pattern, plainly=True, dots=dots)
                continue
            except OSError:
                continue
            left -= len(names)
            if left <= 0:
                return _like_one(pattern, plainly=False, dots=dots)
            entries += [f"{place}/{name}" for name in names if _fits(name, part, dots)]
        found = entries
    return any(credential(path, home) or credential(os.path.realpath(path), home) for path in found)


def _like_one(pattern: str, *, plainly: bool, dots: bool) -> bool:
    """Whether the pattern fits a name that such files have. `plainly`: only where wild cards do not stand in front."""
    parts = [part for part in pattern.split("/") if part and part != "**"]
    for example in _EXAMPLES:
        last = parts[-len(example) :]
        if len(last) < len(example) or not all(map(_fits, example, last, [dots] * len(last))):
            continue
        if not plainly or not any(_WILD.match(part) for part in last):
            return True
    return False


def _fits(name: str, part: str, dots: bool) -> bool:
    if name.startswith(".") and not (part.startswith(".") or dots):
        return False
    return fnmatchcase(name, part.replace("[^", "[!"))
