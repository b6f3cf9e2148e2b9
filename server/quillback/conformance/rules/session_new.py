"""session/new."""

import sys

from quillback.conformance.judge import accepted, refused, result_of, with_code
from quillback.conformance.lab import Lab
from quillback.conformance.rule import (
    ADVISORY,
    CAPABILITY,
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
from quillback.conformance.session import why_refused
from quillback.conformance.shape import misfits
from quillback.conformance.text import short, what_came
from quillback.conformance.trace import Trace
from quillback_protocol import acp
from quillback_protocol.jsonrpc import INVALID_PARAMS, JsonObject

PAGE = "Session Setup"
NO_SERVER = {"name": "quillback-check", "command": "/no/such/server", "args": [], "env": []}


async def _answer(lab: Lab, **more: object) -> JsonObject:
    run = await lab.shared()
    return await run.ask("session/new", {"cwd": str(lab.options.cwd), "mcpServers": [], **more})


@rule("ACP-NEW-001", MANDATORY, PAGE, "session/new is answered with a sessionId")
async def answered(lab: Lab) -> Verdict:
    answer = await _answer(lab)
    if why_refused(answer) is Hindrance.NEEDS_AUTHENTICATION:
        return NotRun(Hindrance.NEEDS_AUTHENTICATION, f"session/new was answered with {what_came(answer)}")
    session = result_of(answer).get("sessionId")
    return Passed() if isinstance(session, str) and session else Failed(what_came(answer))


@rule("ACP-NEW-002", MANDATORY, PAGE, "every session has an id of its own")
async def unique(lab: Lab) -> Verdict:
    run = await lab.shared()
    ids = [await run.session() for _ in range(3)]
    return Passed() if len(set(ids)) == 3 else Failed(f"three sessions got the ids {', '.join(ids)}")


@rule("ACP-NEW-003", MANDATORY, PAGE, "the answer to session/new has the shape of the schema")
async def shape(lab: Lab) -> Verdict:
    run = await lab.shared()
    wrong = misfits(await run.new(), acp.NewSessionResponse)
    return Failed("; ".join(wrong[:3])) if wrong else Passed()


@rule("ACP-NEW-004", ADVISORY, PAGE, "a cwd that is no absolute path is refused with -32602")
async def relative_cwd(lab: Lab) -> Verdict:
    await (await lab.shared()).session()
    return with_code(await _answer(lab, cwd="some/relative/path"), INVALID_PARAMS)


@rule("ACP-NEW-005", MANDATORY, PAGE, "session/new without cwd is refused")
async def no_cwd(lab: Lab) -> Verdict:
    run = await lab.shared()
    return refused(await run.ask("session/new", {"mcpServers": []}, hostile=True))


@rule("ACP-NEW-006", MANDATORY, PAGE, "session/new is answered when cwd does not exist, be it with an error")
async def missing_cwd(lab: Lab) -> Verdict:
    answer = await _answer(lab, cwd="/quillback-check/no/such/directory")
    return Passed(what_came(answer))


@rule("ACP-NEW-007", ADVISORY, PAGE, "a session starts although one of its MCP servers does not")
async def broken_server(lab: Lab) -> Verdict:
    await (await lab.shared()).session()
    return accepted(await _answer(lab, mcpServers=[NO_SERVER]))


@rule("ACP-NEW-008", ADVISORY, PAGE, "a stdio MCP server of session/new has been started when the first turn has ended")
async def starts_server(lab: Lab) -> Verdict:
    mark = lab.options.cwd / ".quillback-check-server"
    mark.unlink(missing_ok=True)
    code = f"import pathlib; pathlib.Path({str(mark)!r}).touch()"
    server = {"name": "quillback-check", "command": sys.executable, "args": ["-c", code], "env": []}
    run = await lab.shared()
    session = str((await run.new(mcpServers=[server]))["sessionId"])
    await run.turn(session, lab.options.prompts[0])
    started = mark.exists()
    mark.unlink(missing_ok=True)
    return Passed() if started else Failed("the server was not started")


@rule(
    "ACP-NEW-009",
    CAPABILITY,
    PAGE,
    "additionalDirectories are accepted by an agent that declares them",
    needs=("sessionCapabilities", "additionalDirectories"),
)
async def additional_directories(lab: Lab) -> Verdict:
    return accepted(await _answer(lab, additionalDirectories=[str(lab.options.cwd.parent)]))


@watch("ACP-NEW-010", ADVISORY, PAGE, "nothing comes for a session before session/new has told its id")
def nothing_before(trace: Trace) -> Verdict:
    early = [f"{short(s.kind)} for {s.session}" for s in trace.updates() if not s.known and s.turns == 0]
    return verdict(early, [s for s in trace.answers("session/new") if "result" in s.answer], "session")
