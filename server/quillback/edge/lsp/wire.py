"""LSP's words on our connection: params as lsprotocol's types, and its own name for cancelling."""

from functools import cache
from typing import Any, TypeVar

from cattrs import Converter
from lsprotocol import converters

from quillback_protocol.jsonrpc import InvalidParams, JsonObject
from quillback_protocol.methods import CANCEL_REQUEST

LSP_CANCEL = "$/cancelRequest"
NOT_INITIALIZED = -32002
T = TypeVar("T")


@cache
def converter() -> Converter:
    return converters.get_converter()


def read(kind: type[T], params: object) -> T:
    """Params as a type of lsprotocol. Raises InvalidParams."""
    try:
        return converter().structure({} if params is None else params, kind)
    except Exception as error:  # what it raises depends on where the params are wrong
        raise InvalidParams(f"the params are no {kind.__name__}: {_reason(error)}") from None


def _reason(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    name = type(error).__name__
    return f"{error.args[0]!r} is missing" if isinstance(error, KeyError) and error.args else f"{name} {error}"[:300]


def plain(value: object) -> Any:  # noqa: ANN401 - JSON has no narrower type
    """The JSON value of something that is made of lsprotocol's types."""
    return converter().unstructure(value)


def from_lsp(frame: object) -> object:
    """A frame with LSP's cancelling put in the words of ACP; all else as it is."""
    if isinstance(frame, dict) and frame.get("method") == LSP_CANCEL and isinstance(frame.get("params"), dict):
        return {**frame, "method": CANCEL_REQUEST, "params": {"requestId": frame["params"].get("id")}}
    return frame


def to_lsp(obj: JsonObject) -> JsonObject:
    if obj.get("method") == CANCEL_REQUEST:
        return {**obj, "method": LSP_CANCEL, "params": {"id": obj["params"]["requestId"]}}
    return obj
