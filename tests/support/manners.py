"""What ACP demands of an agent's side of a conversation, judged from the raw log of it."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

TURN_ONLY = {
    "agent_message_chunk",
    "agent_thought_chunk",
    "user_message_chunk",
    "tool_call",
    "tool_call_update",
    "plan",
}
FINAL = {"completed", "failed"}
ORDER = {"pending": 0, "in_progress": 1, "completed": 2, "failed": 2}
GATES = {
    "fs/read_text_file": ("fs", "readTextFile"),
    "fs/write_text_file": ("fs", "writeTextFile"),
    "terminal/": ("terminal",),
    "elicitation/": ("elicitation",),
}
Json = dict[str, Any]


def breaches(log: Sequence[tuple[str, object]], capabilities: Json) -> list[str]:
    """Each breach in words; empty for an agent that behaved."""
    return list(dict.fromkeys(_Judge(capabilities).judge(log)))


class _Judge:
    def __init__(self, capabilities: Json) -> None:
        self._capabilities = capabilities
        self._asked: dict[str, Json] = {}
        self._running: dict[str, int] = {}
        self._loading: set[str] = set()
        self._known: set[str] = set()
        self._calls: dict[tuple[str, str], str] = {}

    def judge(self, log: Sequence[tuple[str, object]]) -> Iterator[str]:
        for direction, message in log:
            if direction == "->":
                self._sent(message)
            elif not isinstance(message, dict):
                yield f"not a JSON-RPC line: {message!r}"
            else:
                yield from self._received(message)

    def _sent(self, message: object) -> None:
        if not isinstance(message, dict) or "method" not in message or "id" not in message:
            return
        self._asked[json.dumps(message["id"])] = message
        session = (message.get("params") or {}).get("sessionId", "")
        if message["method"] == "session/prompt":
            self._running[session] = self._running.get(session, 0) + 1
        if message["method"] in ("session/load", "session/resume"):
            self._known.add(session)
            self._loading.add(session)

    def _received(self, message: Json) -> Iterator[str]:
        if message.get("jsonrpc") != "2.0":
            yield "jsonrpc is not 2.0"
        if "method" not in message:
            yield from self._answer(message)
        elif "id" in message:
            yield from self._gated(message["method"])
        elif message["method"] == "session/update":
            yield from self._update(message["params"]["sessionId"], message["params"]["update"])

    def _answer(self, message: Json) -> Iterator[str]:
        if ("result" in message) == ("error" in message):
            yield "an answer needs either a result or an error"
        asked = self._asked.pop(json.dumps(message.get("id")), None)
        if asked is None:
            return
        params = asked.get("params") or {}
        session = params.get("sessionId", "")
        match asked["method"]:
            case "session/new" | "session/fork":
                self._known.add((message.get("result") or {}).get("sessionId", ""))
            case "session/load" | "session/resume":
                self._loading.discard(session)
            case "session/prompt":
                self._running[session] -= 1
                if not self._running[session]:
                    open_calls = [c for (s, c), status in self._calls.items() if s == session and status not in FINAL]
                    yield from (f"call {c} was left {self._calls[session, c]}" for c in open_calls)

    def _gated(self, method: str) -> Iterator[str]:
        for prefix, path in GATES.items():
            if method.startswith(prefix):
                offered: Any = self._capabilities
                for key in path:
                    offered = offered.get(key) if isinstance(offered, dict) else None
                if not offered and offered != {}:
                    yield f"{method} was never offered"

    def _update(self, session: str, update: Json) -> Iterator[str]:
        kind = update["sessionUpdate"]
        if None in update.values():
            yield f"{kind} holds a null"
        if session not in self._known:
            yield f"{kind} before the session was answered"
        if kind in TURN_ONLY and not self._running.get(session) and session not in self._loading:
            yield f"{kind} outside a turn"
        if kind.endswith("_chunk") and not update.get("messageId"):
            yield f"{kind} without messageId"
        if kind.startswith("tool_call"):
            yield from self._call(session, update)

    def _call(self, session: str, update: Json) -> Iterator[str]:
        key = (session, update["toolCallId"])
        if update["sessionUpdate"] == "tool_call":
            if key in self._calls and session not in self._loading:
                yield f"call {key[1]} was reported twice"
            self._calls[key] = update.get("status", "pending")
        elif key not in self._calls:
            yield f"update of unknown call {key[1]}"
        elif "status" in update:
            before, after = self._calls[key], update["status"]
            if before in FINAL or ORDER[after] < ORDER[before]:
                yield f"status went from {before} to {after}"
            self._calls[key] = after
        for location in update.get("locations", []):
            if not location["path"].startswith("/"):
                yield f"relative location {location['path']}"
