"""A headless ACP client over real pipes: drive any agent from Python or from a test."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeVar

from quillback_protocol.framing import FramingError
from quillback_protocol.jsonrpc import JsonObject
from quillback_protocol.outgoing import ConnectionClosedError
from quillback_protocol.peer import NotificationHandler, Peer, RequestHandler
from quillback_protocol.process import AgentProcess

T = TypeVar("T")
Direction = Literal["->", "<-"]

PERMISSION = "session/request_permission"
_DEATH_GRACE = 1.0  # seconds between the end of stdout and the exit code
_CANCELLED = {"outcome": {"outcome": "cancelled"}}


def choose(kind: str) -> RequestHandler:
    """A permission policy: select the first option of `kind` (allow_once, reject_once, ...), cancel without one."""

    async def answer(params: JsonObject) -> JsonObject:
        for option in params["options"]:
            if option["kind"] == kind:
                return {"outcome": {"outcome": "selected", "optionId": option["optionId"]}}
        return _CANCELLED

    return answer


class PromptTurn:
    """One prompt on its way: `updates` grows while the turn runs, `result` is set when it is answered."""

    def __init__(self, client: "Client", session_id: str) -> None:
        self.session_id = session_id
        self.updates: list[JsonObject] = []
        self.result: JsonObject | None = None
        self._client = client
        self.task: asyncio.Task[None] | None = None

    @property
    def stop_reason(self) -> str | None:
        return self.result["stopReason"] if self.result else None

    @property
    def text(self) -> str:
        """All agent text of the turn so far, as it came: nothing is put between one message and the next."""
        return "".join(text for _, text in self._texts())

    @property
    def messages(self) -> list[str]:
        """The agent's text so far, message by message. Where an agent gives no `messageId`, all of it is one."""
        texts: dict[str | None, str] = {}
        for message_id, text in self._texts():
            texts[message_id] = texts.get(message_id, "") + text
        return list(texts.values())

    def _texts(self) -> Iterator[tuple[str | None, str]]:
        for update in self.updates:
            if update["sessionUpdate"] == "agent_message_chunk" and update["content"]["type"] == "text":
                yield update.get("messageId"), update["content"]["text"]

    async def finished(self) -> "PromptTurn":
        """Wait for the answer. Raises RemoteError or ConnectionClosedError; cancelling it cancels the request."""
        if self.task:
            await self.task
        return self

    async def until(self, wanted: Callable[[JsonObject], bool], timeout: float = 10.0) -> JsonObject:
        """The first update of the turn that is `wanted`. Raises LookupError when the turn ends without one."""

        def look() -> JsonObject | None:
            found = next((update for update in self.updates if wanted(update)), None)
            if found is None and self.task and self.task.done():
                raise LookupError("the turn ended without the update that was waited for")
            return found

        return await self._client.wait_for(look, timeout)


