"""session/load, for agents that declare loadSession."""

from attrs import frozen

from quillback.conformance.judge import UNKNOWN_SESSION, accepted, refused, with_code
from quillback.conformance.lab import Lab
from quillback.conformance.rule import ADVISORY, CAPABILITY, Failed, Passed, Verdict, rule
from quillback.conformance.session import AgentRun, Blocked, Turn
from quillback.conformance.shape import misfits
from quillback.conformance.text import short, what_came
from quillback.conformance.turning import OF_A_TURN, STOPS
from quillback_protocol import acp
from quillback_protocol.jsonrpc import RESOURCE_NOT_FOUND, JsonObject

PAGE = "Session Setup"
NEEDS = ("loadSession",)
HISTORY = set(OF_A_TURN)


@frozen
class Loaded:
    """The answer, and the kinds of history that came before and after it."""

    session: str
    answer: JsonObject
    before: list[object]
    after: list[object]


async def opened(run: AgentRun, method: str, session: str) -> Loaded:
    """Load or resume a session and see what comes."""
    start = len(run.wire.log)
    answer = await run.ask(method, {"sessionId": session, "cwd": str(run.host.cwd), "mcpServers": []})
    end = run.wire.place(answer)
    await run.settle()
    kinds = [[u.get("sessionUpdate") for u in run.updates(session, *part)] for part in ((start, end), (end, None))]
    before, after = ([kind for kind in part if kind in HISTORY] for part in kinds)
    return Loaded(session, answer, before, after)


async def _opened_anywhere(lab: Lab) -> Loaded:
    """The session of the first turns, loaded again: on its own connection, or on another by agents that want that."""
    first = (await lab.turns())[0]
    loaded = await opened(await lab.shared(), "session/load", first.session)
    if "result" in loaded.answer:
        return loaded
    async with lab.fresh() as run:
        return await opened(run, "session/load", first.session)


async def _loaded(lab: Lab) -> Loaded:
    """Raises Blocked."""
    loaded = await _opened_anywhere(lab)
    if "result" not in loaded.answer:
        raise Blocked(f"session/load was answered with {what_came(loaded.answer)}")
    return loaded


@rule("ACP-LOAD-001", CAPABILITY, PAGE, "a session with history can be loaded", needs=NEEDS)
async def loads(lab: Lab) -> Verdict:
    loaded = await _opened_anywhere(lab)
    if "result" not in loaded.answer:
        return accepted(loaded.answer)
    wrong = misfits(loaded.answer["result"] or {}, acp.LoadSessionResponse)
    return Failed("; ".join(wrong[:3])) if wrong else Passed()


@rule("ACP-LOAD-002", CAPABILITY, PAGE, "the user's and the agent's messages come again before the answer", needs=NEEDS)
async def replays(lab: Lab) -> Verdict:
    before = (await _loaded(lab)).before
    missing = {"user_message_chunk", "agent_message_chunk"} - set(before)
    if "agent_message_chunk" in missing and not _spoke(await lab.turns()):
        missing.remove("agent_message_chunk")
    return Failed(f"before the answer came {short(before)}") if missing else Passed()


def _spoke(turns: list[Turn]) -> bool:
    return any(update.get("sessionUpdate") == "agent_message_chunk" for turn in turns for update in turn.updates)


@rule("ACP-LOAD-003", CAPABILITY, PAGE, "nothing of the history comes after the answer", needs=NEEDS)
async def replay_ends(lab: Lab) -> Verdict:
    loaded = await _loaded(lab)
    return Failed(f"after the answer came {short(loaded.after)}") if loaded.after else Passed()


@rule("ACP-LOAD-004", CAPABILITY, PAGE, "a session that does not exist cannot be loaded", needs=NEEDS)
async def unknown(lab: Lab) -> Verdict:
    return refused(await _nobody(lab))


@rule("ACP-LOAD-005", ADVISORY, "Error", "the error for it is -32002", needs=NEEDS)
async def unknown_code(lab: Lab) -> Verdict:
    await (await lab.shared()).session()
    return with_code(await _nobody(lab), RESOURCE_NOT_FOUND)


async def _nobody(lab: Lab) -> JsonObject:
    params = {"sessionId": UNKNOWN_SESSION, "cwd": str(lab.options.cwd), "mcpServers": []}
    return await (await lab.shared()).ask("session/load", params, hostile=True)


@rule("ACP-LOAD-006", CAPABILITY, PAGE, "a loaded session takes prompts", needs=NEEDS)
async def goes_on(lab: Lab) -> Verdict:
    first = (await lab.turns())[0]
    run = await lab.shared()
    loaded = await opened(run, "session/load", first.session)
    if "result" not in loaded.answer:
        raise Blocked(f"session/load was answered with {what_came(loaded.answer)}")
    turn = await run.finish(run.start(loaded.session, lab.options.prompts[0]))
    return Passed() if turn.stop_reason in STOPS else Failed(what_came(turn.answer))


@rule("ACP-LOAD-007", ADVISORY, PAGE, "a session can be loaded after the agent was started anew", needs=NEEDS)
async def after_restart(lab: Lab) -> Verdict:
    async with lab.fresh() as first:
        session = await first.session()
        await first.turn(session, lab.options.prompts[0])
        await first.wire.stop(first.timeout)
    async with lab.fresh() as second:
        loaded = await opened(second, "session/load", session)
    if "result" not in loaded.answer:
        return Failed(what_came(loaded.answer))
    return Passed() if loaded.before else Failed("nothing of the history came")
