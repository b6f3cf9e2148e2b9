"""Speaks chat completions, of OpenAI and of every server that offers them, without an SDK: HTTP and server-sent events.

What a server does not take of a request it says so, and the request is sent again without it; see `openai_dialect`.
"""

import asyncio
import json
import logging
import threading
from collections.abc import Iterator, Mapping
from contextlib import aclosing
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from quillback.core.model import (
    Failure,
    ModelRequest,
    ProviderError,
    ProviderEvent,
    StreamStarted,
    StreamStopped,
    StreamStopping,
)
from quillback.providers import failures, openai_wire
from quillback.providers.bodies import drain, error_of, from_json, next_chunk
from quillback.providers.openai_dialect import Dialect, adapted
from quillback.providers.openai_endpoint import OFFICIAL_URL, OpenAIEndpoint
from quillback.providers.openai_events import ChunkReader
from quillback.providers.sse import SseParser

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    import httpx2

_CONNECT_SECONDS = 15.0
_COUNTS_SECONDS = 5.0
"""How long the counts, which come after the finish reason, are waited for."""
_REFUSED = ("content_filter", "content_policy_violation")
_OVERLOADED = "insufficient_system_resource"
_REDUCIBLE = (400, 422)
log = logging.getLogger(__name__)


class OpenAIProvider:
    """`idle_timeout` is how many seconds may pass without a byte. `extra_headers` win over our own.

    Servers other than OpenAI's need no key. For `base_url` see OpenAIEndpoint.
    """

    def __init__(
        self,
        *,
        base_url: str = OFFICIAL_URL,
        api_key: str = "",
        idle_timeout: float = 300,
        extra_headers: Mapping[str, str] | None = None,
    ) -> None:
        self._endpoint = OpenAIEndpoint(base_url, api_key, extra_headers or {})
        self._host = self._endpoint.host
        self._idle_timeout = idle_timeout
        self._lock = threading.Lock()
        self._client: httpx2.AsyncClient | None = None
        self._closed = False
        self._dialects: dict[str, Dialect] = {}
        self._first = Dialect(limit="max_completion_tokens" if self._endpoint.official else "max_tokens")

    def warm_up(self) -> None:
        """Import the HTTP library and make the client; may run in any thread."""
        with self._lock:
            if self._client is None and not self._closed:
                self._client = self._make_client()

    async def close(self) -> None:
        """Ends open streams too."""
        self._closed = True
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def stream(self, request: ModelRequest) -> "AsyncGenerator[ProviderEvent]":
        """One reply as it arrives. Raises ProviderError. Close it (`aclosing`) to close the connection at once."""
        client = await self._ready()
        try:
            answer = await self._answer(client, request)
        except _Declined as declined:
            yield StreamStarted("")
            yield StreamStopping("refusal", None, declined.reason)
            yield StreamStopped()
            return
        except Exception as error:
            raise self._failure(error, began=False) from error
        try:
            async with aclosing(self._events(answer)) as events:
                async for event in events:
                    yield event
        except Exception as error:
            raise self._failure(error, began=True) from error
        finally:
            await answer.aclose()

    async def _ready(self) -> "httpx2.AsyncClient":
        if problem := self._endpoint.problem():
            raise problem
        if self._client is None:
            await asyncio.to_thread(self.warm_up)
        if self._client is None:
            raise ProviderError(Failure.INVALID, "The connection to the model service was closed.")
        return self._client

    def _make_client(self) -> "httpx2.AsyncClient":
        import httpx2

        return httpx2.AsyncClient(
            follow_redirects=False,  # a redirect would carry the key to another host
            trust_env=not self._endpoint.local,  # local models are not behind a proxy
            timeout=httpx2.Timeout(self._idle_timeout, connect=_CONNECT_SECONDS),
        )

    # ------------------------------------------------------------ asking

    async def _answer(self, client: "httpx2.AsyncClient", request: ModelRequest) -> "httpx2.Response":
        """An answer that is a success, in the first dialect that the server does not refuse."""
        model = request.model.id
        dialect = self._dialects.get(model, self._first)
        tried: list[Dialect] = []
        while True:
            tried.append(dialect)
            body = openai_wire.body(request, dialect)
            data = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
            headers = {"accept": "text/event-stream", "content-type": "application/json", **self._endpoint.headers}
            asked = client.build_request("POST", self._endpoint.url, content=data, headers=headers)
            answer = await client.send(asked, stream=True)
            if answer.status_code == 200:
                self._dialects[model] = dialect
                return answer
            error = await error_of(answer)
            said = failures.words(error)
            other = adapted(dialect, body, said) if answer.status_code in _REDUCIBLE else None
            if other is None or other in tried:
                raise self._refusal(answer, error, dialect)
            log.info("%s is asked in another way: it said %s", self._host, self._endpoint.masked(said))
            dialect = other

    def _refusal(self, answer: "httpx2.Response", error: Mapping[str, object], dialect: Dialect) -> Exception:
        if answer.status_code in _REDUCIBLE and error.get("code") in _REFUSED:
            return _Declined(self._endpoint.masked(failures.words(error)))
        found = failures.from_status(
            answer.status_code, self._host, error, answer.headers, datetime.now(UTC), self._endpoint.key_advice
        )
        if dialect.tools_effort and found.failure is Failure.INVALID:
            found.message += ' Set text_tools = true in the table [models."ID"] of this model in config.toml.'
        return found

    # ------------------------------------------------------------ reading

    async def _events(self, answer: "httpx2.Response") -> "AsyncGenerator[ProviderEvent]":
        parser, reader = SseParser(), ChunkReader()
        heard = done = False
        head = b""
        chunks = answer.aiter_bytes()
        while not done:
            chunk = await next_chunk(chunks, _COUNTS_SECONDS if reader.finish_reason else None)
            if not chunk and reader.finish_reason:
                break
            head = head or chunk
            for payload in self._payloads(parser.feed(chunk) if chunk else parser.finish()):
                if done := payload is None:
                    break
                heard = True
                for event in reader.read(payload):
                    yield event
            done = done or not chunk
        if not reader.finish_reason:
            raise self._incomplete(head, answer.headers.get("content-type", ""), heard=heard)
        if reader.finish_reason == _OVERLOADED:
            raise ProviderError(Failure.OVERLOADED, f"{self._host} ran out of resources in mid-reply.", status=200)
        for event in reader.end():
            yield event
        await drain(chunks)

    def _payloads(self, events: list[tuple[str, str]]) -> Iterator[Mapping[str, object] | None]:
        """What the events hold; None is the end."""
        for name, data in events:
            if data == "[DONE]":
                yield None
                return
            payload = from_json(data)
            if not isinstance(payload, dict):
                if name == "error":
                    raise failures.from_event(self._host, {"message": data}, self._endpoint.key_advice)
                text = f"{self._host} sent a chunk that is not JSON, so the reply was dropped."
                raise ProviderError(Failure.INCOMPLETE, text, status=200)
            if name == "error" or payload.get("error") or payload.get("object") == "error":
                raise failures.from_event(self._host, payload, self._endpoint.key_advice)
            yield payload

    def _incomplete(self, head: bytes, content_type: str, *, heard: bool) -> ProviderError:
        if heard:
            return ProviderError(Failure.INCOMPLETE, f"The reply of {self._host} came without its end.", status=200)
        kind = content_type.partition(";")[0].strip()
        if kind == "text/event-stream":
            return ProviderError(Failure.INCOMPLETE, f"{self._host} sent an empty reply.", status=200)
        payload = from_json(head.decode(errors="replace")) if kind == "application/json" else None
        if isinstance(payload, dict) and "error" in payload:
            return failures.from_event(self._host, payload, self._endpoint.key_advice)
        text = f"{self._host} answered with {kind or 'something'} and not with an event stream. Check the base URL."
        return ProviderError(Failure.INVALID, text, status=200)

    def _failure(self, error: Exception, *, began: bool) -> ProviderError:
        address = self._endpoint.address
        found = (
            error
            if isinstance(error, ProviderError)
            else failures.from_transport(error, self._host, address, self._idle_timeout, began=began)
        )
        text = self._endpoint.masked(found.message)
        return ProviderError(found.failure, text, status=found.status, retry_after=found.retry_after)


class _Declined(Exception):
    """The service's filter let the prompt not through, which is a refusal and not a fault of the request."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
