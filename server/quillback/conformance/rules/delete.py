"""session/delete, for agents that declare it."""

from quillback.conformance.judge import UNKNOWN_SESSION, accepted
from quillback.conformance.lab import Lab
from quillback.conformance.rule import ADVISORY, CAPABILITY, Failed, Hindrance, NotRun, Passed, Verdict, rule
from quillback.conformance.rules.listing import sessions
from quillback.conformance.text import what_came

PAGE = "Session Delete"
NEEDS = ("sessionCapabilities", "delete")


@rule("ACP-DELETE-001", CAPABILITY, PAGE, "session/delete is answered with a result", needs=NEEDS)
async def deletes(lab: Lab) -> Verdict:
    run = await lab.shared()
    return accepted(await run.ask("session/delete", {"sessionId": await run.session()}))


@rule("ACP-DELETE-002", CAPABILITY, PAGE, "a deleted session is in no list", needs=NEEDS)
async def is_gone(lab: Lab) -> Verdict:
    if await lab.capability("sessionCapabilities", "list") is None:
        return NotRun(Hindrance.NOT_DECLARED, "the agent does not declare sessionCapabilities.list")
    run = await lab.shared()
    session = await run.session()
    await run.turn(session, lab.options.prompts[0])
    answer = await run.ask("session/delete", {"sessionId": session})
    if "result" not in answer:
        return Failed(what_came(answer))
    left = [one for one in await sessions(run) if one.get("sessionId") == session]
    return Failed(f"{session} is still there") if left else Passed()


@rule("ACP-DELETE-003", ADVISORY, PAGE, "deleting a session that does not exist succeeds", needs=NEEDS)
async def nothing_there(lab: Lab) -> Verdict:
    return accepted(await (await lab.shared()).ask("session/delete", {"sessionId": UNKNOWN_SESSION}, hostile=True))
