"""Tool calls as they are reported; these rules only watch."""

from pathlib import PurePosixPath, PureWindowsPath

from quillback.conformance.judge import list_of
from quillback.conformance.rule import ADVISORY, MANDATORY, Verdict, verdict, watch
from quillback.conformance.text import short
from quillback.conformance.trace import SeenAnswer, SeenRequest, SeenUpdate, Trace

PAGE = "Tool Calls"
ENDED = {"completed", "failed"}
CALLS = ("tool_call", "tool_call_update")


def _key(seen: SeenUpdate) -> tuple[int, str, str]:
    return seen.run, seen.session, str(seen.update.get("toolCallId"))


def _live(trace: Trace) -> list[SeenUpdate]:
    """Those of turns: a replay tells the same calls again."""
    return [s for s in trace.updates(*CALLS) if not s.replay]


def _unannounced(trace: Trace, *, by_question: bool) -> list[str]:
    """Updates of calls that nothing had announced; `by_question`: a permission request counts as that."""
    known: set[tuple[int, str, str]] = set()
    wrong = []
    for seen in trace.seen():
        match seen:
            case SeenUpdate(kind="tool_call"):
                known.add(_key(seen))
            case SeenUpdate(kind="tool_call_update") if _key(seen) not in known:
                wrong.append(f"{short(seen.update)} for a call that was not announced")
            case SeenRequest(params={"sessionId": session, "toolCall": {"toolCallId": call}}) if by_question:
                known.add((seen.run, str(session), str(call)))
    return wrong


@watch("ACP-TOOL-001", MANDATORY, PAGE, "tool_call_update changes a call that is known, from tool_call or a question")
def announced(trace: Trace) -> Verdict:
    return verdict(_unannounced(trace, by_question=True), trace.updates(*CALLS), "tool calls")


@watch("ACP-TOOL-002", ADVISORY, PAGE, "a call that has ended does not go on")
def ends_once(trace: Trace) -> Verdict:
    last: dict[tuple[int, str, str], object] = {}
    wrong = []
    for seen in _live(trace):
        status = seen.update.get("status")
        if seen.kind == "tool_call":  # another call, if with an id that is used already
            last.pop(_key(seen), None)
        if last.get(_key(seen)) in ENDED and status not in (None, last[_key(seen)]):
            wrong.append(f"{_key(seen)[2]} went from {last[_key(seen)]} to {status}")
        last[_key(seen)] = status or last.get(_key(seen))
    return verdict(wrong, _live(trace), "tool calls")


@watch("ACP-TOOL-003", MANDATORY, PAGE, "the paths of locations are absolute")
def locations(trace: Trace) -> Verdict:
    places = [place for seen in trace.updates(*CALLS) for place in list_of(seen.update.get("locations"))]
    wrong = [short(place) for place in places if not _absolute(place.get("path"))]
    return verdict(wrong, places, "locations")


@watch("ACP-TOOL-004", ADVISORY, PAGE, "the lines of locations count from 1")
def lines(trace: Trace) -> Verdict:
    places = [place for seen in trace.updates(*CALLS) for place in list_of(seen.update.get("locations"))]
    numbered = [place for place in places if isinstance(place.get("line"), int)]
    return verdict((short(place) for place in numbered if place["line"] < 1), numbered, "locations with lines")


@watch("ACP-TOOL-005", MANDATORY, PAGE, "the paths of diffs are absolute")
def diffs(trace: Trace) -> Verdict:
    items = [item for seen in trace.updates(*CALLS) for item in list_of(seen.update.get("content"))]
    found = [item for item in items if item.get("type") == "diff"]
    wrong = [f"a diff of {short(item.get('path'))}" for item in found if not _absolute(item.get("path"))]
    return verdict(wrong, found, "diffs")


@watch("ACP-TOOL-006", ADVISORY, PAGE, "every call has completed or failed when its turn is answered")
def all_ended(trace: Trace) -> Verdict:
    status: dict[tuple[str, str], object] = {}
    wrong = []
    for seen in trace.seen():
        if isinstance(seen, SeenUpdate) and seen.kind in CALLS and not seen.replay:
            key = seen.session, str(seen.update.get("toolCallId"))
            status[key] = seen.update.get("status") or status.get(key)
        elif isinstance(seen, SeenAnswer) and seen.asked and seen.asked.get("method") == "session/prompt":
            session = seen.asked["params"].get("sessionId")
            left = [(call, state) for (of, call), state in status.items() if of == session and state not in ENDED]
            wrong += [f"{call} was left {state or 'pending'}" for call, state in left]
            status = {key: state for key, state in status.items() if key[0] != session}
    return verdict(wrong, _live(trace), "tool calls")


@watch("ACP-TOOL-007", ADVISORY, PAGE, "the id of a call is not used for another one of the session")
def unique(trace: Trace) -> Verdict:
    known: set[tuple[int, str, str]] = set()
    wrong = []
    for seen in _live(trace):
        if seen.kind == "tool_call":
            if _key(seen) in known:
                wrong.append(f"{short(seen.update)} again")
            known.add(_key(seen))
    return verdict(wrong, _live(trace), "tool calls")


@watch("ACP-TOOL-008", ADVISORY, PAGE, "a call has a title that says something")
def titles(trace: Trace) -> Verdict:
    calls = trace.updates("tool_call")
    wrong = [short(s.update) for s in calls if not str(s.update.get("title") or "").strip()]
    return verdict(wrong, calls, "tool calls")


@watch(
    "ACP-TOOL-009", ADVISORY, PAGE, "every call is announced by tool_call, whether permission is asked for it or not"
)
def announced_by_itself(trace: Trace) -> Verdict:
    return verdict(_unannounced(trace, by_question=False), trace.updates(*CALLS), "tool calls")


def _absolute(path: object) -> bool:
    return isinstance(path, str) and (PurePosixPath(path).is_absolute() or PureWindowsPath(path).is_absolute())
