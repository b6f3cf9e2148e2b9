"""JSON-RPC 2.0: requests, answers, notifications and their ids."""

from collections.abc import Iterator

from quillback.conformance.judge import list_of, refused, survives, with_code
from quillback.conformance.lab import Lab
from quillback.conformance.rule import ADVISORY, MANDATORY, Failed, Passed, Verdict, rule, verdict, watch
from quillback.conformance.session import PING, AgentRun
from quillback.conformance.text import short
from quillback.conformance.trace import Trace
from quillback_protocol.jsonrpc import INVALID_PARAMS, METHOD_NOT_FOUND, JsonObject

PAGE = "Overview"
NO_METHOD = "quillback_check/no_such_method"


async def _echoes(lab: Lab, request_id: object) -> Verdict:
    run = await lab.shared()
    start = len(run.wire.log)
    used = run.wire.request(PING, {}, request_id)
    came = await run.wire.until(lambda: next(_answers(run, start), None), run.timeout)
    if came is None:
        return Failed(f"no answer within {run.timeout:g} s")
    return Passed() if run.wire.answers(used) else Failed(short(came))


def _answers(run: AgentRun, start: int) -> Iterator[JsonObject]:
    for entry in run.wire.log[start:]:
        if entry.direction == "<-" and isinstance(entry.message, dict) and "method" not in entry.message:
            yield entry.message


@rule("ACP-RPC-001", MANDATORY, PAGE, "an id that is text comes back as it was")
async def text_id(lab: Lab) -> Verdict:
    return await _echoes(lab, "quillback-check-1")


@rule("ACP-RPC-002", MANDATORY, PAGE, "the id 0 comes back as it was")
async def zero_id(lab: Lab) -> Verdict:
    return await _echoes(lab, 0)


@rule("ACP-RPC-003", MANDATORY, PAGE, "a number with 53 bits comes back as id as it was")
async def large_id(lab: Lab) -> Verdict:
    return await _echoes(lab, 2**53 - 1)


@rule("ACP-RPC-004", ADVISORY, PAGE, "an empty text comes back as id as it was")
async def empty_id(lab: Lab) -> Verdict:
    return await _echoes(lab, "")


@rule("ACP-RPC-005", MANDATORY, PAGE, "an id with letters of all kinds comes back as it was")
async def unicode_id(lab: Lab) -> Verdict:
    return await _echoes(lab, 'ü 日本 😀 \u2028 "\\" \t')


@rule("ACP-RPC-006", MANDATORY, PAGE, "a method that does not exist is answered with an error")
async def unknown_method(lab: Lab) -> Verdict:
    return refused(await (await lab.shared()).ask(NO_METHOD, {}))


@rule("ACP-RPC-007", ADVISORY, "Error", "the error for a method that does not exist is -32601")
async def unknown_method_code(lab: Lab) -> Verdict:
    return with_code(await (await lab.shared()).ask(NO_METHOD, {}), METHOD_NOT_FOUND)


@rule("ACP-RPC-008", ADVISORY, "Error", "params without a required field are answered with -32602")
async def missing_field(lab: Lab) -> Verdict:
    return with_code(await (await lab.shared()).ask("session/new", {"mcpServers": []}, hostile=True), INVALID_PARAMS)


@rule("ACP-RPC-009", ADVISORY, "Error", "params with a field of the wrong type are answered with -32602")
async def wrong_type(lab: Lab) -> Verdict:
    params = {"cwd": 5, "mcpServers": "none"}
    return with_code(await (await lab.shared()).ask("session/new", params, hostile=True), INVALID_PARAMS)


@rule("ACP-RPC-010", MANDATORY, PAGE, "a notification is not answered, known or not")
async def no_answer(lab: Lab) -> Verdict:
    run = await lab.shared()
    start = len(run.wire.log)
    for method in ("quillback_check/notification", "_quillback.dev/check", "$/quillback_check"):
        run.wire.notify(method, {})
    came = await run.lives()
    await run.settle()
    answers = [e.message for e in run.wire.log[start:] if isinstance(e.message, dict) and _to_nothing(e.message)]
    if came:
        return Failed(f"after unknown notifications: {came}")
    return Failed(short(answers[0])) if answers else Passed()


def _to_nothing(message: JsonObject) -> bool:
    return "method" not in message and message.get("id") is None


@rule("ACP-RPC-011", MANDATORY, PAGE, "requests that come at once are all answered, each with its id")
async def at_once(lab: Lab) -> Verdict:
    run = await lab.shared()
    used = [run.wire.request(PING, {"n": n}) for n in range(20)]
    for one in used:
        await run.wire.answer(one, run.timeout)
    return Passed()


@rule("ACP-RPC-012", MANDATORY, PAGE, "an answer to nothing is borne")
async def stray_answer(lab: Lab) -> Verdict:
    run = await lab.shared()
    run.wire.send({"jsonrpc": "2.0", "id": "quillback-check-stray", "result": {}}, hostile=True)
    return await survives(run, "an answer to nothing")


@watch("ACP-RPC-013", MANDATORY, PAGE, "an answer has either a result or an error")
def either_or(trace: Trace) -> Verdict:
    answers = [s.answer for s in trace.answers()]
    wrong = [short(answer) for answer in answers if ("result" in answer) == ("error" in answer)]
    return verdict(wrong, answers, "answers")


@watch("ACP-RPC-014", MANDATORY, PAGE, "an answer belongs to a request that is unanswered")
def belongs(trace: Trace) -> Verdict:
    """Errors with the id null are about lines that could not be read."""
    answers = [s for s in trace.answers() if s.answer.get("id") is not None or "result" in s.answer]
    return verdict((short(s.answer) for s in answers if s.asked is None), answers, "answers")


@watch("ACP-RPC-015", MANDATORY, "Schema", "an error has an integer code and a message")
def errors(trace: Trace) -> Verdict:
    found = [s.answer["error"] for s in trace.answers() if s.answer.get("error") is not None]
    wrong = [short(e) for e in found if not _is_error(e)]
    return verdict(wrong, found, "errors")


def _is_error(error: object) -> bool:
    return isinstance(error, dict) and type(error.get("code")) is int and isinstance(error.get("message"), str)


@watch("ACP-RPC-016", ADVISORY, "Error", "the message of an error is one line")
def one_line(trace: Trace) -> Verdict:
    found = [e for s in trace.answers() for e in list_of([s.answer.get("error")])]
    return verdict((short(e) for e in found if "\n" in str(e.get("message"))), found, "errors")


@watch("ACP-RPC-017", MANDATORY, PAGE, "requests of the agent have ids, each its own while it is unanswered")
def own_ids(trace: Trace) -> Verdict:
    wrong, seen = [], 0
    for wire in trace.wires:
        open_ids: list[object] = []
        for entry in wire.log:
            message = entry.message
            if not isinstance(message, dict) or "id" not in message:
                continue
            if entry.direction == "<-" and "method" in message:
                seen += 1
                if message["id"] in open_ids or message["id"] is None:
                    wrong.append(short(message))
                open_ids.append(message["id"])
            elif entry.direction == "->" and "method" not in message and message["id"] in open_ids:
                open_ids.remove(message["id"])
    return verdict(wrong, seen, "requests")
