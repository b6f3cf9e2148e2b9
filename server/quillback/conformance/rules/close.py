"""session/close, for agents that declare it."""

from quillback.conformance.judge import accepted, refused
from quillback.conformance.lab import Lab
from quillback.conformance.rule import CAPABILITY, Failed, Passed, Verdict, rule
from quillback.conformance.session import Blocked
from quillback.conformance.text import what_came
from quillback.conformance.turning import running_turn

PAGE = "Session Setup"
NEEDS = ("sessionCapabilities", "close")


@rule("ACP-CLOSE-001", CAPABILITY, PAGE, "session/close is answered with a result", needs=NEEDS)
async def closes(lab: Lab) -> Verdict:
    run = await lab.shared()
    return accepted(await run.ask("session/close", {"sessionId": await run.session()}))


@rule("ACP-CLOSE-002", CAPABILITY, PAGE, "closing a session cancels its turn, which ends with `cancelled`", needs=NEEDS)
async def cancels(lab: Lab) -> Verdict:
    run, running = await running_turn(lab)
    answer = await run.ask("session/close", {"sessionId": running.session})
    turn = await run.finish(running)
    if "error" in answer:
        return Failed(what_came(answer))
    return Passed() if turn.stop_reason == "cancelled" else Failed(f"the prompt ended with {what_came(turn.answer)}")


@rule("ACP-CLOSE-003", CAPABILITY, PAGE, "a closed session takes no prompts", needs=NEEDS)
async def is_closed(lab: Lab) -> Verdict:
    run = await lab.shared()
    session = await run.session()
    answer = await run.ask("session/close", {"sessionId": session})
    if "result" not in answer:
        raise Blocked(f"session/close was answered with {what_came(answer)}")
    prompt = [{"type": "text", "text": lab.options.prompts[0]}]
    return refused(await run.ask("session/prompt", {"sessionId": session, "prompt": prompt}, hostile=True))


@rule("ACP-CLOSE-004", CAPABILITY, PAGE, "other sessions go on when one is closed", needs=NEEDS)
async def others_go_on(lab: Lab) -> Verdict:
    await lab.turns()
    run = await lab.shared()
    kept, closed = await run.session(), await run.session()
    await run.ask("session/close", {"sessionId": closed})
    turn = await run.finish(run.start(kept, lab.options.prompts[0]))
    return Passed() if "result" in turn.answer else Failed(what_came(turn.answer))
