"""Answers a first `initialize` before anything heavy is imported; imports the standard library's light modules only.

`initialize_result` is the one place that says what this agent can do, for the fast and for the ordinary path.
"""

import json
import os
import select
import time
from collections.abc import Iterator, Mapping

from quillback import __version__
from quillback.edge import fds

PROTOCOL_VERSION = 1
META_KEY = "quillback.dev"
METHODS = (
    "_quillback/audit",
    "_quillback/session/steer",
    "_quillback/session/undo",
    "_quillback/session/history_replaced",
    "_quillback/frontend_tools/set",
    "_quillback/tool/progress",
    "_quillback/tool/call",
)
"""Our own methods that are served or called."""
READ_SIZE = 65536
FIRST_LINE = 1024 * 1024
"""Bytes of a first line that the fast path looks at; a longer one is left to the ordinary path."""
BLANK = b" \t\r\n"
LSP_HEADERS = (b"content-length:", b"content-type:")
PARENT_SECONDS = 1.0
REFUSE_SECONDS = 0.5
INTERNAL_ERROR = -32603
Json = dict[str, object]


class Handshake:
    """What was read before the server took over: `params` of an answered initialize, and the bytes not dealt with."""

    def __init__(self, rest: bytes, params: Json | None = None, *, eof: bool = False) -> None:
        self.rest = rest
        self.params = params
        self.eof = eof


def initialize_result(params: Mapping[str, object]) -> Json:
    """The answer to `initialize`, whose `params` were checked. Our version answers every unknown one."""
    return {
        "protocolVersion": PROTOCOL_VERSION,
        "agentCapabilities": {
            "loadSession": True,
            "promptCapabilities": {"image": True, "audio": False, "embeddedContext": True},
            "mcpCapabilities": {
                "http": True,
                "sse": False,
                **({"acp": True} if _declared(params, "mcpOverAcp") else {}),
            },
            "sessionCapabilities": {
                **{"list": {}, "delete": {}, "additionalDirectories": {}, "resume": {}, "close": {}},
                **({"fork": {}} if _declared(params, "sessionFork") else {}),
            },
            "_meta": {META_KEY: {"version": __version__, "methods": list(METHODS)}},
        },
        "agentInfo": {"name": "quillback", "title": "Quillback", "version": __version__},
        "authMethods": auth_methods(params.get("clientCapabilities")),
    }


def _declared(params: Mapping[str, object], name: str) -> bool:
    """Whether the client knows this unstable part of the protocol; others may not take the sight of it."""
    capabilities = params.get("clientCapabilities")
    meta = capabilities.get("_meta") if isinstance(capabilities, dict) else None
    ours = meta.get(META_KEY) if isinstance(meta, dict) else None
    return isinstance(ours, dict) and ours.get(name) is True


def auth_methods(capabilities: object) -> list[Json]:
    """Terminal login, for clients that can run it."""
    auth = capabilities.get("auth") if isinstance(capabilities, dict) else None
    if not isinstance(auth, dict) or auth.get("terminal") is not True:
        return []
    return [
        {
            "id": "login",
            "type": "terminal",
            "name": "Log in",
            "description": "Keep an API key in the system keyring",
            "args": ["login"],
        }
    ]


def is_plain_initialize(message: object) -> bool:
    """Whether the fast path may answer: everything else gets the ordinary path with its full checks."""
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0" or message.get("method") != "initialize":
        return False
    id_, params = message.get("id"), message.get("params")
    if not isinstance(id_, int | str) or isinstance(id_, bool) or not isinstance(params, dict):
        return False
    if isinstance(id_, str) and any("\ud800" <= c <= "\udfff" for c in id_):
        return False
    version, capabilities = params.get("protocolVersion"), params.get("clientCapabilities", {})
    return type(version) is int and 0 <= version <= 65535 and isinstance(capabilities, dict | None)


def is_lsp(data: bytes) -> bool:
    """Whether a client that begins like this (blank bytes aside) speaks LSP: header lines stand before its messages."""
    beginning = data.lstrip(BLANK).lower()
    return bool(beginning) and any(h.startswith(beginning[: len(h)]) for h in LSP_HEADERS)


def first_exchange(stdin: int, stdout: int, parent: int) -> Handshake:
    """Read the first line and answer it if it is a plain initialize.

    The input ends when `parent` is gone or nobody takes the answer, too.
    """
    data = bytearray()
    for chunk in _chunks(stdin, parent):
        data += chunk if data else chunk.lstrip(BLANK)  # blank lines before the first one are no news
        if data and (not data.startswith(b"{") or len(data) > FIRST_LINE):
            return Handshake(bytes(data))
        if data and b"\n" in chunk:
            break
    else:
        return Handshake(bytes(data), eof=True)
    line, _, rest = bytes(data).partition(b"\n")
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return Handshake(bytes(data))
    if not is_plain_initialize(message):
        return Handshake(bytes(data))
    try:
        _send(stdout, {"jsonrpc": "2.0", "id": message["id"], "result": initialize_result(message["params"])})
    except OSError:
        return Handshake(b"", eof=True)
    return Handshake(rest, message["params"])


def refuse(stdin: int, stdout: int, rest: bytes, why: str) -> None:
    """Answer the requests in `rest`, and those that come within half a second, with -32603: the program cannot run."""
    until = time.monotonic() + REFUSE_SECONDS
    while True:
        *lines, rest = rest.split(b"\n")
        for line in lines:
            if not _refuse(stdout, line, why):
                return
        left = until - time.monotonic()
        if left <= 0 or not select.select([stdin], [], [], left)[0]:
            return
        chunk = fds.read(stdin, READ_SIZE)
        if not chunk:
            _refuse(stdout, rest, why)
            return
        rest += chunk


def _refuse(stdout: int, line: bytes, why: str) -> bool:
    """Whether the client still takes answers."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return True
    if not isinstance(message, dict) or not {"method", "id"} <= message.keys():
        return True
    if not isinstance(message["id"], int | str | None):
        return True
    if not select.select([], [stdout], [], REFUSE_SECONDS)[1]:
        return False
    try:
        _send(stdout, {"jsonrpc": "2.0", "id": message["id"], "error": {"code": INTERNAL_ERROR, "message": why}})
    except OSError:
        return False
    return True


def _chunks(stdin: int, parent: int) -> Iterator[bytes]:
    """What comes, to its end. An editor that was killed may leave the pipe open in another process's hands."""
    while True:
        while not select.select([stdin], [], [], PARENT_SECONDS)[0]:
            if os.getppid() != parent:
                return
        chunk = fds.read(stdin, READ_SIZE)
        if not chunk:
            return
        yield chunk


def _send(fd: int, message: Json) -> None:
    data = json.dumps(message, separators=(",", ":")).encode() + b"\n"
    while data:
        data = data[fds.write(fd, data) :]
