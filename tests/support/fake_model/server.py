"""The fake service itself; see the package for how tests use it."""

import asyncio
import json
import re
from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Self

from attrs import define, field

from support.fake_model import rules
from support.fake_model.http import ClientGone, Connection, HttpRequest
from support.fake_model.reply import Block, Redacted, Reply, Say, Think, Use
from support.fake_model.stream import ReplyStream

TOKEN = re.compile(r"\[\[([A-Za-z0-9_.:-]+)\]\]")
Body = Mapping[str, Any]
Answer = Reply | Callable[[Body], Reply]


@define(eq=False)
class Seen:
    """A request and what became of it."""

    path: str
    headers: Mapping[str, str]
    raw: bytes
    body: Body = field(factory=dict)
    token: str = ""
    reply: Reply | None = None
    violations: list[str] = field(factory=list)
    ended: asyncio.Event = field(factory=asyncio.Event)
    gone: asyncio.Event = field(factory=asyncio.Event)


class FakeModel:
    def __init__(self, *, api_key: str = "", is_main: Callable[[Body], bool] = lambda body: bool(body.get("tools"))):
        self.requests: list[Seen] = []
        self.side_requests: list[Seen] = []
        self.others: list[Seen] = []
        self.side_reply: Answer = Reply(Say("ok"))
        self.title_requests: list[Seen] = []
        self.title_reply: Answer = Reply(status=404, error=("not_found_error", "no titles here"))
        self.issued = rules.Issued()
        self.connections = 0
        self._api_key = api_key
        self._is_main = is_main
        self._scripts: dict[str, deque[Answer]] = defaultdict(deque)
        self._special: list[tuple[Callable[[Body], bool], deque[Answer]]] = []
        self._arrived = asyncio.Condition()
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=1 << 26)
        self.port: int = self._server.sockets[0].getsockname()[1]
        self.base_url = f"http://127.0.0.1:{self.port}"
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    def script(self, token: str, *replies: Answer) -> None:
        """Answer main requests that carry `[[token]]` with these, in order, after those already scripted."""
        self._scripts[token].extend(replies)

    def when(self, predicate: Callable[[Body], bool], *replies: Answer) -> None:
        """Answer main requests that `predicate` accepts with these, before any token is looked at."""
        self._special.append((predicate, deque(replies)))

    @property
    def violations(self) -> list[str]:
        every = [*self.requests, *self.side_requests, *self.title_requests, *self.others]
        return [v for seen in every for v in seen.violations]

    async def received(self, count: int = 1) -> Seen:
        """The main request number `count` (from 1), once it is here."""
        async with self._arrived:
            await self._arrived.wait_for(lambda: len(self.requests) >= count)
        return self.requests[count - 1]

    # ------------------------------------------------------------ one request

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        self.connections += 1
        connection = Connection(reader, writer)
        try:
            with suppress(asyncio.IncompleteReadError, ConnectionError, ClientGone, asyncio.CancelledError):
                while True:
                    await self._handle(connection, await connection.request())
        finally:
            with suppress(asyncio.CancelledError):
                await connection.close()

    async def _handle(self, connection: Connection, request: HttpRequest) -> None:
        seen = Seen(request.path, request.headers, request.body)
        watcher = asyncio.create_task(connection.watch())
        try:
            await self._answer(connection, request, seen)
        finally:
            if connection.gone.is_set():
                seen.gone.set()
            seen.ended.set()
            watcher.cancel()
            await asyncio.wait({watcher})

    async def _answer(self, connection: Connection, request: HttpRequest, seen: Seen) -> None:
        if request.method != "POST" or request.path != "/v1/messages":
            self.others.append(seen)
            seen.violations.append(f"wrong request: {request.method} {request.path}")
            return await self._refuse(connection, 404, "not_found_error", f"Not found: {request.path}")
        try:
            seen.body = dict(json.loads(request.body))
            seen.violations = rules.check(seen.body, self.issued)
        except (ValueError, TypeError) as error:
            seen.violations = [f"The request body is not valid JSON: {error}"]
        if "anthropic-version" not in request.headers:
            seen.violations.append("anthropic-version: header is required")
        main = self._is_main(seen.body)
        title = not main and asks_for_title(seen.body)
        async with self._arrived:
            (self.requests if main else self.title_requests if title else self.side_requests).append(seen)
            self._arrived.notify_all()
        if self._api_key and self._key(request.headers) != self._api_key:
            return await self._refuse(connection, 401, "authentication_error", "invalid x-api-key")
        if seen.violations:
            return await self._refuse(connection, 400, "invalid_request_error", seen.violations[0])
        reply = self._reply(seen) if main else self.title_reply if title else self.side_reply
        if reply is None:
            seen.violations.append(f"no reply is scripted for [[{seen.token}]]")
            return await self._refuse(connection, 400, "invalid_request_error", seen.violations[0])
        seen.reply = reply if isinstance(reply, Reply) else reply(seen.body)
        return await self._send(connection, seen, seen.reply)

    def _reply(self, seen: Seen) -> Answer | None:
        seen.token = last_token(seen.body)
        for predicate, replies in self._special:
            if replies and predicate(seen.body):
                return replies.popleft()
        replies = self._scripts[seen.token]
        return replies.popleft() if replies else None

    @staticmethod
    def _key(headers: Mapping[str, str]) -> str:
        return headers.get("x-api-key") or headers.get("authorization", "").removeprefix("Bearer ")

    @staticmethod
    async def _refuse(connection: Connection, status: int, kind: str, message: str) -> None:
        await connection.send_json(status, {"type": "error", "error": {"type": kind, "message": message}}, {})

    # ------------------------------------------------------------ the reply

    async def _send(self, connection: Connection, seen: Seen, reply: Reply) -> None:
        if reply.before:
            await connection.sleep(reply.before)
        if reply.status != 200:
            kind, message = reply.error
            body = {"type": "error", "error": {"type": kind, "message": message}}
            return await connection.send_json(reply.status, body, reply.headers)
        head = {"content-type": reply.content_type, **reply.headers}
        if reply.body is not None:
            await connection.send_head(200, {**head, "content-length": str(len(reply.body))})
            return await connection.send(reply.body)
        head["transfer-encoding"] = "chunked"
        await connection.send_head(200, head)
        self._remember(reply.blocks())
        stream = ReplyStream(connection, reply)
        await stream.event(reply.head(str(seen.body.get("model"))))
        for piece in reply.pieces:
            if not await stream.piece(piece):
                return None
        for event in reply.tail():
            await stream.event(event)
        return await connection.send_end()

    def _remember(self, blocks: list[Block]) -> None:
        served: list[Body] = []
        for block in blocks:
            match block:
                case Say(text=text):
                    served.append({"type": "text", "text": text})
                case Think(text=text, signature=signature):
                    self.issued.signatures[signature] = text
                    served.append({"type": "thinking", "thinking": text, "signature": signature})
                case Redacted(data=data):
                    self.issued.redacted.add(data)
                    served.append({"type": "redacted_thinking", "data": data})
                case Use(id=id_, name=name):
                    served.append({"type": "tool_use", "id": id_, "name": name})
        self.issued.replies.append(served)


def asks_for_title(body: Body) -> bool:
    return "You name conversations" in json.dumps(body.get("system"))


def last_token(body: Body) -> str:
    """The last `[[token]]` in the text of user messages, or nothing."""
    for role, parts in reversed(rules.merged(body.get("messages") or [])):
        texts = [str(b.get("text")) for b in parts if b.get("type") == "text"] if role == "user" else []
        if found := TOKEN.findall("\n".join(texts)):
            return str(found[-1])
    return ""
