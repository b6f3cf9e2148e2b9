"""Asks a model service for a sign of life, without a key and without a model."""

from quillback.core.model import Failure, ProviderError
from quillback.providers.endpoint import Endpoint

SECONDS = 10.0


async def reach(base_url: str) -> str:
    """What the service answered; any answer will do. Raises ProviderError when none came."""
    import httpx2

    endpoint = Endpoint(base_url, "", "", "", {})
    try:
        async with httpx2.AsyncClient(trust_env=not endpoint.local, timeout=SECONDS) as client:
            answer = await client.get(f"{endpoint.root}/v1/models", headers=endpoint.headers)
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        why = str(error) or type(error).__name__
        text = f"{endpoint.host or 'The model service'} cannot be reached ({why}). Check the base URL and the network."
        raise ProviderError(Failure.CONNECTION, text) from None
    return f"{endpoint.host} answers (status {answer.status_code})"
