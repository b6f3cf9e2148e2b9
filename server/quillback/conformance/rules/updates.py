"""session/update: every kind, as it came in all runs; these rules only watch."""

from collections.abc import Iterator
from datetime import datetime

from quillback.conformance.judge import list_of, twice
from quillback.conformance.rule import ADVISORY, MANDATORY, Verdict, verdict, watch
from quillback.conformance.shape import misfits
from quillback.conformance.text import short
from quillback.conformance.trace import SeenAnswer, SeenUpdate, Trace
from quillback.conformance.turning import OF_A_TURN
from quillback_protocol import acp
from quillback_protocol.acp.unions import TAGGED
from quillback_protocol.methods import METHODS

PAGE = "Prompt Turn"
KINDS = next(set(union.members) for union in TAGGED if union.union == acp.SessionUpdate)
PLAN = {"plan"}
GATED = {
    "notice": ("session", "notices"),
    "compaction_update": ("session", "compaction"),
    "compaction_summary_chunk": ("session", "compaction"),
    "plan_update": ("plan",),
    "plan_removed": ("plan",),
    "subagent_update": ("subagents",),
    "session_message": ("subagents",),
    "session_message_chunk": ("subagents",),
}
UPDATES = "updates"
OWN_RULES = {"initialize", "session/new", "session/load", "session/list"}


def _offered_by(trace: Trace, seen: SeenUpdate, path: tuple[str, ...]) -> bool:
    found: object = trace.wires[seen.run].offered
    for part in path:
        found = found.get(part) if isinstance(found, dict) else None
    return found is not None and found is not False


@watch("ACP-UPD-001", MANDATORY, PAGE, "the kind of an update is one of the schema's")
def kinds(trace: Trace) -> Verdict:
    wrong = [short(s.update) for s in trace.updates() if s.kind not in KINDS and s.kind not in GATED]
    return verdict(wrong, trace.updates(), UPDATES)


def _broken(trace: Trace, of: set[str]) -> Iterator[str]:
    for seen in trace.updates(*of):
        yield from (f"{seen.kind}: {text}" for text in misfits(seen.update, acp.SessionUpdate))


@watch("ACP-UPD-002", MANDATORY, "Schema", "updates have the shape of the schema")
def shapes(trace: Trace) -> Verdict:
    of = KINDS - PLAN
    return verdict(_broken(trace, of), trace.updates(*of), UPDATES)


@watch("ACP-UPD-003", MANDATORY, PAGE, "an update belongs to a session of the connection")
def belongs(trace: Trace) -> Verdict:
    new = [s for s in trace.seen() if isinstance(s, SeenAnswer) and s.asked and s.asked["method"] == "session/new"]
    ids = {r.get("sessionId") for s in new if isinstance(r := s.answer.get("result"), dict)}
    strange = [s for s in trace.updates() if not s.known and s.session not in ids]
    # what a prompt for a session that is not there brings is for ACP-PROMPT-009
    wrong = [f"{short(s.update)} for {s.session}" for s in strange if not s.turns]
    return verdict(wrong, trace.updates(), UPDATES)


@watch("ACP-UPD-004", MANDATORY, "Initialization", "updates that a client has to offer come to no others")
def gated(trace: Trace) -> Verdict:
    wrong = [short(s.update) for s in trace.updates(*GATED) if not _offered_by(trace, s, GATED[str(s.kind)])]
    return verdict(wrong, trace.updates(), UPDATES)


@watch("ACP-UPD-005", MANDATORY, "Agent Plan", "the entries of a plan have content, priority and status of the schema")
def plans(trace: Trace) -> Verdict:
    return verdict(_broken(trace, PLAN), trace.updates(*PLAN), "plans")


