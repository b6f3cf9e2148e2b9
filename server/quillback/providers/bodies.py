"""Reads the bodies of answers: JSON that may be none, errors, and what is left of a stream."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from quillback.core.message import JsonObject
from quillback.providers import failures

if TYPE_CHECKING:
    import httpx2

_DRAIN_SECONDS = 0.05
_ERROR_BYTES = 256 * 1024


def from_json(text: str) -> object:
    """None for what is not JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


async def error_of(answer: "httpx2.Response") -> JsonObject:
    """The error object of an answer that is no success; the answer is closed."""
    data = b""
    try:
        async for chunk in answer.aiter_bytes():
            data += chunk
            if len(data) > _ERROR_BYTES:
                break
    finally:
        await answer.aclose()
    text = data.decode(errors="replace")
    body = from_json(text)
    if isinstance(body, list) and body:
        body = body[0]  # as Google's servers wrap it
    return failures.error_object(text if body is None else body)


async def next_chunk(chunks: AsyncIterator[bytes], seconds: float | None) -> bytes:
    """What came within so many seconds; nothing at the end of the body, or if nothing came."""
    try:
        async with asyncio.timeout(seconds):
            return await anext(chunks, b"")
    except TimeoutError:
        return b""


async def drain(chunks: AsyncIterator[bytes]) -> None:
    """Read the end of the body, so that the next request can use the connection; not worth a wait."""
    try:
        async with asyncio.timeout(_DRAIN_SECONDS):
            async for _ in chunks:
                pass
    except TimeoutError:
        return
