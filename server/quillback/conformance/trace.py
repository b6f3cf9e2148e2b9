"""All that came from the agent, with what was going on when it came; for rules that only watch."""

import json
from collections.abc import Iterator, Sequence

from attrs import define, field, frozen

from quillback.conformance.wire import Entry, Wire
from quillback_protocol.jsonrpc import JsonObject


@frozen
class SeenUpdate:
    """An update. `turns`: how many prompts of its session were unanswered; `replay`: a load or resume was.

    `known`: its session had been made or named before. `stopped` is the last stop reason of the session. `run` is the
    number of the run of the agent.
    """

    session: str
    update: JsonObject
    turns: int
    replay: bool
    known: bool
    stopped: object
    run: int

    @property
    def kind(self) -> object:
        return self.update.get("sessionUpdate")


@frozen
class SeenRequest:
    """A request of the agent, with the tool calls that its session had announced."""

    method: str
    params: object
    turns: int
    calls: frozenset[str]
    offered: JsonObject
    run: int


@frozen
class SeenAnswer:
    """An answer of the agent. `asked` is the request, None when there was none that is unanswered."""

    answer: JsonObject
    asked: JsonObject | None
    hostile: bool
    offered: JsonObject


Seen = SeenUpdate | SeenRequest | SeenAnswer


@define
class Trace:
    wires: Sequence[Wire]
    _seen: list[Seen] | None = None

    def lines(self) -> Iterator[Entry]:
        for wire in self.wires:
            yield from (entry for entry in wire.log if entry.direction == "<-")

    def messages(self) -> Iterator[JsonObject]:
        for entry in self.lines():
            if isinstance(entry.message, dict):
                yield entry.message

    def seen(self) -> list[Seen]:
        if self._seen is None:
            self._seen = [seen for number, wire in enumerate(self.wires) for seen in _Walk(wire, number).all()]
        return self._seen

    def updates(self, *kinds: str) -> list[SeenUpdate]:
        return [s for s in self.seen() if isinstance(s, SeenUpdate) and (not kinds or s.kind in kinds)]

    def requests(self, prefix: str = "") -> list[SeenRequest]:
        return [s for s in self.seen() if isinstance(s, SeenRequest) and s.method.startswith(prefix)]

    def answers(self, method: str = "") -> list[SeenAnswer]:
        found = [s for s in self.seen() if isinstance(s, SeenAnswer)]
        return [s for s in found if not method or (s.asked is not None and s.asked.get("method") == method)]


@define
class _Walk:
    wire: Wire
    number: int
    _asked: dict[str, Entry] = field(factory=dict)
    _turns: dict[str, int] = field(factory=dict)
    _replays: dict[str, int] = field(factory=dict)
    _known: set[str] = field(factory=set)
    _stopped: dict[str, object] = field(factory=dict)
    _calls: dict[str, set[str]] = field(factory=dict)

    def all(self) -> Iterator[Seen]:
        for entry in self.wire.log:
            message = entry.message
            if not isinstance(message, dict):
                continue
            if entry.direction == "->":
                self._sent(entry, message)
            elif "method" not in message:
                yield self._answer(message)
            elif "id" in message:
                yield self._request(message)
            elif message["method"] == "session/update" and (seen := self._update(message)):
                yield seen

    def _sent(self, entry: Entry, message: JsonObject) -> None:
        if "method" not in message or "id" not in message:
            return
        self._asked[_key(message["id"])] = entry
        session = _session(message)
        if message["method"] == "session/prompt":
            self._turns[session] = self._turns.get(session, 0) + 1
        if message["method"] in ("session/load", "session/resume"):
            self._known.add(session)
            self._replays[session] = self._replays.get(session, 0) + 1

    def _answer(self, message: JsonObject) -> SeenAnswer:
        entry = self._asked.pop(_key(message.get("id")), None)
        asked = entry.message if entry and isinstance(entry.message, dict) else None
        result = message.get("result")
        result = result if isinstance(result, dict) else {}
        if asked:
            session = _session(asked)
            match asked["method"]:
                case "session/new":
                    self._known.add(str(result.get("sessionId")))
                case "session/load" | "session/resume":
                    self._replays[session] -= 1
                case "session/prompt":
                    self._turns[session] -= 1
                    self._stopped[session] = result.get("stopReason")
        return SeenAnswer(message, asked, entry.hostile if entry else False, self.wire.offered)

    def _request(self, message: JsonObject) -> SeenRequest:
        session = _session(message)
        turns, calls = self._turns.get(session, 0), frozenset(self._calls.get(session, ()))
        return SeenRequest(str(message["method"]), message.get("params"), turns, calls, self.wire.offered, self.number)

    def _update(self, message: JsonObject) -> SeenUpdate | None:
        match message.get("params"):
            case {"sessionId": str(session), "update": dict(update)}:
                turns, replay = self._turns.get(session, 0), bool(self._replays.get(session))
                known, stopped = session in self._known, self._stopped.get(session)
                seen = SeenUpdate(session, update, turns, replay, known, stopped, self.number)
                if update.get("sessionUpdate") == "tool_call":
                    self._calls.setdefault(session, set()).add(str(update.get("toolCallId")))
                return seen
        return None


def _key(request_id: object) -> str:
    return json.dumps(request_id)


def _session(message: JsonObject) -> str:
    params = message.get("params")
    session = params.get("sessionId") if isinstance(params, dict) else None
    return session if isinstance(session, str) else ""
