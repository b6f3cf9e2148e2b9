"""What a reply cost, and a guess at its size when the provider does not say."""

from quillback.core.message import Usage
from quillback.core.model import Model, Price

_MILLION = 1_000_000
_BYTES_PER_TOKEN = 4


def cost(model: Model, usage: Usage) -> float:
    """US dollars for one reply; 0 for a model without a price."""
    prompt = usage.input_tokens + usage.cache_read_tokens + usage.cache_creation_tokens
    price = _price(model, prompt)
    if price is None:
        return 0.0
    return (
        usage.input_tokens * price.input
        + usage.output_tokens * price.output
        + usage.cache_read_tokens * price.cache_read
        + usage.cache_creation_tokens * price.cache_write
    ) / _MILLION


def estimate(sent_bytes: int, received_bytes: int = 0) -> Usage:
    """A guess from the size of the text of the request and of the reply, four bytes a token, rounded up."""
    return Usage(
        input_tokens=-(-sent_bytes // _BYTES_PER_TOKEN),
        output_tokens=-(-received_bytes // _BYTES_PER_TOKEN),
        estimated=True,
    )


def _price(model: Model, prompt_tokens: int) -> Price | None:
    if model.long_price is not None and model.long_prompt and prompt_tokens > model.long_prompt:
        return model.long_price
    return model.price
