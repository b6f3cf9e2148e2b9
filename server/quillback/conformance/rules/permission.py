"""session/request_permission: what is asked, and what an answer brings about."""

import asyncio

from quillback.conformance.host import PERMISSION
from quillback.conformance.judge import list_of, twice
from quillback.conformance.lab import Lab
from quillback.conformance.rule import (
    ADVISORY,
    MANDATORY,
    Failed,
    Hindrance,
    NotRun,
    Passed,
    Verdict,
    rule,
    verdict,
    watch,
)
from quillback.conformance.session import AgentRun, Blocked, Running
from quillback.conformance.shape import misfits
from quillback.conformance.text import short, what_came
from quillback.conformance.trace import Trace
from quillback_protocol import acp
from quillback_protocol.jsonrpc import JsonObject

PAGE = "Tool Calls"
NONE = "permission requests"


def _asked(trace: Trace) -> list[JsonObject]:
    return [s.params for s in trace.requests(PERMISSION) if isinstance(s.params, dict)]


@watch("ACP-PERM-001", MANDATORY, PAGE, "a permission request has the shape of the schema")
def shape(trace: Trace) -> Verdict:
    wrong = [text for s in trace.requests(PERMISSION) for text in misfits(s.params, acp.RequestPermissionRequest)]
    return verdict(wrong, trace.requests(PERMISSION), NONE)


@watch("ACP-PERM-002", MANDATORY, PAGE, "a permission request has options, each with an id of its own")
def options(trace: Trace) -> Verdict:
    wrong = []
    for params in _asked(trace):
        ids = [option.get("optionId") for option in list_of(params.get("options"))]
        wrong += [f"the id {found} is there twice" for found in twice(ids)] if ids else ["there are no options"]
    return verdict(wrong, _asked(trace), NONE)


@watch("ACP-PERM-003", ADVISORY, PAGE, "a permission request can be allowed and rejected")
def both_ways(trace: Trace) -> Verdict:
    wrong = []
    for params in _asked(trace):
        kinds = {str(option.get("kind")).split("_")[0] for option in list_of(params.get("options"))}
        if not {"allow", "reject"} <= kinds:
            wrong.append(f"the options are {short(params.get('options'))}")
    return verdict(wrong, _asked(trace), NONE)


@watch("ACP-PERM-004", ADVISORY, PAGE, "the call that permission is asked for was announced, or its title comes along")
def says_what(trace: Trace) -> Verdict:
    wrong = []
    for seen in trace.requests(PERMISSION):
        call = seen.params.get("toolCall") if isinstance(seen.params, dict) else None
        call = call if isinstance(call, dict) else {}
        if not call.get("title") and str(call.get("toolCallId")) not in seen.calls:
            wrong.append(short(call))
    return verdict(wrong, trace.requests(PERMISSION), NONE)


@watch("ACP-PERM-005", MANDATORY, PAGE, "permission is asked for a session with a running turn")
def in_a_turn(trace: Trace) -> Verdict:
    wrong = [short(s.params) for s in trace.requests(PERMISSION) if not s.turns]
    return verdict(wrong, trace.requests(PERMISSION), NONE)


async def _held(lab: Lab) -> tuple[AgentRun, Running]:
    """A turn that waits for permission. Raises Blocked."""
    prompt = await lab.asking_prompt()
    run = await lab.shared()
    run.host.policy = "hold"
    try:
        running = run.start(await run.session(), prompt)
        held = await run.wire.until(lambda: run.host.held or run.wire.answers(running.id) or None, run.timeout)
    finally:
        run.host.policy = lab.options.policy
    if not run.host.held:
        came = "answered" if held else "did nothing"
        raise Blocked(f"this time the agent did not ask for permission, but {came}", Hindrance.NOTHING_SEEN)
    return run, running


async def _cancelled(lab: Lab, *, answer: bool) -> Verdict:
    run, running = await _held(lab)
    run.wire.notify("session/cancel", {"sessionId": running.session})
    run.host.release(answer=answer)
    turn = await run.finish(running)
    await run.settle()
    return Passed() if turn.stop_reason == "cancelled" else Failed(what_came(turn.answer))


@rule("ACP-PERM-006", MANDATORY, PAGE, "a turn that is cancelled while permission is asked for ends with `cancelled`")
async def cancelled(lab: Lab) -> Verdict:
    return await _cancelled(lab, answer=True)


@rule("ACP-PERM-007", ADVISORY, PAGE, "such a turn ends even when the client leaves the question open")
async def left_open(lab: Lab) -> Verdict:
    return await _cancelled(lab, answer=False)


async def _answered(lab: Lab, answer: JsonObject) -> tuple[AgentRun, Running, str]:
    run, running = await _held(lab)
    question, *others = run.host.held
    run.host.held = []
    for request in [question, *others]:
        run.wire.send({"jsonrpc": "2.0", "id": request["id"], **answer})
    call = question["params"].get("toolCall", {}).get("toolCallId")
    return run, running, str(call)


@rule("ACP-PERM-008", ADVISORY, PAGE, "a call that was rejected does not complete")
async def rejected(lab: Lab) -> Verdict:
    await lab.asking_prompt()
    run = await lab.shared()
    before, run.host.policy = run.host.policy, "reject"
    try:
        turn = await run.finish(run.start(await run.session(), await lab.asking_prompt()))
    finally:
        run.host.policy = before
    asked = _questions(run, turn.start, turn.end)
    if not asked:
        return NotRun(Hindrance.NOTHING_SEEN, "this time the agent did not ask for permission")
    completed = [u for u in turn.updates if u.get("status") == "completed" and u.get("toolCallId") in asked]
    return Failed(f"after a rejection came {short(completed[0])}") if completed else Passed()


def _questions(run: AgentRun, start: int, end: int) -> set[object]:
    """The calls that permission was asked for, between two places of the log."""
    asked = set()
    for entry in run.wire.log[start:end]:
        match entry.message:
            case {"method": method, "params": {"toolCall": {"toolCallId": call}}} if method == PERMISSION:
                asked.add(call)
    return asked


@rule("ACP-PERM-009", ADVISORY, PAGE, "a client that cannot ask (it answers with an error) does not break the turn")
async def error_answer(lab: Lab) -> Verdict:
    error = {"error": {"code": -32603, "message": "there is nobody to ask"}}
    run, running, _ = await _answered(lab, error)
    turn = await run.finish(running)
    return Passed() if "result" in turn.answer else Failed(what_came(turn.answer))


@rule("ACP-PERM-010", ADVISORY, PAGE, "an option that was not offered does not count as permission")
async def foreign_option(lab: Lab) -> Verdict:
    answer = {"result": {"outcome": {"outcome": "selected", "optionId": "quillback-check-no-such-option"}}}
    run, running, call = await _answered(lab, answer)
    async with asyncio.timeout(run.timeout):
        turn = await run.finish(running)
    completed = [u for u in turn.updates if u.get("status") == "completed" and str(u.get("toolCallId")) == call]
    return Failed(f"the call went on: {short(completed[0])}") if completed else Passed()
