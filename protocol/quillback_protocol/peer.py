"""One end of a JSON-RPC connection, without streams of its own: pending requests both ways, one answer for each.

`receive` takes one frame and never waits: every request and notification runs as its own task, and tasks start in the
order their frames arrived, so a cancel right behind a prompt finds the prompt's handler started.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any, Protocol

import attrs
from attrs import define, frozen

from quillback_protocol import jsonrpc
from quillback_protocol.acp.session import CancelRequestNotification
from quillback_protocol.converter import structure, unstructure
from quillback_protocol.framing import EncodeError, FramingError
from quillback_protocol.jsonrpc import (
    ErrorData,
    ErrorResponse,
    Invalid,
    JsonObject,
    Message,
    Notification,
    Request,
    RequestId,
    Response,
    RpcError,
)
from quillback_protocol.methods import CANCEL_REQUEST, METHODS, Method
from quillback_protocol.outgoing import ConnectionClosedError, Outgoing, RemoteError

__all__ = [
    "CancelHandler",
    "ConnectionClosedError",
    "Gate",
    "InitializeGate",
    "NotificationHandler",
    "Peer",
    "RemoteError",
    "Reply",
    "RequestHandler",
    "Transport",
]

log = logging.getLogger(__name__)
_EMPTY: JsonObject = {}

RequestHandler = Callable[[Any], Awaitable[object]]
NotificationHandler = Callable[[Any], Awaitable[None]]
CancelHandler = Callable[[Any], None]
Gate = Callable[[str], RpcError | None]


class Transport(Protocol):
    """Where a peer writes. `write` only queues, keeps the order of calls and raises nothing but EncodeError."""

    def write(self, obj: JsonObject) -> None: ...

    @property
    def buffered(self) -> int:
        """Bytes the other side has not taken yet."""
        ...

    async def drain(self) -> None:
        """Wait until little is buffered."""
        ...


@frozen
class Reply:
    """A handler's result, and what to do once it is written, before anything else can be."""

    result: object
    after: Callable[[], None] | None = None


class InitializeGate:
    """Refuses every request until `initialize` has arrived."""

    def __init__(self, *, opened: bool = False) -> None:
        self.opened = opened

    def __call__(self, method: str) -> RpcError | None:
        self.opened = self.opened or method == "initialize"
        return None if self.opened else RpcError(jsonrpc.INVALID_REQUEST, "initialize must be the first request")


@define(eq=False)
class _Running:
    """A request of the other side that is not answered yet; `params` are set once they are read."""

    request: Request
    params: object = None
    task: "asyncio.Task[None] | None" = None


