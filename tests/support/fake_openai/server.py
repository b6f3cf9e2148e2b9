"""The fake service itself; see the package for how tests use it."""

import json
from collections.abc import Callable

from support.fake_model.http import Connection, HttpRequest
from support.fake_model.server import TOKEN, Body, FakeModel, Seen, asks_for_title
from support.fake_openai import rules
from support.fake_openai.habits import Habits, refusals
from support.fake_openai.reply import Reply, Say
from support.fake_openai.stream import ChunkStream

PATH = "/v1/chat/completions"


def offers_tools(body: Body) -> bool:
    return bool(body.get("tools"))


class FakeOpenAI(FakeModel):
    def __init__(
        self, *, api_key: str = "", is_main: Callable[[Body], bool] = offers_tools, habits: Habits | None = None
    ) -> None:
        super().__init__(api_key=api_key, is_main=is_main)
        self.habits = habits or Habits()
        self.refusals: list[str] = []
        self.refused: list[Seen] = []
        self.side_reply = Reply(Say("ok"))
        self.title_reply = Reply(status=404, error={"message": "no titles here", "type": "invalid_request_error"})

    async def _answer(self, connection: Connection, request: HttpRequest, seen: Seen) -> None:
        if request.method != "POST" or request.path != PATH:
            self.others.append(seen)
            seen.violations.append(f"wrong request: {request.method} {request.path}")
            return await self._refuse(connection, 404, "invalid_request_error", f"Invalid URL ({request.path})")
        self._check(request, seen)
        if self._api_key and request.headers.get("authorization") != f"Bearer {self._api_key}":
            await self._note(seen)
            return await self._refuse(connection, 401, "invalid_request_error", "Incorrect API key provided")
        refused = list(refusals(seen.body, self.habits, str(seen.body.get("model"))))
        if refused and not seen.violations:
            self.refusals.append(refused[0])
            self.refused.append(seen)
            return await self._refuse(connection, 400, "invalid_request_error", refused[0])
        kind = await self._note(seen)
        if seen.violations:
            return await self._refuse(connection, 400, "invalid_request_error", seen.violations[0])
        reply = {"main": self._reply, "title": lambda _: self.title_reply, "side": lambda _: self.side_reply}[kind](
            seen
        )
        if reply is None:
            seen.violations.append(f"no reply is scripted for [[{seen.token}]]")
            return await self._refuse(connection, 400, "invalid_request_error", seen.violations[0])
        seen.reply = reply if isinstance(reply, Reply) else reply(seen.body)
        return await self._send(connection, seen, seen.reply)

    def _check(self, request: HttpRequest, seen: Seen) -> None:
        try:
            seen.body = dict(json.loads(request.body))
            seen.violations = rules.check(seen.body)
        except (ValueError, TypeError) as error:
            seen.violations = [f"We could not parse the JSON body of your request: {error}"]
        if request.headers.get("content-type", "").partition(";")[0] != "application/json":
            seen.violations.append("the content type must be application/json")

    async def _note(self, seen: Seen) -> str:
        """Lists the request with those of its kind."""
        main = self._is_main(seen.body)
        system = {"system": [m for m in seen.body.get("messages") or [] if m.get("role") == "system"]}
        kind = "main" if main else "title" if asks_for_title(system) else "side"
        async with self._arrived:
            {"main": self.requests, "title": self.title_requests, "side": self.side_requests}[kind].append(seen)
            self._arrived.notify_all()
        return kind

    def _reply(self, seen: Seen):
        seen.token = last_token(seen.body)
        for predicate, replies in self._special:
            if replies and predicate(seen.body):
                return replies.popleft()
        replies = self._scripts[seen.token]
        return replies.popleft() if replies else None

    @staticmethod
    async def _refuse(connection: Connection, status: int, kind: str, message: str) -> None:
        error = {"message": message, "type": kind, "param": None, "code": None}
        await connection.send_json(status, {"error": error}, {})

    async def _send(self, connection: Connection, seen: Seen, reply: Reply) -> None:
        if reply.before:
            await connection.sleep(reply.before)
        if reply.status != 200:
            return await connection.send_json(reply.status, _wrapped(reply.error), reply.headers)
        head = {"content-type": reply.content_type, **reply.headers}
        if reply.body is not None:
            await connection.send_head(200, {**head, "content-length": str(len(reply.body))})
            return await connection.send(reply.body)
        await connection.send_head(200, {**head, "transfer-encoding": "chunked"})
        counts = bool((seen.body.get("stream_options") or {}).get("include_usage"))
        return await ChunkStream(connection, reply, str(seen.body.get("model")), counts=counts).run()


def _wrapped(error: object) -> object:
    """The usual body around an error; a whole body comes as a tuple of one."""
    return error[0] if isinstance(error, tuple) else {"error": error}


def last_token(body: Body) -> str:
    """The last `[[token]]` in the text of user messages, or nothing."""
    for message in reversed(body.get("messages") or []):
        if message.get("role") == "user" and (found := TOKEN.findall(_text(message.get("content")))):
            return str(found[-1])
    return ""


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(str(p.get("text")) for p in parts if p.get("type") == "text")
