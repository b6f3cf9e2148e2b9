import asyncio

import pytest

from quillback_protocol import acp
from quillback_protocol.framing import FramingError
from quillback_protocol.peer import ConnectionClosedError, RemoteError
from support.peers import hang, make, request, settle

pytestmark = pytest.mark.anyio


async def test_a_handler_may_ask_back_and_ids_of_the_two_directions_do_not_mix():
    handlers = {"_hang": hang}
    wire, peer = make(handlers)

    async def prompt(_):
        return {"got": await peer.request("_ask", {"q": 1})}

    handlers["_prompt"] = prompt
    peer.receive(request(1, "_prompt"))
    await settle()
    asked = wire.sent.pop()
    assert asked == {"jsonrpc": "2.0", "id": 1, "method": "_ask", "params": {"q": 1}}
    peer.receive(request(2, "_hang"))
    peer.receive({"jsonrpc": "2.0", "id": 2, "result": "nobody asked"})
    peer.receive({"jsonrpc": "2.0", "id": 1, "result": "yes"})
    await settle()
    assert wire.sent == [{"jsonrpc": "2.0", "id": 1, "result": {"got": "yes"}}]
    await peer.aclose()


async def test_params_of_ours_are_written_by_their_type():
    wire, peer = make()
    chunk = acp.AgentMessageChunk(acp.TextContent("hi"), "msg_1")
    peer.notify("session/update", acp.SessionNotification("s", chunk))
    content = {"type": "text", "text": "hi"}
    update = {"sessionUpdate": "agent_message_chunk", "content": content, "messageId": "msg_1"}
    assert wire.sent[0]["params"] == {"sessionId": "s", "update": update}


async def test_an_error_answer_and_late_and_double_answers():
    wire, peer = make()
    asking = asyncio.create_task(peer.request("_ask"))
    await settle()
    error = {"code": -32601, "message": "no", "data": 5}
    peer.receive({"jsonrpc": "2.0", "id": "1", "result": "the id of another type"})
    peer.receive({"jsonrpc": "2.0", "id": 1, "error": error})
    peer.receive({"jsonrpc": "2.0", "id": 1, "result": "late"})
    with pytest.raises(RemoteError) as caught:
        await asking
    assert (caught.value.code, caught.value.message, caught.value.data) == (-32601, "no", 5)
    peer.receive({"jsonrpc": "2.0", "id": 1, "result": "later"})
    assert [obj.get("method") for obj in wire.sent] == ["_ask"]


async def test_a_request_of_ours_that_is_given_up_is_cancelled_on_the_other_side():
    wire, peer = make()
    asking = asyncio.create_task(peer.request("_ask"))
    await settle()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    with pytest.raises(TimeoutError):
        await peer.request("_ask", timeout=0.01)
    peer.receive({"jsonrpc": "2.0", "id": 1, "result": "late"})
    peer.receive({"jsonrpc": "2.0", "id": 2, "error": {"code": -32800, "message": "cancelled"}})
    cancels = [obj["params"]["requestId"] for obj in wire.sent if obj["method"] == "$/cancel_request"]
    assert cancels == [1, 2]


async def test_after_close_nothing_is_written_and_nobody_waits():
    ended = []
    handlers = {}
    wire, peer = make(handlers)

    async def handler(_):
        try:
            await asyncio.Event().wait()
        finally:
            peer.notify("_late")
            ended.append(True)

    handlers["_m"] = handler
    peer.receive(request(1, "_m"))
    asking = asyncio.create_task(peer.request("_ask"))
    await settle()
    wire.sent.clear()
    await peer.aclose("the editor is gone")
    assert ended == [True]
    assert peer.closed == "the editor is gone"
    with pytest.raises(ConnectionClosedError, match="the editor is gone"):
        await asking
    with pytest.raises(ConnectionClosedError, match="the editor is gone"):
        await peer.request("_ask")
    peer.receive(request(2, "_m"))
    peer.receive(FramingError(-32700, "parse error"))
    peer.notify("_more")
    await peer.aclose()
    assert wire.sent == []


async def test_a_handler_may_close_its_own_connection():
    handlers = {"_hang": hang}
    wire, peer = make(handlers)

    async def leave(_):
        await peer.aclose()
        return {}

    handlers["_leave"] = leave
    peer.receive(request(1, "_hang"))
    peer.receive(request(2, "_leave"))
    await asyncio.wait_for(peer.idle(), 1)
    assert wire.sent == []
