"""What the agent asks of the client: only what was offered, and well formed."""

from pathlib import PurePosixPath, PureWindowsPath

from quillback.conformance.host import PERMISSION, offered
from quillback.conformance.judge import list_of
from quillback.conformance.rule import ADVISORY, CAPABILITY, MANDATORY, Verdict, verdict, watch
from quillback.conformance.shape import misfits
from quillback.conformance.text import short
from quillback.conformance.trace import SeenRequest, Trace
from quillback_protocol.methods import METHODS, Direction

TURNS = "turns"


def _not_offered(trace: Trace, prefix: str) -> Verdict:
    wrong = [f"{s.method} {short(s.params)}" for s in trace.requests(prefix) if not offered(s.method, s.offered)]
    return verdict(wrong, trace.answers("session/prompt"), TURNS)


@watch("ACP-CLIENT-001", MANDATORY, "File System", "fs/* is called only when the client offers it")
def files(trace: Trace) -> Verdict:
    return _not_offered(trace, "fs/")


@watch("ACP-CLIENT-002", MANDATORY, "Terminals", "terminal/* is called only when the client offers it")
def terminals(trace: Trace) -> Verdict:
    return _not_offered(trace, "terminal/")


@watch("ACP-CLIENT-003", MANDATORY, "Elicitation", "elicitation/* is called only when the client offers it")
def elicitations(trace: Trace) -> Verdict:
    return _not_offered(trace, "elicitation/")


@watch("ACP-CLIENT-004", ADVISORY, "Extensibility", "methods that ACP does not have begin with an underscore")
def own_methods(trace: Trace) -> Verdict:
    known = {name for name, method in METHODS.items() if method.direction is not Direction.TO_AGENT}
    names = [str(message["method"]) for message in trace.messages() if "method" in message]
    wrong = [name for name in names if name not in known and not name.startswith(("_", "$/"))]
    return verdict(wrong, names, "requests and notifications")


def _of_client(trace: Trace) -> list[SeenRequest]:
    return [s for s in trace.requests() if s.method in METHODS and s.method != PERMISSION]


@watch("ACP-CLIENT-005", CAPABILITY, "Schema", "requests to the client have the shape of the schema")
def shapes(trace: Trace) -> Verdict:
    found = _of_client(trace)
    wrong = [f"{s.method}: {text}" for s in found for text in misfits(s.params, METHODS[s.method].params)]
    return verdict(wrong, found, "requests to the client")


@watch("ACP-CLIENT-006", CAPABILITY, "File System", "paths in requests to the client are absolute")
def paths(trace: Trace) -> Verdict:
    found = [
        (s, s.params[key])
        for s in _of_client(trace)
        for key in ("path", "cwd")
        if isinstance(s.params, dict) and s.params.get(key)
    ]
    wrong = [f"{s.method} {short(path)}" for s, path in found if not _absolute(path)]
    return verdict(wrong, found, "paths")


@watch("ACP-CLIENT-007", CAPABILITY, "Terminals", "every terminal that is created is released")
def released(trace: Trace) -> Verdict:
    made = released_ones = 0
    for seen in trace.requests("terminal/"):
        made += seen.method == "terminal/create" and offered(seen.method, seen.offered)
        released_ones += seen.method == "terminal/release"
    wrong = [f"{made - released_ones} of {made} were not"] if released_ones < made else []
    return verdict(wrong, made, "terminals")


@watch("ACP-CLIENT-008", MANDATORY, "Terminals", "a terminal in a tool call is one that the client has made")
def shown_terminals(trace: Trace) -> Verdict:
    made = {
        str(result["terminalId"])
        for wire in trace.wires
        for entry in wire.log
        if entry.direction == "->" and isinstance(entry.message, dict)
        if isinstance(result := entry.message.get("result"), dict) and "terminalId" in result
    }
    items = [i for s in trace.updates("tool_call", "tool_call_update") for i in list_of(s.update.get("content"))]
    shown = [str(item.get("terminalId")) for item in items if item.get("type") == "terminal"]
    return verdict((f"the terminal {name}" for name in shown if name not in made), shown, "terminals")


def _absolute(path: object) -> bool:
    return isinstance(path, str) and (PurePosixPath(path).is_absolute() or PureWindowsPath(path).is_absolute())
