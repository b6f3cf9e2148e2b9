"""Turns that are to be cancelled, and what belongs to a turn."""

import asyncio

from quillback.conformance.lab import Lab
from quillback.conformance.rule import Hindrance
from quillback.conformance.session import AgentRun, Blocked, Running
from quillback.conformance.text import what_came
from quillback_protocol import acp

STOPS = set(acp.StopReason)
CHUNKS = ("agent_message_chunk", "agent_thought_chunk", "user_message_chunk")
OF_A_TURN = (*CHUNKS, "tool_call", "tool_call_update", "plan")
START_SECONDS = 1.0
TOO_QUICK = "the turn had ended before it could be cancelled; give a longer one with --long-prompt"


async def running_turn(lab: Lab) -> tuple[AgentRun, Running]:
    """A turn that has begun and goes on. Raises Blocked."""
    await lab.turns()
    run = await lab.shared()
    running = run.start(await run.session(), lab.options.long_prompt)
    await run.wire.until(
        lambda: run.updates(running.session, running.start) or run.wire.answers(running.id) or None, START_SECONDS
    )
    await asyncio.sleep(run.quiet)  # its answer may be just behind the update
    if run.wire.answers(running.id):
        raise Blocked(TOO_QUICK, Hindrance.NOTHING_SEEN)
    return run, running


async def cancel(run: AgentRun, running: Running) -> object:
    """The stop reason, or the answer in words."""
    run.wire.notify("session/cancel", {"sessionId": running.session})
    turn = await run.finish(running)
    return turn.stop_reason or what_came(turn.answer)
