"""session/cancel and `$/cancel_request`."""

import asyncio
import time

from quillback.conformance.judge import UNKNOWN_SESSION, survives
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
)
from quillback.conformance.session import Blocked
from quillback.conformance.text import short, what_came
from quillback.conformance.turning import OF_A_TURN, START_SECONDS, STOPS, TOO_QUICK, cancel, running_turn
from quillback_protocol.jsonrpc import REQUEST_CANCELLED

PAGE = "Prompt Turn"
EARLY = (0.0, 0.05, 0.2)
"""Seconds after the prompt."""


@rule("ACP-CANCEL-001", MANDATORY, PAGE, "a cancelled turn is answered with the stop reason `cancelled`, in time")
async def cancelled(lab: Lab) -> Verdict:
    run, running = await running_turn(lab)
    came = await cancel(run, running)
    await run.settle()
    return Passed() if came == "cancelled" else Failed(f"the turn ended with {came}")


@rule("ACP-CANCEL-002", MANDATORY, PAGE, "a session goes on after a cancelled turn")
async def goes_on(lab: Lab) -> Verdict:
    run, running = await running_turn(lab)
    await cancel(run, running)
    turn = await run.finish(run.start(running.session, lab.options.prompts[0]))
    good = turn.stop_reason in STOPS and turn.stop_reason != "cancelled"
    return Passed() if good else Failed(f"the next prompt was answered with {what_came(turn.answer)}")


@rule("ACP-CANCEL-003", MANDATORY, PAGE, "a cancel without a running turn has no effect, and no answer")
async def idle(lab: Lab) -> Verdict:
    run = await lab.shared()
    session = await run.session()
    run.wire.notify("session/cancel", {"sessionId": session})
    return await survives(run, "a cancel without a turn")


@rule("ACP-CANCEL-004", MANDATORY, PAGE, "a cancel before a prompt does not cancel that prompt")
async def before(lab: Lab) -> Verdict:
    await lab.turns()
    run = await lab.shared()
    session = await run.session()
    run.wire.notify("session/cancel", {"sessionId": session})
    await run.lives()
    turn = await run.finish(run.start(session, lab.options.prompts[0]))
    good = turn.stop_reason in STOPS and turn.stop_reason != "cancelled"
    return Passed() if good else Failed(what_came(turn.answer))


@rule("ACP-CANCEL-005", MANDATORY, PAGE, "a cancel for a session that does not exist is borne")
async def unknown(lab: Lab) -> Verdict:
    run = await lab.shared()
    run.wire.notify("session/cancel", {"sessionId": UNKNOWN_SESSION}, hostile=True)
    return await survives(run, "a cancel for an unknown session")


@rule("ACP-CANCEL-006", MANDATORY, PAGE, "a cancel concerns the turn of its own session only")
async def only_its_own(lab: Lab) -> Verdict:
    run, running = await running_turn(lab)
    other = await run.session()
    run.wire.notify("session/cancel", {"sessionId": other})
    await run.lives()
    hit = [turn.get("result") for turn in run.wire.answers(running.id)]
    came = await cancel(run, running)
    if hit and hit[0] != {"stopReason": "cancelled"}:
        return NotRun(Hindrance.NOTHING_SEEN, TOO_QUICK)
    return Failed("the turn of another session ended with it") if hit else Passed(str(came))


@rule("ACP-CANCEL-007", ADVISORY, "Cancellation", "`$/cancel_request` of a prompt ends it with `cancelled` or -32800")
async def cancel_request(lab: Lab) -> Verdict:
    run, running = await running_turn(lab)
    run.wire.notify("$/cancel_request", {"requestId": running.id})
    found = await run.wire.until(lambda: run.wire.answers(running.id) or None, min(run.timeout, 2.0))
    if not found:
        await cancel(run, running)
        return Failed("the turn went on")
    match found[0]:
        case {"result": {"stopReason": "cancelled"}}:
            return Passed()
        case {"error": {"code": code}} if code == REQUEST_CANCELLED:
            return Passed()
    return Failed(what_came(found[0]))


@rule("ACP-CANCEL-008", MANDATORY, "Cancellation", "`$/cancel_request` of a request that is not there is borne")
async def cancel_nothing(lab: Lab) -> Verdict:
    run = await lab.shared()
    run.wire.notify("$/cancel_request", {"requestId": "quillback-check-nothing"}, hostile=True)
    return await survives(run, "a $/cancel_request of nothing")


@rule("ACP-CANCEL-009", MANDATORY, PAGE, "nothing of a cancelled turn comes after its answer")
async def nothing_after(lab: Lab) -> Verdict:
    run, running = await running_turn(lab)
    if (came := await cancel(run, running)) != "cancelled":
        raise Blocked(f"the turn ended with {came}")
    await run.settle()
    seen = lab.trace().updates(*OF_A_TURN)
    late = [s for s in seen if not s.turns and not s.replay and s.stopped == "cancelled"]
    return verdict((f"{short(s.update)} after the answer" for s in late), True, "updates")


@rule("ACP-CANCEL-010", MANDATORY, PAGE, "a cancel soon after the prompt, with nothing shown yet, ends it so as well")
async def early(lab: Lab) -> Verdict:
    await lab.turns()
    run = await lab.shared()
    for seconds in EARLY:
        running = run.start(await run.session(), lab.options.long_prompt)
        await asyncio.sleep(seconds)
        if run.wire.answers(running.id):
            return NotRun(Hindrance.NOTHING_SEEN, TOO_QUICK)
        began = time.monotonic()
        came = await cancel(run, running)
        if came in STOPS - {"cancelled"} and time.monotonic() - began < START_SECONDS:
            return NotRun(Hindrance.NOTHING_SEEN, TOO_QUICK)
        if came != "cancelled":
            return Failed(f"cancelled after {seconds:g} s, the turn ended with {came}")
    return Passed()
