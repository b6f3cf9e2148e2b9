"""The mock agent's side of the wire: whole messages, raw text, and the requests to the client that are unanswered."""

import asyncio
import itertools
import os

from quillback.mock.script import Json
from quillback_protocol.framing import LineFramer
from quillback_protocol.jsonrpc import ErrorResponse, Response, to_object


class Output:
    """Everything is written at once and in order; a client that does not read stops the mock."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._asked: dict[object, asyncio.Future[Response | ErrorResponse]] = {}
        self._ids = itertools.count(1)

    def message(self, message: object) -> None:
        self.raw(LineFramer.encode(message))

    def raw(self, data: bytes) -> None:
        while data:
            data = data[os.write(self._fd, data) :]

    def update(self, session_id: object, update: Json) -> None:
        self.notify("session/update", {"sessionId": session_id, "update": update})

    def notify(self, method: str, params: Json) -> None:
        self.message({"jsonrpc": "2.0", "method": method, "params": params})

    def result(self, request_id: object, result: object) -> None:
        self.message({"jsonrpc": "2.0", "id": request_id, "result": result})

    def error(self, request_id: object, error: Json) -> None:
        self.message({"jsonrpc": "2.0", "id": request_id, "error": error})

    def ask(self, method: str, params: Json) -> "asyncio.Future[Response | ErrorResponse]":
        """Send a request; the future gets the client's answer."""
        request_id = f"mock-request-{next(self._ids)}"
        future: asyncio.Future[Response | ErrorResponse] = asyncio.get_running_loop().create_future()
        self._asked[request_id] = future
        self.message({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params})
        return future

    def answered(self, answer: Response | ErrorResponse) -> bool:
        """An answer of the client; False when it is to nothing."""
        future = self._asked.pop(answer.id, None)
        if future and not future.done():
            future.set_result(answer)
        return future is not None

    def close(self) -> None:
        os.close(self._fd)


def outcome(answer: Response | ErrorResponse) -> tuple[str, object]:
    """The choice in an answer of the client, and the answer: an option's id, `cancelled`, `ok` or `error`."""
    if isinstance(answer, ErrorResponse):
        return "error", to_object(answer)["error"]
    match answer.result:
        case {"outcome": {"outcome": "selected", "optionId": str(option)}}:
            return option, answer.result
        case {"outcome": {"outcome": "cancelled"}} | {"action": "cancel"}:
            return "cancelled", answer.result
        case {"action": str(action)}:
            return action, answer.result
    return "ok", answer.result