@watch("ACP-UPD-006", ADVISORY, PAGE, "chunks of two messages do not come in turns")
def one_after_another(trace: Trace) -> Verdict:
    done: dict[tuple[int, str, object], set[str]] = {}
    last: dict[tuple[int, str, object], str] = {}
    wrong, seen_ids = [], False
    for seen in trace.updates("agent_message_chunk", "agent_thought_chunk"):
        key, message = (seen.run, seen.session, seen.kind), seen.update.get("messageId")
        if not isinstance(message, str) or seen.replay:
            continue
        seen_ids = True
        if message in done.get(key, ()):
            wrong.append(f"the message {message} goes on after another")
        if last.get(key, message) != message:
            done.setdefault(key, set()).add(last[key])
        last[key] = message
    return verdict(wrong, seen_ids, "messageId")


@watch("ACP-UPD-007", ADVISORY, PAGE, "an agent that gives its messages ids gives them to all chunks")
def all_or_none(trace: Trace) -> Verdict:
    chunks = trace.updates("agent_message_chunk", "agent_thought_chunk")
    with_id = [s for s in chunks if s.update.get("messageId") is not None]
    without = [s for s in chunks if s.update.get("messageId") is None]
    return verdict((short(s.update) for s in without if with_id), with_id, "messageId")


@watch("ACP-UPD-008", MANDATORY, "Schema", "usage_update has numbers that are not negative")
def usage(trace: Trace) -> Verdict:
    found = trace.updates("usage_update")
    wrong = [short(s.update) for s in found if any(_below_zero(s.update.get(field)) for field in ("used", "size"))]
    return verdict(wrong, found, "usage_update")


def _below_zero(value: object) -> bool:
    return isinstance(value, int | float) and value < 0


@watch("ACP-UPD-009", ADVISORY, "Slash Commands", "names of commands have no slash and no space, and are unique")
def commands(trace: Trace) -> Verdict:
    found = trace.updates("available_commands_update")
    wrong = []
    for seen in found:
        names = [command.get("name") for command in list_of(seen.update.get("availableCommands"))]
        wrong += [f"the command {short(name)}" for name in names if not _is_name(name)]
        wrong += [f"the command {name} is there twice" for name in twice(names)]
    return verdict(wrong, found, "available_commands_update")


def _is_name(name: object) -> bool:
    return isinstance(name, str) and bool(name) and not name.startswith("/") and not any(c.isspace() for c in name)


@watch("ACP-UPD-010", ADVISORY, "Session List", "updatedAt is a time as ISO 8601 has it")
def times(trace: Trace) -> Verdict:
    told = [s.update.get("updatedAt") for s in trace.updates("session_info_update")]
    results = [s.answer.get("result") for s in trace.answers("session/list")]
    listed = [one for result in results if isinstance(result, dict) for one in list_of(result.get("sessions"))]
    found = [time for time in [*told, *(one.get("updatedAt") for one in listed)] if time is not None]
    return verdict((short(time) for time in found if not _is_time(time)), found, "updatedAt")


def _is_time(value: object) -> bool:
    try:
        datetime.fromisoformat(str(value))
    except ValueError:
        return False
    return isinstance(value, str)


@watch("ACP-UPD-011", MANDATORY, "Schema", "answers to other requests have the shape of the schema")
def results(trace: Trace) -> Verdict:
    wrong, seen = [], 0
    for answer in trace.answers():
        method = answer.asked.get("method") if answer.asked else None
        if method in METHODS and method not in OWN_RULES and "result" in answer.answer and not answer.hostile:
            seen += 1
            result = {} if answer.answer["result"] is None else answer.answer["result"]
            wrong += [f"{method}: {text}" for text in misfits(result, METHODS[str(method)].result)]
    return verdict(wrong, seen, "answers")


@watch("ACP-UPD-012", ADVISORY, PAGE, "messages, thoughts, calls and plans come in a turn or a replay only")
def in_a_turn(trace: Trace) -> Verdict:
    """Many clients have no place for them elsewhere. What comes after a turn is for ACP-PROMPT-015."""
    idle = [s for s in trace.updates(*OF_A_TURN) if s.known and not s.turns and not s.replay and not s.stopped]
    return verdict((short(s.update) for s in idle), trace.updates(*OF_A_TURN), UPDATES)
