"""Answers a first `initialize` before anything heavy is imported; imports the standard library's light modules only.

`initialize_result` is the one place that says what this agent can do, for the fast and for the ordinary path.
"""

import json
import os
import select
from collections.abc import Mapping

from quillback import __version__

PROTOCOL_VERSION = 1
META_KEY = "quillback.dev"
METHODS = ("_quillback/audit", "_quillback/frontend_tools/set", "_quillback/tool/progress", "_quillback/tool/call")
"""Our own methods that are served or called."""
READ_SIZE = 65536
PARENT_SECONDS = 1.0
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
            "mcpCapabilities": {"http": True, "sse": False, **_unstable(params.get("clientCapabilities"))},
            "sessionCapabilities": {"list": {}, "delete": {}, "additionalDirectories": {}, "resume": {}, "close": {}},
            "_meta": {META_KEY: {"version": __version__, "methods": list(METHODS)}},
        },
        "agentInfo": {"name": "quillback", "title": "Quillback", "version": __version__},
        "authMethods": auth_methods(params.get("clientCapabilities")),
    }


def _unstable(capabilities: object) -> Json:
    """Servers inside the client, for clients that declare to have some."""
    meta = capabilities.get("_meta") if isinstance(capabilities, dict) else None
    ours = meta.get(META_KEY) if isinstance(meta, dict) else None
    return {"acp": True} if isinstance(ours, dict) and ours.get("mcpOverAcp") is True else {}


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
    version, capabilities = params.get("protocolVersion"), params.get("clientCapabilities", {})
    return type(version) is int and 0 <= version <= 65535 and isinstance(capabilities, dict | None)


def first_exchange(stdin: int, stdout: int, parent: int) -> Handshake:
    """Read the first line and answer it if it is a plain initialize. The input ends when `parent` is gone, too."""
    data = b""
    while b"\n" not in data.lstrip():
        chunk = _read(stdin, parent)
        if not chunk:
            return Handshake(data, eof=True)
        data += chunk
        if not data.lstrip().startswith(b"{"):
            if data.strip():
                return Handshake(data)
            continue
        if len(data) > READ_SIZE * 16:
            return Handshake(data)
    line, _, rest = data.lstrip().partition(b"\n")
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return Handshake(data)
    if not is_plain_initialize(message):
        return Handshake(data)
    answer = {"jsonrpc": "2.0", "id": message["id"], "result": initialize_result(message["params"])}
    _write_all(stdout, json.dumps(answer, separators=(",", ":")).encode() + b"\n")
    return Handshake(rest, message["params"])


def _read(stdin: int, parent: int) -> bytes:
    """What comes next. An editor that was killed may leave the pipe open in another process's hands."""
    while not select.select([stdin], [], [], PARENT_SECONDS)[0]:
        if os.getppid() != parent:
            return b""
    return os.read(stdin, READ_SIZE)


def _write_all(fd: int, data: bytes) -> None:
    while data:
        data = data[os.write(fd, data) :]
