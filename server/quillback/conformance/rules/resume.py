"""session/resume, for agents that declare it."""

from quillback.conformance.judge import UNKNOWN_SESSION, accepted, refused, with_code
from quillback.conformance.lab import Lab
from quillback.conformance.rule import ADVISORY, CAPABILITY, Failed, Passed, Verdict, rule
from quillback.conformance.rules.load import Loaded, opened
from quillback.conformance.session import Blocked
from quillback.conformance.text import short, what_came
from quillback.conformance.turning import STOPS
from quillback_protocol.jsonrpc import RESOURCE_NOT_FOUND, JsonObject

PAGE = "Session Setup"
NEEDS = ("sessionCapabilities", "resume")


async def _resumed(lab: Lab) -> Loaded:
    first = (await lab.turns())[0]
    resumed = await opened(await lab.shared(), "session/resume", first.session)
    if "result" not in resumed.answer:
        raise Blocked(f"session/resume was answered with {what_came(resumed.answer)}")
    return resumed


@rule("ACP-RESUME-001", CAPABILITY, PAGE, "a session with history can be resumed", needs=NEEDS)
async def resumes(lab: Lab) -> Verdict:
    first = (await lab.turns())[0]
    resumed = await opened(await lab.shared(), "session/resume", first.session)
    if "result" in resumed.answer:
        return accepted(resumed.answer)
    # some only resume what no connection has open
    async with lab.fresh() as run:
        return accepted((await opened(run, "session/resume", first.session)).answer)


@rule("ACP-RESUME-002", CAPABILITY, PAGE, "a resume does not tell the history again", needs=NEEDS)
async def no_history(lab: Lab) -> Verdict:
    resumed = await _resumed(lab)
    came = resumed.before + resumed.after
    return Failed(f"there came {short(came)}") if came else Passed()


@rule("ACP-RESUME-003", CAPABILITY, PAGE, "a session that does not exist cannot be resumed", needs=NEEDS)
async def unknown(lab: Lab) -> Verdict:
    return refused(await _nobody(lab))


@rule("ACP-RESUME-004", ADVISORY, "Error", "the error for it is -32002", needs=NEEDS)
async def unknown_code(lab: Lab) -> Verdict:
    await (await lab.shared()).session()
    return with_code(await _nobody(lab), RESOURCE_NOT_FOUND)


async def _nobody(lab: Lab) -> JsonObject:
    params = {"sessionId": UNKNOWN_SESSION, "cwd": str(lab.options.cwd), "mcpServers": []}
    return await (await lab.shared()).ask("session/resume", params, hostile=True)


@rule("ACP-RESUME-005", CAPABILITY, PAGE, "a resumed session takes prompts", needs=NEEDS)
async def goes_on(lab: Lab) -> Verdict:
    resumed = await _resumed(lab)
    run = await lab.shared()
    turn = await run.finish(run.start(resumed.session, lab.options.prompts[0]))
    return Passed() if turn.stop_reason in STOPS else Failed(what_came(turn.answer))
