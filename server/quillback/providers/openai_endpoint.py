"""Where a chat completions API lives and with which headers it is spoken to; pure."""

import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from quillback.core.model import Failure, ProviderError
from quillback.providers.endpoint import Address

OFFICIAL_URL = "https://api.openai.com"
KEY_ADVICE = "Check the key for this server: OPENAI_API_KEY or config.toml."
OFFICIAL_KEY_ADVICE = "Check the API key (OPENAI_API_KEY, or run `quillback login --provider openai`)."
_TAIL = "/chat/completions"
_VERSION = re.compile(r"/v\d\w*(/|$)")


class OpenAIEndpoint(Address):
    """`root` is what `/chat/completions` is appended to. `official` says that the host is OpenAI's own.

    A base URL whose path has no version gets `/v1`; one that ends in `/chat/completions` is taken as it is, for the
    few services without any version.
    """

    def __init__(self, base_url: str, api_key: str, extra_headers: Mapping[str, str]) -> None:
        root, key = _root(base_url), api_key.strip()
        self.official = is_official(root)
        headers = {
            **({"authorization": f"Bearer {key}"} if key else {}),
            **{name.lower(): value for name, value in extra_headers.items()},
        }
        super().__init__(root, (key,), headers)

    def problem(self) -> ProviderError | None:
        if found := super().problem():
            return found
        if self.official and "authorization" not in self.headers:
            text = "There is no OpenAI API key. Set OPENAI_API_KEY; `quillback doctor` names the other ways."
            return ProviderError(Failure.NO_CREDENTIALS, text)
        return None

    @property
    def url(self) -> str:
        return f"{self.root}{_TAIL}"

    @property
    def models_url(self) -> str:
        """Where such a service lists its models."""
        return f"{self.root}/models"

    @property
    def key_advice(self) -> str:
        return OFFICIAL_KEY_ADVICE if self.official else KEY_ADVICE


def is_official(url: str) -> bool:
    """Whether the address is one of OpenAI's own."""
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        return False
    return host == "openai.com" or host.endswith(".openai.com")


def _root(base_url: str) -> str:
    url = base_url.strip().rstrip("/")
    if url.endswith(_TAIL):
        return url.removesuffix(_TAIL).rstrip("/")
    path = url.partition("://")[2].partition("/")
    return url if _VERSION.search(f"/{path[2]}") else f"{url}/v1"
