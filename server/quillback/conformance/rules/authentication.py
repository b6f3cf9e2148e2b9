"""Logging in."""

from quillback.conformance.judge import list_of, not_declared, twice, with_code
from quillback.conformance.lab import Lab
from quillback.conformance.rule import ADVISORY, MANDATORY, Failed, Hindrance, NotRun, Passed, Verdict, rule, watch
from quillback.conformance.session import why_refused
from quillback.conformance.text import short
from quillback.conformance.trace import Trace
from quillback_protocol.jsonrpc import INVALID_PARAMS, METHOD_NOT_FOUND, JsonObject

PAGE = "Authentication"


async def _methods(lab: Lab) -> list[JsonObject]:
    return list_of((await lab.shared()).initialized.get("authMethods"))


@rule("ACP-AUTH-001", MANDATORY, PAGE, "methods of type terminal are for clients that declare auth.terminal only")
async def no_terminal(lab: Lab) -> Verdict:
    wrong = [method for method in await _methods(lab) if method.get("type") == "terminal"]
    return Failed(f"authMethods has {short(wrong[0])}") if wrong else Passed()


@rule("ACP-AUTH-002", MANDATORY, PAGE, "the ids of authMethods are unique")
async def unique(lab: Lab) -> Verdict:
    found = twice([method.get("id") for method in await _methods(lab)])
    return Failed(f"the id {found[0]} is there twice") if found else Passed()


@rule("ACP-AUTH-003", ADVISORY, PAGE, "authenticate with an unknown method is answered with -32602 or -32601")
async def unknown_method(lab: Lab) -> Verdict:
    if not await _methods(lab):
        return not_declared("authMethods")
    run = await lab.shared()
    answer = await run.ask("authenticate", {"methodId": "quillback-check-no-such-method"}, hostile=True)
    return with_code(answer, INVALID_PARAMS, METHOD_NOT_FOUND)


@watch("ACP-AUTH-004", ADVISORY, PAGE, "an agent that asks to log in (-32000) has told a method for it in authMethods")
def a_way_in(trace: Trace) -> Verdict:
    asked = [s.answer for s in trace.answers() if why_refused(s.answer) is Hindrance.NEEDS_AUTHENTICATION]
    if not asked:
        return NotRun(Hindrance.NOTHING_SEEN, "the agent never asked to log in")
    answers = trace.answers("initialize")
    told = [s for s in answers if isinstance(r := s.answer.get("result"), dict) and r.get("authMethods")]
    return Passed() if told else Failed(f"{short(asked[0]['error'])}, and no authMethods")