class Peer:
    """Handlers are looked up by method at each message. A handler gets its params structured as `methods` says (raw
    for a method not in there, None when absent) and returns the result: an ACP object, a JSON value, a Reply, or None
    for `{}`. It may raise RpcError; anything else is logged and answered -32603 without detail.

    `cancels` says by method what `$/cancel_request` does to a running request (it gets the request's params);
    otherwise its task is cancelled and the request answered -32800. `gate` may refuse a request by its method.
    A second request with an id still in flight is answered -32600 under that id; the first goes on.
    `nothing` is what a handler's None is answered with in place of `{}`.
    """

    def __init__(
        self,
        transport: Transport,
        requests: Mapping[str, RequestHandler],
        notifications: Mapping[str, NotificationHandler],
        *,
        cancels: Mapping[str, CancelHandler] | None = None,
        methods: Mapping[str, Method] = METHODS,
        gate: Gate | None = None,
        nothing: object = _EMPTY,
    ) -> None:
        self._nothing = nothing
        self._transport = transport
        self._requests = requests
        self._notifications = notifications
        self._cancels = cancels or {}
        self._methods = methods
        self._gate = gate
        self._incoming: dict[RequestId, _Running] = {}
        self._outgoing = Outgoing()
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed: str | None = None

    def receive(self, frame: object) -> None:
        """Take one frame as a framer gives it. Never waits and never raises."""
        if self._closed is not None:
            return
        if isinstance(frame, FramingError):
            self.receive_error(frame)
            return
        match jsonrpc.classify(frame):
            case Request() as request:
                self._start(request)
            case Notification(method=method, params=params) if method == CANCEL_REQUEST:
                # In line behind the tasks that earlier frames have started.
                asyncio.get_running_loop().call_soon(self._cancel, params)
            case Notification() as notification:
                self._deliver(notification)
            case Response() | ErrorResponse() as answer:
                self._outgoing.settle(answer)
            case Invalid(answerable=True) as invalid:
                self._refuse(invalid.id, jsonrpc.INVALID_REQUEST, invalid.message)
            case Invalid() as invalid:
                log.debug("dropped: %s", invalid.message)

    def receive_error(self, error: FramingError) -> None:
        """Answer a frame that could not be read."""
        self._refuse(None, error.code, error.message)

    async def request(self, method: str, params: object = None, timeout: float | None = None) -> object:
        """Ask the other side and return its raw result. `params` is an ACP object or a JSON value.

        Raises RemoteError, ConnectionClosedError, or TimeoutError after `timeout` seconds. When it times out or is
        cancelled, the other side is told with `$/cancel_request` and a late answer is dropped.
        """
        if self._closed is not None:
            raise ConnectionClosedError(self._closed)
        request_id, answer = self._outgoing.open()
        try:
            self._write(Request(request_id, method, self._params(method, params)))
            async with asyncio.timeout(timeout):
                return await answer
        except (asyncio.CancelledError, TimeoutError):
            if self._outgoing.forget(request_id):
                self.notify(CANCEL_REQUEST, CancelRequestNotification(request_id))
            raise
        finally:
            self._outgoing.forget(request_id)

    def notify(self, method: str, params: object = None) -> None:
        """Send a notification; nothing happens after `close`. Raises EncodeError."""
        self._write(Notification(method, self._params(method, params)))

    @property
    def closed(self) -> str | None:
        """Why the connection is closed; None while it is open."""
        return self._closed

    @property
    def buffered(self) -> int:
        """Bytes the other side has not taken yet."""
        return self._transport.buffered

    async def drain(self) -> None:
        """Wait until the other side has taken most of what was written."""
        await self._transport.drain()

    @property
    def running(self) -> int:
        """How many handlers run, those of notifications included."""
        return len(self._tasks)

    async def idle(self) -> None:
        """Wait until no handler runs, the caller's own apart."""
        while others := self._tasks - {asyncio.current_task()}:
            await asyncio.wait(others)

    def close(self, reason: str = "the connection is closed") -> None:
        """End it: requests of ours fail with ConnectionClosedError, handlers are cancelled, nothing is written."""
        if self._closed is not None:
            return
        self._closed = reason
        self._incoming.clear()
        self._outgoing.fail_all(reason)
        for task in self._tasks - {asyncio.current_task()}:
            task.cancel()

    def give_up(self, error: RpcError) -> None:
        """Answer every request that still runs with `error`, and cancel its handler."""
        for running in list(self._incoming.values()):
            self._answer(running, ErrorResponse(running.request.id, error.error))
            if running.task is not None:
                running.task.cancel()

    async def aclose(self, reason: str = "the connection is closed") -> None:
        """`close`, and wait until every handler has ended."""
        self.close(reason)
        await self.idle()

    def _start(self, request: Request) -> None:
        if request.id in self._incoming:
            self._refuse(request.id, jsonrpc.INVALID_REQUEST, "a request with this id is still running")
        elif self._gate and (refusal := self._gate(request.method)):
            self._write(ErrorResponse(request.id, refusal.error))
        elif request.method not in self._requests:
            self._refuse(request.id, jsonrpc.METHOD_NOT_FOUND, f"method not found: {request.method[:100]!r}")
        else:
            running = self._incoming[request.id] = _Running(request)
            running.task = self._spawn(self._serve(running))
            # A task cancelled before its first step never gets to answer.
            running.task.add_done_callback(lambda _: self._answer(running, _cancelled(request)))

    async def _serve(self, running: _Running) -> None:
        request = running.request
        try:
            running.params = self._structure(request)
            result = await self._requests[request.method](running.params)
            reply = result if isinstance(result, Reply) else Reply(result)
            self._answer(running, Response(request.id, self._result(request.method, reply.result)))
            if reply.after:
                reply.after()
        except asyncio.CancelledError:
            self._answer(running, _cancelled(request))
            raise
        except RpcError as error:
            self._answer(running, ErrorResponse(request.id, error.error))
        except Exception:
            log.exception("the handler of %s failed", request.method)
            self._answer(running, _internal(request))

    def _answer(self, running: _Running, answer: Response | ErrorResponse) -> None:
        """Write the one answer of a request; a second one, and any after `close`, is dropped. Raises nothing."""
        if self._incoming.get(running.request.id) is not running:
            return
        del self._incoming[running.request.id]
        try:
            self._write(answer)
        except EncodeError:
            log.exception("the answer of %s has no JSON form", running.request.method)
            self._write(_internal(running.request))

    def _deliver(self, notification: Notification) -> None:
        if notification.method in self._notifications:
            self._spawn(self._handle(notification))
        else:
            log.debug("ignored notification %.100r", notification.method)

    async def _handle(self, notification: Notification) -> None:
        try:
            await self._notifications[notification.method](self._structure(notification))
        except RpcError as error:
            log.warning("bad notification %s: %s", notification.method, error.message)
        except Exception:
            log.exception("the handler of %s failed", notification.method)

    def _cancel(self, params: object) -> None:
        try:
            running = self._incoming.get(structure(CancelRequestNotification, params).request_id)
        except RpcError as error:
            log.debug("bad %s: %s", CANCEL_REQUEST, error.message)
            return
        if running is None or running.task is None:
            return
        if cancel := self._cancels.get(running.request.method):
            cancel(running.params)
        else:
            running.task.cancel()

    def _refuse(self, request_id: RequestId, code: int, message: str) -> None:
        self._write(ErrorResponse(request_id, ErrorData(code, message)))

    def _write(self, message: Message) -> None:
        if self._closed is None:
            self._transport.write(jsonrpc.to_object(message))

    def _structure(self, message: Request | Notification) -> object:
        method = self._methods.get(message.method)
        if method is None:
            return message.params
        return structure(method.params, {} if message.params is None else message.params)

    def _params(self, name: str, params: object) -> object:
        method = self._methods.get(name)
        return _plain(params, method and method.params)

    def _result(self, name: str, result: object) -> object:
        method = self._methods.get(name)
        return self._nothing if result is None else _plain(result, method and method.result)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


def _cancelled(request: Request) -> ErrorResponse:
    return ErrorResponse(request.id, ErrorData(jsonrpc.REQUEST_CANCELLED, "the request was cancelled"))


def _internal(request: Request) -> ErrorResponse:
    message = f"{request.method} failed because of an internal error; see the log"
    return ErrorResponse(request.id, ErrorData(jsonrpc.INTERNAL_ERROR, message))


def _plain(value: object, as_type: object) -> object:
    return unstructure(value, as_type) if attrs.has(type(value)) else value
