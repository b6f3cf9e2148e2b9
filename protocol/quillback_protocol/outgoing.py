"""The requests of ours that wait for an answer: who asked is woken once, and late answers find nobody."""

import asyncio
import logging
from itertools import count

from quillback_protocol.jsonrpc import ErrorData, ErrorResponse, RequestId, Response

log = logging.getLogger(__name__)


class RemoteError(Exception):
    """The other side answered a request of ours with an error. Not an RpcError: it is never passed on by accident."""

    def __init__(self, error: ErrorData) -> None:
        super().__init__(f"{error.message} ({error.code})")
        self.code = error.code
        self.message = error.message
        self.data = error.data


class ConnectionClosedError(Exception):
    """The connection ended before, or while, a request of ours waited for its answer."""


class Outgoing:
    """Ids are integers from 1, of this direction only."""

    def __init__(self) -> None:
        self._ids = count(1)
        self._waiting: dict[RequestId, asyncio.Future[object]] = {}

    def open(self) -> "tuple[int, asyncio.Future[object]]":
        """A new id and the future of its raw result (or RemoteError, or ConnectionClosedError)."""
        request_id = next(self._ids)
        future: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        self._waiting[request_id] = future
        return request_id, future

    def forget(self, request_id: int) -> bool:
        """Stop waiting; False if it was no longer waited for."""
        return self._waiting.pop(request_id, None) is not None

    def settle(self, answer: Response | ErrorResponse) -> None:
        future = self._waiting.pop(answer.id, None)
        if future is None or future.done():
            log.debug("dropped an answer that nobody waits for")
        elif isinstance(answer, Response):
            future.set_result(answer.result)
        else:
            future.set_exception(RemoteError(answer.error))

    def fail_all(self, reason: str) -> None:
        waiting, self._waiting = self._waiting, {}
        for future in waiting.values():
            if not future.done():
                future.set_exception(ConnectionClosedError(reason))
