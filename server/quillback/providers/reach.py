"""Asks a model service for a sign of life, without a key and without a model."""

from quillback.providers import failures
from quillback.providers.endpoint import Endpoint
from quillback.providers.openai_endpoint import OpenAIEndpoint

SECONDS = 10.0


async def reach(base_url: str, *, chat: bool = False) -> tuple[str, bool]:
    """What the service answered, and whether it knows such requests. `chat` says that it speaks chat completions.

    Raises ProviderError when no answer came.
    """
    import httpx2

    endpoint = OpenAIEndpoint(base_url, "", {}) if chat else Endpoint(base_url, "", "", "", {})
    try:
        async with httpx2.AsyncClient(trust_env=not endpoint.local, timeout=SECONDS) as client:
            answer = await client.get(endpoint.models_url, headers=endpoint.headers)
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise failures.unreachable(endpoint.address, error) from None
    text = f"{endpoint.address} answers (status {answer.status_code}); the key was not tried"
    return text, answer.status_code not in (404, 405) and answer.status_code < 500
