"""Short ways to write model requests and to read replies in tests."""

from collections.abc import Iterable
from contextlib import aclosing
from typing import Any

from quillback.core.message import Part, Text, ToolKind
from quillback.core.model import Model, ModelRequest, ProviderEvent, RequestMessage, Sketch, ToolSpec

SONNET = Model("claude-sonnet-5-5", "anthropic", "Claude Sonnet 5.5", 1_000_000, 128_000)
OPUS = Model("claude-opus-5-5", "anthropic", "Claude Opus 5.5", 1_000_000, 128_000, thinking_always=True)
LOCAL = Model("qwen-coder", "anthropic", "qwen-coder", 32_000, 8_000)


def user(*parts: Part | str) -> RequestMessage:
    return RequestMessage("user", _parts(parts))


def assistant(*parts: Part | str) -> RequestMessage:
    return RequestMessage("assistant", _parts(parts))


def tool(name: str, schema: dict[str, Any] | None = None, description: str = "Does it.") -> ToolSpec:
    schema = schema if schema is not None else {"type": "object", "properties": {"path": {"type": "string"}}}
    return ToolSpec(name, description, schema, ToolKind.READ, lambda given: Sketch(name))


def request(*messages: RequestMessage | str, **options: Any) -> ModelRequest:
    """A request of `messages`; a string is a user's message."""
    whole = tuple(user(m) if isinstance(m, str) else m for m in messages)
    return ModelRequest(**{"model": SONNET, "system": "", "messages": whole, **options})


async def replies(provider: Any, of: ModelRequest) -> list[ProviderEvent]:
    """Every event of one reply."""
    async with aclosing(provider.stream(of)) as events:
        return [event async for event in events]


def _parts(parts: Iterable[Part | str]) -> tuple[Part, ...]:
    return tuple(Text(p) if isinstance(p, str) else p for p in parts)
