"""Which files are taken to hold credentials, by their name alone."""

import fnmatch
import re

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
"""File name patterns in lower case."""

_NAMES = re.compile("|".join(fnmatch.translate(pattern) for pattern in CREDENTIALS))


def looks_secret(path: str) -> bool:
    """Whether the last name of `path` is one of CREDENTIALS, in upper or lower case."""
    return _NAMES.match(path.rstrip("/").rpartition("/")[2].lower()) is not None
