"""Extensibility: methods with an underscore, `_meta`, fields of one's own, and null."""

from collections.abc import Iterator

from quillback.conformance.judge import accepted, not_declared, with_code
from quillback.conformance.lab import Lab
from quillback.conformance.rule import ADVISORY, MANDATORY, Failed, Passed, Verdict, rule, verdict, watch
from quillback.conformance.session import PING
from quillback.conformance.shape import Breach, breaches
from quillback.conformance.text import what_came
from quillback.conformance.trace import Trace
from quillback.conformance.turning import STOPS
from quillback_protocol import acp
from quillback_protocol.jsonrpc import METHOD_NOT_FOUND
from quillback_protocol.methods import METHODS

PAGE = "Extensibility"
META = {"traceparent": "00-80e1afed08e019fc1110464cfa66635c-7a085853722dc6d2-01", "quillback.dev/check": [1]}
# Fields of newer versions of the schema than the types of this package, or unstable in them.
NEWER = {"usage", "models", "_meta", "systemPrompt", "archived", "deleted"}
UNDECLARED = {
    "session/load": (("loadSession",), {"sessionId": "x", "cwd": "/", "mcpServers": []}),
    "session/list": (("sessionCapabilities", "list"), {}),
    "session/resume": (("sessionCapabilities", "resume"), {"sessionId": "x", "cwd": "/"}),
    "session/close": (("sessionCapabilities", "close"), {"sessionId": "x"}),
}


@rule("ACP-EXT-001", MANDATORY, PAGE, "a request with an underscore is answered, whether the agent knows it or not")
async def unknown(lab: Lab) -> Verdict:
    return Passed(what_came(await (await lab.shared()).ask(PING, {})))


@rule("ACP-EXT-002", ADVISORY, PAGE, "one that the agent does not know is answered with -32601")
async def unknown_code(lab: Lab) -> Verdict:
    return with_code(await (await lab.shared()).ask(PING, {}), METHOD_NOT_FOUND)


@rule("ACP-EXT-003", MANDATORY, PAGE, "session/new bears `_meta` and fields it does not know")
async def meta_in_new(lab: Lab) -> Verdict:
    run = await lab.shared()
    await run.session()
    params = {"cwd": str(lab.options.cwd), "mcpServers": [], "_meta": META, "futureField": {"a": 1}}
    return accepted(await run.ask("session/new", params))


@rule("ACP-EXT-004", MANDATORY, PAGE, "session/prompt bears `_meta`")
async def meta_in_prompt(lab: Lab) -> Verdict:
    first = (await lab.turns())[0]
    run = await lab.shared()
    turn = await run.finish(run.start(first.session, lab.options.prompts[0], _meta=META))
    return Passed() if turn.stop_reason in STOPS else Failed(what_came(turn.answer))


@rule("ACP-EXT-005", ADVISORY, "Error", "methods that the agent did not declare are answered with -32601")
async def undeclared(lab: Lab) -> Verdict:
    run = await lab.shared()
    asked = False
    for method, (path, params) in UNDECLARED.items():
        if await lab.capability(*path) is None:
            asked = True
            judged = with_code(await run.ask(method, params, hostile=True), METHOD_NOT_FOUND)
            if not isinstance(judged, Passed):
                return Failed(f"{method}: {judged.came}") if isinstance(judged, Failed) else judged
    return Passed() if asked else not_declared("less than all of these methods")


def _all(trace: Trace) -> Iterator[Breach]:
    """What is odd in all that the agent sent, besides misfits."""
    for update in trace.updates():
        yield from breaches(update.update, acp.SessionUpdate, str(update.kind))
    for request in trace.requests():
        if request.method in METHODS:
            yield from breaches(request.params, METHODS[request.method].params, request.method)
    for answer in trace.answers():
        method = str(answer.asked.get("method")) if answer.asked else ""
        if method in METHODS and isinstance(answer.answer.get("result"), dict):
            yield from breaches(answer.answer["result"], METHODS[method].result, method)


@watch("ACP-EXT-006", ADVISORY, PAGE, "fields of the agent's own are below `_meta`")
def own_fields(trace: Trace) -> Verdict:
    wrong = [b.path for b in _all(trace) if b.unknown and b.path.rpartition(".")[2] not in NEWER]
    wrong = [path for path in wrong if ".agentCapabilities." not in path]  # ACP-INIT-009
    return verdict(wrong, list(trace.messages()), "messages")


@watch("ACP-EXT-007", ADVISORY, "Schema", "what is absent is left out, and not null")
def no_nulls(trace: Trace) -> Verdict:
    """A title that is null in session_info_update clears it."""
    wrong = [f"{b.path} is null" for b in _all(trace) if b.null and not b.path.startswith("session_info_update.")]
    return verdict(wrong, list(trace.messages()), "messages")


@watch("ACP-EXT-008", ADVISORY, "Schema", "results without content are `{}`, and not null")
def empty_results(trace: Trace) -> Verdict:
    found = [s for s in trace.answers() if "result" in s.answer and s.asked and s.asked.get("method") in METHODS]
    wrong = [str(s.asked["method"]) for s in found if s.answer["result"] is None and s.asked]
    return verdict(wrong, found, "results")
