"""Lines that are no messages: an agent answers them or not, but goes on."""

from quillback.conformance.judge import survives
from quillback.conformance.lab import Lab
from quillback.conformance.rule import ADVISORY, MANDATORY, Failed, Passed, Verdict, rule
from quillback.conformance.text import short
from quillback_protocol.jsonrpc import INVALID_REQUEST, PARSE_ERROR, JsonObject

PAGE = "Transports"
BROKEN = b'{"jsonrpc": "2.0", "id": 1, "method": \n'
FOREIGN = b'{"hello": "world"}\n'
BATCH = b'[{"jsonrpc":"2.0","id":"quillback-check-batch","method":"_quillback.dev/ping","params":{}}]\n'
NO_UTF8 = b'{"jsonrpc":"2.0","method":"_quillback.dev/x","params":{"text":"\xff\xfe"}}\n'
DEEP = b'{"jsonrpc":"2.0","method":"_quillback.dev/x","params":' + b'{"a":' * 5000 + b"1" + b"}" * 5000 + b"}\n"


async def _bears(lab: Lab, line: bytes, what: str) -> Verdict:
    run = await lab.shared()
    run.wire.send_bytes(line, hostile=True)
    return await survives(run, what)


async def _answered(lab: Lab, line: bytes, code: int) -> Verdict:
    """With an error of the code and the id null."""
    run = await lab.shared()
    start = len(run.wire.log)
    run.wire.send_bytes(line, hostile=True)
    await run.settle()
    found = [e.message for e in run.wire.log[start:] if isinstance(e.message, dict) and _about_nothing(e.message)]
    right = [message for message in found if message["error"].get("code") == code]
    return Passed() if right else Failed(short(found[0]) if found else "nothing")


def _about_nothing(message: JsonObject) -> bool:
    return "method" not in message and message.get("id") is None and isinstance(message.get("error"), dict)


@rule("ACP-LINE-001", MANDATORY, PAGE, "an agent goes on after a line that is no JSON")
async def bears_broken(lab: Lab) -> Verdict:
    return await _bears(lab, BROKEN, "a line that is no JSON")


@rule("ACP-LINE-002", ADVISORY, "Error", "a line that is no JSON is answered with -32700 and the id null")
async def answers_broken(lab: Lab) -> Verdict:
    return await _answered(lab, BROKEN, PARSE_ERROR)


@rule("ACP-LINE-003", MANDATORY, PAGE, "an agent goes on after an object that is no message")
async def bears_foreign(lab: Lab) -> Verdict:
    return await _bears(lab, FOREIGN, "an object that is no message")


@rule("ACP-LINE-004", ADVISORY, "Error", "an object that is no message is answered with -32600 and the id null")
async def answers_foreign(lab: Lab) -> Verdict:
    return await _answered(lab, FOREIGN, INVALID_REQUEST)


@rule("ACP-LINE-005", ADVISORY, PAGE, "an agent goes on after a batch, which ACP does not have")
async def bears_batch(lab: Lab) -> Verdict:
    return await _bears(lab, BATCH, "a batch")


@rule("ACP-LINE-006", ADVISORY, PAGE, "an agent goes on after a line that is not UTF-8")
async def bears_bytes(lab: Lab) -> Verdict:
    return await _bears(lab, NO_UTF8, "a line that is not UTF-8")


@rule("ACP-LINE-007", ADVISORY, PAGE, "an agent goes on after a message that is nested 5000 deep")
async def bears_depth(lab: Lab) -> Verdict:
    return await _bears(lab, DEEP, "a deeply nested message")


@rule("ACP-LINE-008", ADVISORY, PAGE, "an agent goes on after params that are neither an object nor a list")
async def bears_params(lab: Lab) -> Verdict:
    run = await lab.shared()
    run.wire.request("session/new", "text", "quillback-check-params", hostile=True)
    return await survives(run, "params that are a text")
