"""Where a service lives and with which headers it is spoken to; pure, so that settings are judged before use."""

from collections.abc import Iterable, Mapping
from urllib.parse import urlsplit

from quillback.core.model import Failure, ProviderError

OFFICIAL_URL = "https://api.anthropic.com"
_OFFICIAL_VERSION = "2026-10-21"
_COMPATIBLE_VERSION = "2023-06-01"
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


class Address:
    """A service at an HTTP address: what all APIs have in common.

    `root` is what paths are appended to; `headers` have lower-case names. `local` says that the host is this machine.
    """

    def __init__(self, root: str, secrets: Iterable[str], headers: Mapping[str, str]) -> None:
        self.root = root
        self._scheme, self.host = _split(root)
        self.local = self.host in _LOOPBACK
        self._secrets = tuple(s for s in secrets if s)
        self.headers = {
            "user-agent": "quillback",
            "accept-encoding": "identity",  # compressors on the way hold back deltas
            **headers,
        }

    def problem(self) -> ProviderError | None:
        """What is wrong with the settings, found before anything is sent."""
        if self._scheme not in ("http", "https") or not self.host:
            text = "The base URL of the model service must begin with http:// or https:// and name a host."
            return ProviderError(Failure.INVALID, text)
        if any(not (value.isascii() and value.isprintable()) for value in self.headers.values()):
            text = "The API key, or a header that was set, holds characters that cannot be sent; copy it again."
            return ProviderError(Failure.AUTHENTICATION, text)
        return None

    @property
    def address(self) -> str:
        """Scheme, host and port, as they were given, without a password."""
        return f"{self._scheme}://{urlsplit(self.root).netloc.rpartition('@')[2]}" if self.host else self.root

    def masked(self, text: str) -> str:
        """`text` without the secrets; servers like to quote the key they refuse."""
        for secret in self._secrets:
            text = text.replace(secret, "***")
        return text


class Endpoint(Address):
    """`root` is what `/v1/messages` is appended to. `official` says that the host is Anthropic's own."""

    def __init__(
        self, base_url: str, api_key: str, auth_token: str, api_version: str, extra_headers: Mapping[str, str]
    ) -> None:
        root, key, token = _root(base_url), api_key.strip(), auth_token.strip()
        host = _split(root)[1]
        self.official = host == "anthropic.com" or host.endswith(".anthropic.com")
        headers = {
            "anthropic-version": api_version or (_OFFICIAL_VERSION if self.official else _COMPATIBLE_VERSION),
            **_credentials(key, token, official=self.official),
            **{name.lower(): value for name, value in extra_headers.items()},
        }
        super().__init__(root, (key, token), headers)

    def problem(self) -> ProviderError | None:
        if found := super().problem():
            return found
        if self.official and not ({"authorization", "x-api-key"} & self.headers.keys()):
            text = "There is no API key. Set ANTHROPIC_API_KEY; `quillback doctor` names the other ways."
            return ProviderError(Failure.NO_CREDENTIALS, text)
        return None

    @property
    def models_url(self) -> str:
        """Where such a service lists its models."""
        return f"{self.root}/v1/models"


def _root(base_url: str) -> str:
    url = base_url.strip().rstrip("/")
    for tail in ("/v1/messages", "/v1"):
        if url.endswith(tail):
            return url.removesuffix(tail).rstrip("/")
    return url


def _split(url: str) -> tuple[str, str]:
    try:
        parts = urlsplit(url)
        return parts.scheme, parts.hostname or ""
    except ValueError:
        return "", ""


def _credentials(key: str, token: str, *, official: bool) -> dict[str, str]:
    """Anthropic takes one bearer; others look for the key in either place, and a token is always a bearer."""
    if official:
        bearer = key or token
        return {"authorization": f"Bearer {bearer}"} if bearer else {}
    headers = {"x-api-key": key} if key else {}
    if bearer := token or key:
        headers["authorization"] = f"Bearer {bearer}"
    return headers
