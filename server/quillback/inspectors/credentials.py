"""Files that look as if they held credentials."""

import fnmatch
from pathlib import PurePath

CREDENTIALS = (
    ".env",
    ".env.*",
    "*.pem",
    "*.key",
    "*.p12",
    "*.pfx",
    "*.kdbx",
    "id_rsa*",
    "id_dsa*",
    "id_ecdsa*",
    "id_ed25519*",
    ".netrc",
    ".pgpass",
    ".npmrc",
    ".pypirc",
    ".git-credentials",
    "credentials",
    "credentials.*",
    "secrets.*",
)


def looks_secret(path: str) -> bool:
    name = PurePath(path).name.lower()
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in CREDENTIALS)
