"""The end: ACP has no method for it, the client closes the agent's standard input."""

from quillback.conformance.lab import Lab
from quillback.conformance.rule import ADVISORY, Failed, Passed, Verdict, rule
from quillback.conformance.session import AgentRun
from quillback.conformance.turning import START_SECONDS

PAGE = "Transports"
SECONDS = 5.0


def _patience(run: AgentRun) -> float:
    """Longer where a longer --timeout says that the machine is slow."""
    return max(SECONDS, run.timeout / 2)


@rule("ACP-END-001", ADVISORY, PAGE, "an agent ends within five seconds when its standard input ends")
async def ends(lab: Lab) -> Verdict:
    async with lab.fresh() as run:
        ended = await run.wire.exits(_patience(run))
    return Passed() if ended else Failed("it was still there")


@rule("ACP-END-002", ADVISORY, PAGE, "an agent ends in the middle of a turn as well")
async def ends_in_a_turn(lab: Lab) -> Verdict:
    await lab.turns()
    async with lab.fresh() as run:
        running = run.start(await run.session(), lab.options.long_prompt)
        await run.wire.until(
            lambda: run.updates(running.session, running.start) or run.wire.answers(running.id) or None, START_SECONDS
        )
        ended = await run.wire.exits(_patience(run))
    return Passed() if ended else Failed("it was still there")
