"""session/prompt: turns, what they may hold, and how they end."""

from quillback.conformance.judge import UNKNOWN_SESSION, refused, with_code
from quillback.conformance.lab import Lab
from quillback.conformance.rule import (
    ADVISORY,
    CAPABILITY,
    MANDATORY,
    Failed,
    Passed,
    Verdict,
    rule,
    verdict,
    watch,
)
from quillback.conformance.text import short, what_came
from quillback.conformance.trace import Trace
from quillback.conformance.turning import OF_A_TURN, STOPS, cancel, running_turn
from quillback_protocol.jsonrpc import INVALID_PARAMS, RESOURCE_NOT_FOUND, JsonObject

PAGE = "Prompt Turn"
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
SILENCE = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA="


@rule("ACP-PROMPT-001", MANDATORY, PAGE, "a prompt is answered with one of the stop reasons of the schema")
async def stop_reason(lab: Lab) -> Verdict:
    wrong = [what_came(turn.answer) for turn in await lab.turns() if turn.stop_reason not in STOPS]
    return Failed(wrong[0]) if wrong else Passed()


@rule("ACP-PROMPT-002", MANDATORY, PAGE, "a prompt is answered exactly once")
async def once(lab: Lab) -> Verdict:
    run = await lab.shared()
    running = run.start(await run.session(), lab.options.prompts[0])
    await run.finish(running)
    await run.settle()
    count = len(run.wire.answers(running.id))
    return Passed() if count == 1 else Failed(f"{count} answers")


@rule("ACP-PROMPT-003", MANDATORY, PAGE, "a session takes one prompt after the other")
async def next_prompt(lab: Lab) -> Verdict:
    first = (await lab.turns())[0]
    run = await lab.shared()
    turn = await run.finish(run.start(first.session, lab.options.prompts[0]))
    return Passed() if turn.stop_reason in STOPS else Failed(what_came(turn.answer))


async def _with_block(lab: Lab, block: JsonObject) -> Verdict:
    """A turn with the block, after one without it has worked."""
    await lab.turns()
    run = await lab.shared()
    text = {"type": "text", "text": lab.options.prompts[0]}
    turn = await run.finish(run.start(await run.session(), [text, block]))
    return Passed() if turn.stop_reason in STOPS else Failed(what_came(turn.answer))


@rule("ACP-PROMPT-004", MANDATORY, "Content", "a prompt may hold a resource_link")
async def resource_link(lab: Lab) -> Verdict:
    uri = (lab.options.cwd / "notes.txt").as_uri()
    return await _with_block(lab, {"type": "resource_link", "uri": uri, "name": "notes.txt"})


@rule(
    "ACP-PROMPT-005",
    CAPABILITY,
    "Content",
    "a prompt may hold an image where promptCapabilities.image is declared",
    needs=("promptCapabilities", "image"),
)
async def image(lab: Lab) -> Verdict:
    return await _with_block(lab, {"type": "image", "mimeType": "image/png", "data": PIXEL})


@rule(
    "ACP-PROMPT-006",
    CAPABILITY,
    "Content",
    "a prompt may hold audio where promptCapabilities.audio is declared",
    needs=("promptCapabilities", "audio"),
)
async def audio(lab: Lab) -> Verdict:
    return await _with_block(lab, {"type": "audio", "mimeType": "audio/wav", "data": SILENCE})


@rule(
    "ACP-PROMPT-007",
    CAPABILITY,
    "Content",
    "a prompt may hold an embedded resource where promptCapabilities.embeddedContext is declared",
    needs=("promptCapabilities", "embeddedContext"),
)
async def embedded(lab: Lab) -> Verdict:
    uri = (lab.options.cwd / "notes.txt").as_uri()
    return await _with_block(lab, {"type": "resource", "resource": {"uri": uri, "text": "hello\n"}})


@rule("ACP-PROMPT-008", MANDATORY, "Overview", "two sessions can have a turn at the same time")
async def two_sessions(lab: Lab) -> Verdict:
    await lab.turns()
    run = await lab.shared()
    sessions = [await run.session(), await run.session()]
    running = [run.start(session, lab.options.prompts[0]) for session in sessions]
    turns = [await run.finish(one) for one in running]
    wrong = [what_came(turn.answer) for turn in turns if turn.stop_reason not in STOPS]
    return Failed(wrong[0]) if wrong else Passed()


@rule("ACP-PROMPT-009", ADVISORY, "Error", "a prompt for a session that does not exist is refused")
async def unknown_session(lab: Lab) -> Verdict:
    return refused(await _to_nobody(lab))


@rule("ACP-PROMPT-010", ADVISORY, "Error", "the error for a session that does not exist is -32002")
async def unknown_session_code(lab: Lab) -> Verdict:
    await (await lab.shared()).session()
    return with_code(await _to_nobody(lab), RESOURCE_NOT_FOUND)


async def _to_nobody(lab: Lab) -> JsonObject:
    run = await lab.shared()
    params = {"sessionId": UNKNOWN_SESSION, "prompt": [{"type": "text", "text": "hello"}]}
    return await run.ask("session/prompt", params, hostile=True)


@rule("ACP-PROMPT-011", ADVISORY, "Content", "a content block of a type that does not exist is refused with -32602")
async def unknown_block(lab: Lab) -> Verdict:
    run = await lab.shared()
    params = {"sessionId": await run.session(), "prompt": [{"type": "quillback-hologram", "shape": "cube"}]}
    return with_code(await run.ask("session/prompt", params, hostile=True), INVALID_PARAMS)


@rule("ACP-PROMPT-012", MANDATORY, PAGE, "session/prompt without prompt is refused")
async def no_prompt(lab: Lab) -> Verdict:
    run = await lab.shared()
    return refused(await run.ask("session/prompt", {"sessionId": await run.session()}, hostile=True))


@rule("ACP-PROMPT-013", ADVISORY, PAGE, "other requests are answered while a turn runs")
async def meanwhile(lab: Lab) -> Verdict:
    run, running = await running_turn(lab)
    used = run.wire.request("session/new", {"cwd": str(lab.options.cwd), "mcpServers": []})
    await run.wire.answer(used, run.timeout)
    first = run.wire.answers(running.id)
    await cancel(run, running)
    return Failed("session/new was answered only after the turn had ended") if first else Passed()


@rule("ACP-PROMPT-014", ADVISORY, PAGE, "a turn that ends well has shown something")
async def shows_something(lab: Lab) -> Verdict:
    turn = (await lab.turns())[0]
    kinds = [update.get("sessionUpdate") for update in turn.updates]
    return Passed() if set(kinds) & set(OF_A_TURN) else Failed(f"the turn ended with {short(kinds)} as its updates")


@watch("ACP-PROMPT-015", MANDATORY, PAGE, "what belongs to a turn comes before its answer")
def nothing_after(trace: Trace) -> Verdict:
    late = [s for s in trace.updates(*OF_A_TURN) if s.known and not s.turns and not s.replay and s.stopped]
    return verdict((f"{short(s.update)} after the answer" for s in late), trace.answers("session/prompt"), "turn")


@watch("ACP-PROMPT-016", ADVISORY, PAGE, "the user's own message does not come back during a turn")
def no_echo(trace: Trace) -> Verdict:
    echoed = [s for s in trace.updates("user_message_chunk") if s.turns and not s.replay]
    return verdict((short(s.update) for s in echoed), trace.answers("session/prompt"), "turn")
