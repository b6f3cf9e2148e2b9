"""The handshake: versions, capabilities, and what comes before it."""

from quillback.conformance.judge import accepted, result_of, survives
from quillback.conformance.lab import Lab
from quillback.conformance.rule import ADVISORY, MANDATORY, Failed, Passed, Verdict, rule
from quillback.conformance.shape import breaches, misfits
from quillback.conformance.text import short, what_came
from quillback_protocol import acp
from quillback_protocol.jsonrpc import INVALID_REQUEST, JsonObject

PAGE = "Initialization"
FAR_VERSION = 65535
# Capabilities of versions of the schema that are newer than the types of this package, and unstable ones.
NEWER = {
    "agentCapabilities.sessionCapabilities.systemPrompt",
    "agentCapabilities.providers",
    "agentCapabilities.mcpCapabilities.acp",
    "agentCapabilities.sessionCapabilities.fork",
}


@rule("ACP-INIT-001", MANDATORY, PAGE, "initialize is answered with a result that has an integer protocolVersion")
async def answered(lab: Lab) -> Verdict:
    async with lab.fresh(initialize=False) as run:
        answer = await run.ask("initialize", {"protocolVersion": 1, "clientCapabilities": {}})
    version = result_of(answer).get("protocolVersion")
    return Passed() if type(version) is int else Failed(what_came(answer))


@rule("ACP-INIT-002", MANDATORY, PAGE, "an agent that is asked for version 1 answers version 1")
async def same_version(lab: Lab) -> Verdict:
    version = (await lab.shared()).initialized.get("protocolVersion")
    return Passed() if version == 1 else Failed(f"protocolVersion {short(version)}")


async def _asked(lab: Lab, params: JsonObject) -> JsonObject:
    async with lab.fresh(initialize=False) as run:
        return await run.ask("initialize", {"protocolVersion": 1, **params})


async def _own_version(lab: Lab, asked: int) -> Verdict:
    answer = await _asked(lab, {"protocolVersion": asked, "clientCapabilities": {}})
    version = result_of(answer).get("protocolVersion")
    good = type(version) is int and version != asked
    return Passed(f"protocolVersion {version}") if good else Failed(what_came(answer))


@rule("ACP-INIT-003", MANDATORY, PAGE, "a version that the agent does not know is answered with the newest it knows")
async def newer_version(lab: Lab) -> Verdict:
    return await _own_version(lab, FAR_VERSION)


@rule("ACP-INIT-004", ADVISORY, PAGE, "version 0, which is long gone, is answered with one that the agent knows")
async def older_version(lab: Lab) -> Verdict:
    return await _own_version(lab, 0)


@rule("ACP-INIT-005", MANDATORY, "Extensibility", "fields of initialize that the agent does not know are ignored")
async def unknown_fields(lab: Lab) -> Verdict:
    odd = {"futureField": {"a": [1]}, "_meta": {"quillback.dev/check": True}}
    capabilities = {"futureCapability": {}, "fs": {"readTextFile": False, "future": 1}}
    return accepted(await _asked(lab, {"clientCapabilities": capabilities, **odd}))


@rule("ACP-INIT-006", MANDATORY, PAGE, "clientCapabilities and clientInfo can be left out")
async def nothing_but_version(lab: Lab) -> Verdict:
    return accepted(await _asked(lab, {}))


@rule("ACP-INIT-007", MANDATORY, PAGE, "the answer to initialize has the shape of the schema")
async def shape(lab: Lab) -> Verdict:
    wrong = misfits((await lab.shared()).initialized, acp.InitializeResponse)
    return Failed("; ".join(wrong[:3])) if wrong else Passed()


@rule("ACP-INIT-008", ADVISORY, PAGE, "the agent tells its name and version in agentInfo")
async def agent_info(lab: Lab) -> Verdict:
    info = (await lab.shared()).initialized.get("agentInfo")
    named = isinstance(info, dict) and info.get("name") and info.get("version")
    return Passed(short(info)) if named else Failed(f"agentInfo {short(info)}")


@rule("ACP-INIT-009", ADVISORY, PAGE, "capabilities that version 1 does not define are below _meta")
async def own_capabilities(lab: Lab) -> Verdict:
    declared = (await lab.shared()).initialized.get("agentCapabilities")
    found = [b for b in breaches(declared or {}, acp.AgentCapabilities, "agentCapabilities") if b.unknown]
    wrong = [b.path for b in found if b.path not in NEWER]
    return Failed(", ".join(wrong)) if wrong else Passed()


@rule("ACP-INIT-010", ADVISORY, "Error", "a request before initialize is answered with the error -32600")
async def too_early(lab: Lab) -> Verdict:
    async with lab.fresh(initialize=False) as run:
        params = {"cwd": str(lab.options.cwd), "mcpServers": []}
        answer = await run.ask("session/new", params, hostile=True)
    error = answer.get("error")
    right = isinstance(error, dict) and error.get("code") == INVALID_REQUEST
    return Passed() if right else Failed(what_came(answer))


@rule("ACP-INIT-011", ADVISORY, PAGE, "an agent that got a request too early can still be initialized")
async def after_too_early(lab: Lab) -> Verdict:
    async with lab.fresh(initialize=False) as run:
        run.wire.request("session/new", {"cwd": str(lab.options.cwd), "mcpServers": []}, hostile=True)
        answer = await run.ask("initialize", {"protocolVersion": 1, "clientCapabilities": {}})
    return accepted(answer)


@rule("ACP-INIT-012", MANDATORY, PAGE, "an agent bears a client that offers all there is")
async def everything(lab: Lab) -> Verdict:
    capabilities = {"fs": {"readTextFile": True, "writeTextFile": True}, "terminal": True, "auth": {"terminal": True}}
    more = {"elicitation": {"form": {}, "url": {}}, "session": {"configOptions": {"boolean": {}}, "notices": {}}}
    async with lab.fresh(initialize=False) as run:
        answer = await run.ask("initialize", {"protocolVersion": 1, "clientCapabilities": {**capabilities, **more}})
        return accepted(answer) if "result" not in answer else await survives(run, "such an initialize")
