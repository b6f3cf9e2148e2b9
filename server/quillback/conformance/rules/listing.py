"""session/list, for agents that declare it."""

from quillback.conformance.judge import list_of, result_of, twice, with_code
from quillback.conformance.lab import Lab
from quillback.conformance.rule import (
    ADVISORY,
    CAPABILITY,
    Failed,
    Hindrance,
    NotRun,
    Passed,
    Verdict,
    rule,
)
from quillback.conformance.session import AgentRun
from quillback.conformance.shape import misfits
from quillback.conformance.text import short, what_came
from quillback_protocol import acp
from quillback_protocol.jsonrpc import INVALID_PARAMS, JsonObject

PAGE = "Session List"
NEEDS = ("sessionCapabilities", "list")
MOST_PAGES = 50


async def sessions(run: AgentRun, **params: object) -> list[JsonObject]:
    """The sessions of all pages."""
    found: list[JsonObject] = []
    cursor: object = None
    for _ in range(MOST_PAGES):
        answer = await run.ask("session/list", params if cursor is None else {**params, "cursor": cursor})
        found += list_of(result_of(answer).get("sessions"))
        cursor = result_of(answer).get("nextCursor")
        if cursor is None:
            break
    return found


@rule("ACP-LIST-001", CAPABILITY, PAGE, "session/list is answered with a list of sessions", needs=NEEDS)
async def lists(lab: Lab) -> Verdict:
    answer = await (await lab.shared()).ask("session/list", {})
    if "result" not in answer:
        return with_code(answer)
    wrong = misfits(answer["result"], acp.ListSessionsResponse)
    return Failed("; ".join(wrong[:3])) if wrong else Passed()


@rule("ACP-LIST-002", CAPABILITY, PAGE, "cwd chooses the sessions of that directory", needs=NEEDS)
async def by_directory(lab: Lab) -> Verdict:
    await lab.turns()
    run = await lab.shared()
    nowhere = await sessions(run, cwd="/quillback-check/an/empty/directory")
    here = await sessions(run, cwd=str(lab.options.cwd))
    wrong = nowhere or [one for one in here if not _same(lab, one.get("cwd"))]
    return Failed(f"there was {short(wrong[0])}") if wrong else Passed()


def _same(lab: Lab, cwd: object) -> bool:
    return str(cwd).rstrip("/") in (str(lab.options.cwd), str(lab.options.cwd.resolve()))


@rule("ACP-LIST-003", ADVISORY, PAGE, "a session that had a turn is in the list", needs=NEEDS)
async def has_the_session(lab: Lab) -> Verdict:
    first = (await lab.turns())[0]
    ids = [one.get("sessionId") for one in await sessions(await lab.shared())]
    return Passed() if first.session in ids else Failed(f"{first.session} is none of {short(ids)}")


@rule("ACP-LIST-004", ADVISORY, "Error", "a cursor that the agent never gave is refused with -32602", needs=NEEDS)
async def bad_cursor(lab: Lab) -> Verdict:
    params = {"cursor": "quillback-check-no-such-cursor"}
    return with_code(await (await lab.shared()).ask("session/list", params, hostile=True), INVALID_PARAMS)


@rule("ACP-LIST-005", CAPABILITY, PAGE, "nextCursor leads to other sessions, and at last to an end", needs=NEEDS)
async def pages(lab: Lab) -> Verdict:
    run = await lab.shared()
    answer = await run.ask("session/list", {})
    if result_of(answer).get("nextCursor") is None:
        for _ in range(25):
            await run.session()
        answer = await run.ask("session/list", {})
    if result_of(answer).get("nextCursor") is None:
        return NotRun(Hindrance.NOTHING_SEEN, "all sessions were on one page")
    seen: list[object] = []
    for _ in range(MOST_PAGES):
        seen += [one.get("sessionId") for one in list_of(result_of(answer).get("sessions"))]
        cursor = result_of(answer).get("nextCursor")
        if cursor is None:
            break
        answer = await run.ask("session/list", {"cursor": cursor})
        if "result" not in answer:
            return Failed(f"for the cursor {short(cursor)}: {what_came(answer)}")
    again = twice(seen)
    return Failed(f"the session {again[0]} came on two pages") if again else Passed()
