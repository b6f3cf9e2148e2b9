"""JSON-RPC 2.0 messages as closed types, so that every odd object is judged in one place: `classify`."""

import re
from typing import Any, TypeGuard

from attrs import frozen

JsonObject = dict[str, Any]
RequestId = str | int | None

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
AUTH_REQUIRED = -32000
RESOURCE_NOT_FOUND = -32002
REQUEST_CANCELLED = -32800
_HALF = re.compile("[\ud800-\udfff]")


@frozen
class ErrorData:
    """The error object of an answer. `message` is one sentence without a line break; `data` None means absent."""

    code: int
    message: str
    data: object = None


class RpcError(Exception):
    """Raised by a request handler: the request is answered with this error."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data

    @property
    def error(self) -> ErrorData:
        return ErrorData(self.code, self.message, self.data)


class InvalidParams(RpcError):
    """The params of a request do not fit its type; `message` starts with the wire path."""

    def __init__(self, message: str, data: object = None) -> None:
        super().__init__(INVALID_PARAMS, message, data)


@frozen
class Request:
    """`params` is an object, an array, or None when absent. An `id` of None was sent as null and is answered."""

    id: RequestId
    method: str
    params: object = None


@frozen
class Notification:
    method: str
    params: object = None


@frozen
class Response:
    id: RequestId
    result: object


@frozen
class ErrorResponse:
    id: RequestId
    error: ErrorData


@frozen
class Invalid:
    """Not a message. It is answered with -32600 and `id`, unless it was a broken answer: then `answerable` is False."""

    message: str
    id: RequestId = None
    answerable: bool = True


Message = Request | Notification | Response | ErrorResponse
Incoming = Message | Invalid


def is_request_id(value: object) -> TypeGuard[RequestId]:
    """Not a string with half a character in it either: it could not be written back."""
    if isinstance(value, str):
        return value.isascii() or not _HALF.search(value)
    return value is None or (isinstance(value, int) and not isinstance(value, bool))


def classify(obj: object) -> Incoming:
    """Judge one parsed frame. Never raises; looks at the top level only, so nested `jsonrpc` keys mean nothing."""
    if isinstance(obj, list):
        return Invalid("JSON-RPC batches are not supported")
    if not isinstance(obj, dict):
        return Invalid("a message must be a JSON object")
    if "method" not in obj and ("result" in obj or "error" in obj):
        return _answer(obj)
    return _call(obj)


def _call(obj: JsonObject) -> Request | Notification | Invalid:
    request_id = obj.get("id")
    if not is_request_id(request_id):
        return Invalid("id must be a string, an integer or null")
    if obj.get("jsonrpc") != "2.0":
        return Invalid('jsonrpc must be "2.0"', request_id)
    method, params = obj.get("method"), obj.get("params")
    if not isinstance(method, str):
        return Invalid("method must be a string", request_id)
    # ACP's schema allows null params and means absent ones by it.
    if params is not None and not isinstance(params, dict | list):
        return Invalid("params must be an object or an array", request_id)
    return Request(request_id, method, params) if "id" in obj else Notification(method, params)


def _answer(obj: JsonObject) -> Response | ErrorResponse | Invalid:
    """An answer whose id can be read always settles its request, however odd the rest is: nobody waits for ever."""
    request_id = obj.get("id")
    if obj.get("jsonrpc") != "2.0" or "id" not in obj or not is_request_id(request_id):
        return Invalid("malformed answer", answerable=False)
    error = obj.get("error")
    if error is None and "result" in obj:
        return Response(request_id, obj["result"])
    return ErrorResponse(request_id, _error_data(error))


def _error_data(error: object) -> ErrorData:
    match error:
        case {"code": int(code), "message": str(message), **rest}:
            return ErrorData(code, message, rest.get("data"))
        case _:
            return ErrorData(INTERNAL_ERROR, "the answer was a malformed error")


def to_object(message: Message) -> JsonObject:
    """The JSON object of a message. `params` and an error's `data` are left out when None."""
    match message:
        case Request(id=request_id, method=method, params=params):
            head: JsonObject = {"jsonrpc": "2.0", "id": request_id, "method": method}
            return head if params is None else {**head, "params": params}
        case Notification(method=method, params=params):
            head = {"jsonrpc": "2.0", "method": method}
            return head if params is None else {**head, "params": params}
        case Response(id=request_id, result=result):
            return {"jsonrpc": "2.0", "id": request_id, "result": result}
        case ErrorResponse(id=request_id, error=error):
            body: JsonObject = {"code": error.code, "message": error.message}
            if error.data is not None:
                body["data"] = error.data
            return {"jsonrpc": "2.0", "id": request_id, "error": body}
