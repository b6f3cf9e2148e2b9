"""Speaks the Messages API, of Anthropic and of every server that offers it, through the official SDK.

The SDK makes the request; its retries, its environment variables and its decoding are not used. It takes a second to
import, so that happens on first use or, better, in `warm_up` in a background thread.
"""

import asyncio
import threading
from collections.abc import Iterator, Mapping
from contextlib import aclosing
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from quillback.core.model import Failure, ModelRequest, ProviderError, ProviderEvent
from quillback.providers import anthropic_wire, failures
from quillback.providers.anthropic_events import EventReader
from quillback.providers.bodies import drain, from_json
from quillback.providers.endpoint import OFFICIAL_URL, Endpoint
from quillback.providers.sse import SseParser

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    import httpx2
    from anthropic import AsyncAnthropic

_CONNECT_SECONDS = 15.0
_KEPT_HEADERS = frozenset({"host", "content-length", "content-type", "transfer-encoding", "accept"})


class AnthropicProvider:
    """`idle_timeout` is how many seconds may pass without a byte. `extra_headers` win over our own.

    `base_url` may end in a slash, a path, `/v1` or `/v1/messages`. Hosts other than Anthropic's get version 2023-06-01
    unless `api_version` is set, and the key in both headers that such servers look for; they may also need no key.
    """

    def __init__(
        self,
        *,
        base_url: str = OFFICIAL_URL,
        api_key: str = "",
        auth_token: str = "",
        api_version: str = "",
        idle_timeout: float = 300,
        extra_headers: Mapping[str, str] | None = None,
    ) -> None:
        self._endpoint = Endpoint(base_url, api_key, auth_token, api_version, extra_headers or {})
        self._host = self._endpoint.host
        self._idle_timeout = idle_timeout
        self._lock = threading.Lock()
        self._client: AsyncAnthropic | None = None
        self._closed = False

    def warm_up(self) -> None:
        """Import the SDK and make the client; takes a second and may run in any thread."""
        with self._lock:
            if self._client is None and not self._closed:
                self._client = self._make_client()

    async def close(self) -> None:
        """Ends open streams too."""
        self._closed = True
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def stream(self, request: ModelRequest) -> "AsyncGenerator[ProviderEvent]":
        """One reply as it arrives. Raises ProviderError. Close it (`aclosing`) to close the connection at once."""
        client = await self._ready()
        body = anthropic_wire.body(request, official=self._endpoint.official)
        try:
            answer = (await client.messages.create(stream=True, **body)).response
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

    async def _ready(self) -> "AsyncAnthropic":
        if problem := self._endpoint.problem():
            raise problem
        if self._client is None:
            await asyncio.to_thread(self.warm_up)
        if self._client is None:
            raise ProviderError(Failure.INVALID, "The connection to the model service was closed.")
        return self._client

    def _make_client(self) -> "AsyncAnthropic":
        import httpx2
        from anthropic import AsyncAnthropic, DefaultAsyncHttpxClient

        async def only_ours(request: httpx2.Request) -> None:
            # the SDK adds headers from environment variables, and no option stops it
            kept = {n: v for n, v in request.headers.items() if n in _KEPT_HEADERS}
            request.headers = httpx2.Headers({**kept, **self._endpoint.headers})

        http = DefaultAsyncHttpxClient(
            follow_redirects=False,  # a redirect would carry the key to another host
            trust_env=not self._endpoint.local,  # local models are not behind a proxy
            event_hooks={"request": [only_ours]},
        )
        return AsyncAnthropic(
            api_key="see headers",
            base_url=self._endpoint.root,
            max_retries=0,
            timeout=httpx2.Timeout(self._idle_timeout, connect=_CONNECT_SECONDS),
            open_telemetry=False,
            http_client=http,
        )

    # ------------------------------------------------------------ reading

    async def _events(self, answer: "httpx2.Response") -> "AsyncGenerator[ProviderEvent]":
        parser, reader = SseParser(), EventReader()
        heard = False
        head = b""
        chunks = answer.aiter_bytes()
        async for chunk in chunks:
            head = head or chunk
            for event in self._parsed(parser.feed(chunk), reader):
                heard = True
                yield event
            if reader.stopped:
                break
        else:
            for event in self._parsed(parser.finish(), reader):
                yield event
        if not reader.stopped or not reader.stop_reason:
            raise self._incomplete(reader, head, answer.headers.get("content-type", ""), heard=heard)
        await drain(chunks)

    def _parsed(self, events: list[tuple[str, str]], reader: EventReader) -> Iterator[ProviderEvent]:
        for name, data in events:
            if reader.stopped or data == "[DONE]":
                return
            payload = from_json(data)
            if not isinstance(payload, dict):
                if name == "error":
                    raise failures.from_event(self._host, {"message": data})
                text = f"{self._host} sent an event that is not JSON, so the reply was dropped."
                raise ProviderError(Failure.INCOMPLETE, text, status=200)
            kind = payload.get("type") or name
            if kind == "error" or name == "error":
                raise failures.from_event(self._host, payload)
            yield from reader.read(payload, kind)

    def _incomplete(self, reader: EventReader, head: bytes, content_type: str, *, heard: bool) -> ProviderError:
        if heard or reader.stopped:
            missing = "a stop reason" if reader.stopped else "its end"
            return ProviderError(Failure.INCOMPLETE, f"The reply of {self._host} came without {missing}.", status=200)
        kind = content_type.partition(";")[0].strip()
        if kind == "text/event-stream":
            return ProviderError(Failure.INCOMPLETE, f"{self._host} sent an empty reply.", status=200)
        payload = from_json(head.decode(errors="replace")) if kind == "application/json" else None
        if isinstance(payload, dict) and "error" in payload:
            return failures.from_event(self._host, payload)
        text = f"{self._host} answered with {kind or 'something'} and not with an event stream. Check the base URL."
        return ProviderError(Failure.INVALID, text, status=200)

    # ------------------------------------------------------------ failures

    def _failure(self, error: Exception, *, began: bool) -> ProviderError:
        found = error if isinstance(error, ProviderError) else self._translated(error, began=began)
        text = self._endpoint.masked(found.message)
        return ProviderError(found.failure, text, status=found.status, retry_after=found.retry_after)

    def _translated(self, error: Exception, *, began: bool) -> ProviderError:
        import anthropic

        if isinstance(error, anthropic.APIStatusError):
            said, headers = failures.error_object(error.body), error.response.headers
            return failures.from_status(error.status_code, self._host, said, headers, datetime.now(UTC))
        cause = (isinstance(error, anthropic.APIConnectionError) and error.__cause__) or error
        return failures.from_transport(cause, self._host, self._endpoint.address, self._idle_timeout, began=began)
