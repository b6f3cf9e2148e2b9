"""Whatever handlers and the other side do: every request gets exactly one answer."""

import asyncio
import logging
from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from quillback_protocol.jsonrpc import RpcError
from quillback_protocol.peer import Peer, Reply
from support.wire import Wire


async def ok(_):
    return {}


async def refuse(_):
    raise RpcError(-32002, "no")


async def crash(_):
    raise KeyError("x")


async def odd(_):
    return object()


async def after_crashes(_):
    return Reply({}, after=lambda: 1 / 0)


async def slow(_):
    for _ in range(3):
        await asyncio.sleep(0)
    return {}


async def stubborn(_):
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        return {"partial": True}


async def hang(_):
    await asyncio.Event().wait()


async def cancels_itself(_):
    raise asyncio.CancelledError


HANDLERS = {
    f"_{handler.__name__}": handler
    for handler in (ok, refuse, crash, odd, after_crashes, slow, stubborn, hang, cancels_itself)
}
METHODS = [*HANDLERS, "session/new", "unknown"]
ids = st.sampled_from([1, 2, "1", "", None])
steps = st.one_of(
    st.tuples(st.just("request"), ids, st.sampled_from(METHODS)),
    st.tuples(st.just("cancel"), ids, st.none()),
    st.tuples(st.just("answer"), ids, st.none()),
    st.tuples(st.just("tick"), st.none(), st.none()),
)


def frame(kind, request_id, method):
    match kind:
        case "request":
            return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": {}}
        case "cancel":
            return {"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": request_id}}
        case _:
            return {"jsonrpc": "2.0", "id": request_id, "result": {}}


async def play(script):
    wire = Wire()
    peer = Peer(wire, {**HANDLERS, "session/new": ok}, {})
    for kind, request_id, method in script:
        if kind == "tick":
            await asyncio.sleep(0)
        else:
            peer.receive(frame(kind, request_id, method))
    for request_id in (1, 2, "1", "", None):
        peer.receive(frame("cancel", request_id, None))
    await asyncio.wait_for(peer.idle(), 5)
    return wire.sent


@given(st.lists(steps, max_size=25))
@settings(max_examples=200, deadline=None)
def test_exactly_one_answer_for_each_request(script):
    logging.disable(logging.CRITICAL)
    try:
        sent = asyncio.run(play(script))
    finally:
        logging.disable(logging.NOTSET)
    asked = Counter((type(request_id), request_id) for kind, request_id, _ in script if kind == "request")
    answered = Counter((type(obj["id"]), obj["id"]) for obj in sent)
    assert answered == asked
    assert all(("result" in obj) != ("error" in obj) for obj in sent)
