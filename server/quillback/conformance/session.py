"""One run of the agent as a client sees it: the handshake, sessions, turns."""

import asyncio
from collections.abc import Sequence

from attrs import define, field, frozen

from quillback.conformance.host import Host
from quillback.conformance.rule import Hindrance
from quillback.conformance.text import what_came
from quillback.conformance.wire import Gone, Unanswered, Wire
from quillback_protocol.jsonrpc import AUTH_REQUIRED, JsonObject

PING = "_quillback.dev/ping"
CLIENT = {"name": "quillback-check", "version": "1"}


class Blocked(Exception):
    """What a rule builds on did not work; that is for another rule to judge."""

    def __init__(self, detail: str, why: Hindrance = Hindrance.BLOCKED) -> None:
        super().__init__(detail)
        self.detail = detail
        self.why = why


@frozen
class Turn:
    """An answered prompt. `start` and `end` are where it stands in the log."""

    session: str
    answer: JsonObject
    updates: list[JsonObject]
    start: int
    end: int

    @property
    def stop_reason(self) -> object:
        result = self.answer.get("result")
        return result.get("stopReason") if isinstance(result, dict) else None


@frozen
class Running:
    id: object
    session: str
    start: int


@define(eq=False)
class AgentRun:
    """`timeout` is for every answer, `quiet` for how long things are waited for that should not come."""

    wire: Wire
    host: Host
    timeout: float
    quiet: float
    initialized: JsonObject = field(factory=dict)
    turns: list[Turn] | None = None

    async def ask(self, method: str, params: object, request_id: object = None, *, hostile: bool = False) -> JsonObject:
        """The answer as it came. Raises Unanswered or Gone."""
        used = self.wire.request(method, params, request_id, hostile=hostile)
        try:
            return await self.wire.answer(used, self.timeout)
        except Unanswered as error:
            raise Unanswered(f"{method}: {error}") from None

    async def initialize(self, **more: object) -> JsonObject:
        """The result. Raises Blocked."""
        params = {"protocolVersion": 1, "clientCapabilities": self.wire.offered, "clientInfo": CLIENT, **more}
        self.initialized = await self._result("initialize", params)
        return self.initialized

    async def new(self, **more: object) -> JsonObject:
        """The result of session/new. Raises Blocked."""
        result = await self._result("session/new", {"cwd": str(self.host.cwd), "mcpServers": [], **more})
        if not isinstance(result.get("sessionId"), str):
            raise Blocked(f"session/new gave no session: {what_came({'result': result})}")
        return result

    async def session(self) -> str:
        return str((await self.new())["sessionId"])

    async def _result(self, method: str, params: JsonObject) -> JsonObject:
        try:
            answer = await self.ask(method, params)
        except (Unanswered, Gone) as error:
            raise Blocked(f"{method}: {error}".replace(f"{method}: {method}", method)) from None
        result = answer.get("result")
        if isinstance(result, dict):
            return result
        raise Blocked(f"{method} was answered with {what_came(answer)}", why_refused(answer))

    def start(self, session: str, prompt: str | Sequence[JsonObject], **more: object) -> Running:
        blocks = [{"type": "text", "text": prompt}] if isinstance(prompt, str) else list(prompt)
        start = len(self.wire.log)
        used = self.wire.request("session/prompt", {"sessionId": session, "prompt": blocks, **more})
        return Running(used, session, start)

    async def finish(self, running: Running, timeout: float | None = None) -> Turn:
        """Raises Unanswered or Gone."""
        try:
            answer = await self.wire.answer(running.id, timeout or self.timeout)
        except Unanswered as error:
            raise Unanswered(f"session/prompt: {error}") from None
        end = self.wire.place(answer)
        return Turn(running.session, answer, self.updates(running.session, running.start, end), running.start, end)

    async def turn(self, session: str, prompt: str | Sequence[JsonObject]) -> Turn:
        """A whole turn that ended well. Raises Blocked."""
        try:
            turn = await self.finish(self.start(session, prompt))
        except (Unanswered, Gone) as error:
            raise Blocked(str(error)) from None
        if "result" not in turn.answer:
            why = why_refused(turn.answer)
            raise Blocked(f"session/prompt was answered with {what_came(turn.answer)}", why)
        return turn

    def updates(self, session: str, start: int = 0, end: int | None = None) -> list[JsonObject]:
        """The updates of a session between two places of the log."""
        found = []
        for entry in self.wire.log[start:end]:
            match entry.message:
                case {"method": "session/update", "params": {"sessionId": str(of), "update": dict(update)}}:
                    if of == session and entry.direction == "<-":
                        found.append(update)
        return found

    async def settle(self) -> None:
        """Give what should not come the time to come: a request there and back, and a while."""
        used = self.wire.request(PING, {})
        try:
            await self.wire.answer(used, self.timeout)
        except (Unanswered, Gone):
            return
        await asyncio.sleep(self.quiet)

    async def lives(self) -> str:
        """Empty when the agent answers a request, else what came of it."""
        try:
            await self.ask(PING, {})
        except (Unanswered, Gone) as error:
            return str(error).replace(PING, "the next request")
        return ""


def why_refused(answer: JsonObject) -> Hindrance:
    match answer:
        case {"error": {"code": code}} if code == AUTH_REQUIRED:
            return Hindrance.NEEDS_AUTHENTICATION
    return Hindrance.BLOCKED
