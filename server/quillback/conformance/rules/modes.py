"""Session modes, for agents that have some."""

from quillback.conformance.judge import UNKNOWN_SESSION, accepted, list_of, not_declared, refused, twice, with_code
from quillback.conformance.lab import Lab
from quillback.conformance.rule import ADVISORY, CAPABILITY, Failed, NotRun, Passed, Verdict, rule, verdict, watch
from quillback.conformance.text import short
from quillback.conformance.trace import Trace
from quillback_protocol.jsonrpc import INVALID_PARAMS, RESOURCE_NOT_FOUND, JsonObject

PAGE = "Session Modes"


async def _modes(lab: Lab) -> tuple[str, JsonObject] | NotRun:
    """A new session and its modes."""
    new = await (await lab.shared()).new()
    modes = new.get("modes")
    return (str(new["sessionId"]), modes) if isinstance(modes, dict) else not_declared("modes in session/new")


def _ids(modes: JsonObject) -> list[object]:
    return [mode.get("id") for mode in list_of(modes.get("availableModes"))]


@rule("ACP-MODE-001", CAPABILITY, PAGE, "currentModeId is one of availableModes, whose ids are unique")
async def current(lab: Lab) -> Verdict:
    found = await _modes(lab)
    if isinstance(found, NotRun):
        return found
    _, modes = found
    good = modes.get("currentModeId") in _ids(modes) and not twice(_ids(modes))
    return Passed() if good else Failed(short(modes))


@rule("ACP-MODE-002", CAPABILITY, PAGE, "session/set_mode takes every mode that is available")
async def set_mode(lab: Lab) -> Verdict:
    found = await _modes(lab)
    if isinstance(found, NotRun):
        return found
    session, modes = found
    run = await lab.shared()
    for mode in [*_ids(modes), modes.get("currentModeId")]:
        judged = accepted(await run.ask("session/set_mode", {"sessionId": session, "modeId": mode}))
        if not isinstance(judged, Passed):
            return Failed(f"for {mode}: {judged.came}") if isinstance(judged, Failed) else judged
    return Passed()


async def _to_nowhere(lab: Lab) -> JsonObject | NotRun:
    found = await _modes(lab)
    if isinstance(found, NotRun):
        return found
    params = {"sessionId": found[0], "modeId": "quillback-check-no-such-mode"}
    return await (await lab.shared()).ask("session/set_mode", params, hostile=True)


@rule("ACP-MODE-003", CAPABILITY, PAGE, "a mode that does not exist is refused")
async def unknown_mode(lab: Lab) -> Verdict:
    answer = await _to_nowhere(lab)
    return answer if isinstance(answer, NotRun) else refused(answer)


@rule("ACP-MODE-004", ADVISORY, "Error", "the error for a mode that does not exist is -32602")
async def unknown_mode_code(lab: Lab) -> Verdict:
    answer = await _to_nowhere(lab)
    return answer if isinstance(answer, NotRun) else with_code(answer, INVALID_PARAMS)


@rule("ACP-MODE-005", ADVISORY, "Error", "session/set_mode for a session that does not exist is answered with -32002")
async def unknown_session(lab: Lab) -> Verdict:
    found = await _modes(lab)
    if isinstance(found, NotRun):
        return found
    params = {"sessionId": UNKNOWN_SESSION, "modeId": found[1].get("currentModeId")}
    return with_code(await (await lab.shared()).ask("session/set_mode", params, hostile=True), RESOURCE_NOT_FOUND)


@watch("ACP-MODE-006", CAPABILITY, PAGE, "current_mode_update names a mode that is available")
def updates_known(trace: Trace) -> Verdict:
    known: set[object] = set()
    for answer in [*trace.answers("session/new"), *trace.answers("session/load"), *trace.answers("session/resume")]:
        result = answer.answer.get("result")
        modes = result.get("modes") if isinstance(result, dict) else None
        known.update(_ids(modes) if isinstance(modes, dict) else ())
    seen = trace.updates("current_mode_update")
    wrong = [short(s.update) for s in seen if s.update.get("currentModeId") not in known]
    return verdict(wrong, seen, "current_mode_update")
