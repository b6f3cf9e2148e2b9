"""Lines of a server as messages, however odd. What answers a request always settles it: no call waits in vain."""

import json
import math
import re
from typing import Any

from mcp.types import INTERNAL_ERROR, JSONRPCMessage, jsonrpc_message_adapter

DEPTH = 150
"""Levels of a message that are kept when it cannot be read as it is; the SDK can read 200."""

NO_ANSWER = "its answer does not follow the protocol"
_TOO_DEEP = b'"(nested too deeply)"'
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*+"|[\[\]{}]')
_LONGEST_NUMBER = 1_000
"""Digits of an integer that is still one."""


def parse(line: bytes) -> JSONRPCMessage | None:
    """The message in `line`, as far as the SDK can read it."""
    try:
        return jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValueError:
        return None


def mended(line: bytes) -> JSONRPCMessage | None:
    """The message in a line that `parse` made nothing of; nothing for one that holds none. Takes time for long lines.

    Halves of characters become question marks, what is nested too deeply a word. An answer that is none even so is an
    error, and a request that is none comes without its params.
    """
    value = _value(line)
    if not isinstance(value, dict):
        return None
    said, number = isinstance(value.get("method"), str), value.get("id")
    candidates: list[dict[str, Any]] = [value]
    if said and number is not None:
        candidates.append({"jsonrpc": "2.0", "id": number, "method": value["method"]})
    elif not said and ("result" in value or "error" in value):
        candidates.append({**value, "jsonrpc": "2.0"})
        candidates.append({"jsonrpc": "2.0", "id": number, "error": _error(value.get("error"))})
    for candidate in candidates:
        encoded = json.dumps(candidate, ensure_ascii=False).encode("utf-8", "replace")
        if message := parse(encoded):
            return message
    return None


def _value(line: bytes) -> object:
    """The JSON value; what can be read at its first level alone when the rest is broken."""
    for depth in (DEPTH, 1):
        text = shallow(line, depth).decode("utf-8", "replace")
        try:
            return json.loads(text, strict=False, parse_int=_number)
        except ValueError:
            continue
    return None


def _number(digits: str) -> int | float:
    return int(digits) if len(digits) <= _LONGEST_NUMBER else math.inf


def _error(given: object) -> dict[str, Any]:
    """An error that the SDK can read, with what the server said in whatever form."""
    code, text = (given.get("code"), given.get("message")) if isinstance(given, dict) else (None, given)
    return {
        "code": code if isinstance(code, int) else INTERNAL_ERROR,
        "message": text if isinstance(text, str) and text else NO_ANSWER,
    }


def shallow(line: bytes, depth: int) -> bytes:
    """JSON with a string for each object and list that has `depth` others around it. Linear in its length."""
    pieces: list[bytes] = []
    level, kept = 0, 0
    for token in _TOKEN.finditer(line):
        match token[0]:
            case b"[" | b"{":
                level += 1
                if level == depth + 1:
                    pieces += (line[kept : token.start()], _TOO_DEEP)
            case b"]" | b"}":
                if level == depth + 1:
                    kept = token.end()
                level -= 1
    return b"".join(pieces) + line[kept:] if level <= depth else b"".join(pieces)