class Client:
    """Made by `spawn`. Handlers get raw params and return raw results; what has none is answered -32601.

    `log` is the raw traffic in order, as (direction, object): `->` to the agent, `<-` from it; a line of the agent that
    is no JSON is in there as a FramingError. `updates` has every `session/update` by session.
    """

    def __init__(self, process: AgentProcess) -> None:
        self.log: list[tuple[Direction, object]] = []
        self.updates: dict[str, list[JsonObject]] = {}
        self._process = process
        self._requests: dict[str, RequestHandler] = {}
        self._notifications: dict[str, NotificationHandler] = {"session/update": self._on_update}
        self._peer = Peer(_Recorder(process, self.log), self._requests, self._notifications, methods={})
        self._questions: dict[str, set[asyncio.Future[None]]] = {}
        self._turns: dict[PromptTurn, asyncio.Task[None]] = {}
        self._arrived = asyncio.Event()
        self._death = asyncio.create_task(self._watch())

    @classmethod
    @asynccontextmanager
    async def spawn(
        cls, argv: Sequence[str], *, cwd: str | Path | None = None, env: Mapping[str, str] | None = None
    ) -> "AsyncIterator[Client]":
        """Start an agent and talk to it; it is closed at the end. Raises OSError when it cannot be started."""
        process = await AgentProcess.spawn(argv, cwd=cwd, env=env)
        client = cls(process)
        process.listen(client._on_frame)
        try:
            yield client
        finally:
            await client.close()

    @property
    def pid(self) -> int | None:
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """None while the agent runs; negative when a signal ended it."""
        return self._process.exit_code

    @property
    def stderr(self) -> str:
        """The end of what the agent wrote to stderr."""
        return self._process.stderr

    def on_request(self, method: str, handler: RequestHandler) -> None:
        """Answer `method` with `handler`. An open permission question of a session ends when `cancel` is called."""
        self._requests[method] = partial(self._ask, handler) if method == PERMISSION else handler

    def on_notification(self, method: str, handler: NotificationHandler) -> None:
        self._notifications[method] = handler

    async def request(self, method: str, params: JsonObject | None = None, timeout: float | None = None) -> Any:  # noqa: ANN401 - the raw result
        """Raises RemoteError, TimeoutError, or ConnectionClosedError that names the exit code of a dead agent."""
        return await self._peer.request(method, params or {}, timeout)

    def notify(self, method: str, params: JsonObject | None = None) -> None:
        self._peer.notify(method, params or {})

    async def initialize(self, capabilities: JsonObject | None = None, **more: object) -> JsonObject:
        """The handshake; `more` adds to its params or replaces some."""
        params = {
            "protocolVersion": 1,
            "clientCapabilities": capabilities or {},
            "clientInfo": {"name": "quillback-client", "version": "1"},
        }
        return await self.request("initialize", params | more) or {}

    async def new_session(self, cwd: str | Path, **more: object) -> JsonObject:
        return await self.request("session/new", {"cwd": str(cwd), "mcpServers": []} | more) or {}

    async def load_session(self, session_id: str, cwd: str | Path, **more: object) -> JsonObject:
        """When it returns, the replay is in `updates`."""
        params = {"sessionId": session_id, "cwd": str(cwd), "mcpServers": []}
        return await self.request("session/load", params | more) or {}

    async def start_prompt(self, session_id: str, prompt: str | Sequence[JsonObject], **more: object) -> PromptTurn:
        """Send a prompt, text or content blocks, and return while it runs."""
        blocks = [{"type": "text", "text": prompt}] if isinstance(prompt, str) else list(prompt)
        turn = PromptTurn(self, session_id)
        task = asyncio.create_task(self._run(turn, {"sessionId": session_id, "prompt": blocks} | more))
        turn.task = self._turns[turn] = task
        task.add_done_callback(lambda _: self._turns.pop(turn))
        task.add_done_callback(lambda _: self._wake())
        await asyncio.sleep(0)  # lets the task write the request, so that a cancel after this call comes after it
        return turn

    async def prompt(self, session_id: str, prompt: str | Sequence[JsonObject], **more: object) -> PromptTurn:
        """A whole turn."""
        return await (await self.start_prompt(session_id, prompt, **more)).finished()

    def cancel(self, session_id: str) -> None:
        """Cancel the session's turn, and answer its open permission questions `cancelled`."""
        self.notify("session/cancel", {"sessionId": session_id})
        for withdrawn in self._questions.pop(session_id, set()):
            withdrawn.set_result(None)

    async def wait_for(self, look: Callable[[], T | None], timeout: float = 10.0) -> T:
        """What `look` gives, once that is not None; it is asked again after everything that arrives."""
        async with asyncio.timeout(timeout):
            while (found := look()) is None:
                if self._peer.closed is not None:
                    raise ConnectionClosedError(self._peer.closed)
                await self._arrived.wait()
        return found

    async def close(self, grace: float = 5.0) -> int | None:
        """Close the agent's stdin, give it `grace` seconds, then terminate or kill it. Returns its exit code."""
        try:
            return await self._process.stop(grace)
        finally:
            await self._peer.aclose("the client was closed")
            self._death.cancel()
            await asyncio.wait([self._death, *self._turns.values()])

    async def _run(self, turn: PromptTurn, params: JsonObject) -> None:
        turn.result = await self.request("session/prompt", params) or {}

    async def _on_update(self, params: JsonObject) -> None:
        session_id, update = params["sessionId"], params["update"]
        self.updates.setdefault(session_id, []).append(update)
        for turn in self._turns:
            if turn.session_id == session_id:
                turn.updates.append(update)
        self._wake()

    async def _ask(self, handler: RequestHandler, params: JsonObject) -> object:
        answer: asyncio.Future[Any] = asyncio.ensure_future(handler(params))
        withdrawn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._questions.setdefault(params["sessionId"], set()).add(withdrawn)
        try:
            await asyncio.wait([answer, withdrawn], return_when=asyncio.FIRST_COMPLETED)
            return _CANCELLED if withdrawn.done() else answer.result()
        finally:
            answer.cancel()
            self._questions.get(params["sessionId"], set()).discard(withdrawn)

    def _on_frame(self, frame: object) -> None:
        self.log.append(("<-", frame))
        if not isinstance(frame, FramingError):
            self._peer.receive(frame)
        self._wake()

    async def _watch(self) -> None:
        await self._process.ended(_DEATH_GRACE)
        code = self._process.exit_code
        reason = "the agent closed its output" if code is None else f"the agent exited with code {code}"
        last = self.stderr.strip().rpartition("\n")[2][:200]
        self._peer.close(f"{reason}: {last}" if last else reason)
        self._wake()

    def _wake(self) -> None:
        arrived, self._arrived = self._arrived, asyncio.Event()
        arrived.set()


class _Recorder:
    """The transport of the client's peer: everything written is in the log."""

    def __init__(self, process: AgentProcess, log: list[tuple[Direction, object]]) -> None:
        self._process = process
        self._log = log

    def write(self, obj: JsonObject) -> None:
        self._log.append(("->", obj))
        self._process.write(obj)

    @property
    def buffered(self) -> int:
        return self._process.buffered

    async def drain(self) -> None:
        await self._process.drain()
