import asyncio
import logging

import pytest

from quillback_protocol import acp
from quillback_protocol.framing import FramingError
from quillback_protocol.jsonrpc import RpcError
from quillback_protocol.peer import InitializeGate, RemoteError, Reply
from support.peers import cancel_request, hang, make, notification, request, settle

pytestmark = pytest.mark.anyio


async def test_a_handler_gets_typed_params_and_its_result_is_written():
    async def new(params):
        assert params == acp.NewSessionRequest("/repo")
        return acp.NewSessionResponse("ses_1")

    wire, peer = make({"session/new": new})
    peer.receive(request("a", "session/new", {"cwd": "/repo", "mcpServers": []}))
    await peer.idle()
    assert wire.sent == [{"jsonrpc": "2.0", "id": "a", "result": {"sessionId": "ses_1"}}]


async def test_absent_params_are_an_empty_object_and_no_result_is_one_too():
    seen = []

    async def handler(params):
        seen.append(params)

    wire, peer = make({"session/list": handler, "_x/raw": handler})
    peer.receive({"jsonrpc": "2.0", "id": 1, "method": "session/list"})
    peer.receive({"jsonrpc": "2.0", "id": 2, "method": "_x/raw"})
    peer.receive(request(3, "_x/raw", [1]))
    await peer.idle()
    assert seen == [acp.ListSessionsRequest(), None, [1]]
    assert [obj["result"] for obj in wire.sent] == [{}, {}, {}]


@pytest.mark.parametrize("request_id", [0, "0", "", "a-b", None, 2**70])
async def test_ids_are_echoed(request_id):
    async def handler(_):
        return {}

    wire, peer = make({"_m": handler})
    peer.receive(request(request_id, "_m"))
    await peer.idle()
    assert wire.sent[0]["id"] == request_id
    assert type(wire.sent[0]["id"]) is type(request_id)


async def test_what_a_handler_may_raise(caplog):
    async def refuses(_):
        raise RpcError(-32002, "no such session", {"sessionId": "s"})

    async def crashes(_):
        raise ValueError("secret-token")

    async def unencodable(_):
        return {"a": object()}

    async def remote(_):
        raise RemoteError(RpcError(-32601, "the client knows no such method").error)

    wire, peer = make({"_refuses": refuses, "_crashes": crashes, "_odd": unencodable, "_remote": remote})
    for number, method in enumerate(("_refuses", "_crashes", "_odd", "_remote")):
        peer.receive(request(number, method))
    await peer.idle()
    assert wire.answers(0)[0]["error"] == {"code": -32002, "message": "no such session", "data": {"sessionId": "s"}}
    message = "_crashes failed because of an internal error; see the log"
    assert wire.answers(1)[0]["error"] == {"code": -32603, "message": message}
    assert wire.answer(2) == wire.answer(3) == -32603
    assert "secret-token" not in str(wire.sent)
    assert "Traceback" in caplog.text


async def test_bad_params_and_unknown_methods():
    ran = []

    async def handler(params):
        ran.append(params)

    wire, peer = make({"session/new": handler}, {"session/cancel": handler})
    peer.receive(request(1, "session/new", {"cwd": 5}))
    peer.receive(request(2, "session/new", [1]))
    peer.receive(request(3, "no/such"))
    peer.receive(notification("session/cancel", {"sessionId": 5}))
    peer.receive(notification("no/such"))
    await peer.idle()
    assert ran == []
    assert wire.answers(1)[0]["error"] == {"code": -32602, "message": "cwd: expected a string, got number"}
    assert wire.answer(2) == -32602
    assert wire.answers(3)[0]["error"] == {"code": -32601, "message": "method not found: 'no/such'"}
    assert len(wire.sent) == 3


async def test_broken_frames_are_answered_with_id_null_and_broken_answers_are_not():
    wire, peer = make()
    peer.receive(FramingError(-32700, "parse error"))
    peer.receive_error(FramingError(-32600, "too large"))
    peer.receive([request(1, "m")])
    peer.receive(request(1.5, "m"))
    peer.receive({"jsonrpc": "2.0", "id": 7})
    peer.receive({"jsonrpc": "2.0", "result": 1})
    peer.receive({"jsonrpc": "2.0", "id": [], "error": {}})
    peer.receive({"jsonrpc": "2.0", "id": 99, "result": 1})
    assert [(obj["id"], obj["error"]["code"]) for obj in wire.sent] == [
        (None, -32700),
        (None, -32600),
        (None, -32600),
        (None, -32600),
        (7, -32600),
    ]


async def test_handlers_start_in_the_order_of_arrival():
    order = []

    async def prompt(_):
        order.append("prompt")
        await asyncio.sleep(0)
        order.append("prompt goes on")

    async def cancel(_):
        order.append("cancel")

    wire, peer = make({"session/prompt": prompt}, {"session/cancel": cancel})
    peer.receive(request(1, "session/prompt", {"sessionId": "s", "prompt": []}))
    peer.receive(notification("session/cancel", {"sessionId": "s"}))
    assert order == []
    await peer.idle()
    assert order == ["prompt", "cancel", "prompt goes on"]
    assert len(wire.sent) == 1


async def test_a_handler_that_waits_holds_nothing_up():
    async def quick(_):
        return {"quick": True}

    wire, peer = make({"_hang": hang, "_quick": quick})
    peer.receive(request(1, "_hang"))
    peer.receive(request(2, "_quick"))
    await settle()
    assert [obj["id"] for obj in wire.sent] == [2]
    await peer.aclose()


async def test_cancel_request_reaches_a_handler_that_came_in_the_same_read():
    started = []

    async def handler(_):
        started.append(True)
        await asyncio.Event().wait()

    wire, peer = make({"_m": handler})
    peer.receive(request("x", "_m"))
    peer.receive(cancel_request("x"))
    await peer.idle()
    assert started == [True]
    assert wire.answer("x") == -32800


async def test_a_method_may_decide_what_its_cancel_means():
    stopped = asyncio.Event()
    cancelled = []

    async def prompt(_):
        await stopped.wait()
        return acp.PromptResponse(acp.StopReason.CANCELLED)

    def stop(params):
        cancelled.append(params)
        stopped.set()

    wire, peer = make({"session/prompt": prompt}, cancels={"session/prompt": stop})
    peer.receive(request(1, "session/prompt", {"sessionId": "s", "prompt": []}))
    peer.receive(cancel_request(1))
    await peer.idle()
    assert cancelled == [acp.PromptRequest("s", ())]
    assert wire.answer(1) == {"stopReason": "cancelled"}


@pytest.mark.parametrize("params", [{"requestId": 99}, {"requestId": "1"}, {"requestId": [1]}, {}, [], None])
async def test_a_cancel_of_nothing_changes_nothing(params):
    wire, peer = make({"_hang": hang})
    peer.receive(request(1, "_hang"))
    peer.receive(notification("$/cancel_request", params))
    await settle()
    assert wire.sent == []
    peer.receive(cancel_request(1))
    await peer.idle()
    assert wire.answer(1) == -32800


async def test_a_task_cancelled_before_its_first_step_is_answered():
    wire, peer = make({"_hang": hang})
    before = asyncio.all_tasks()
    peer.receive(request(1, "_hang"))
    [task] = asyncio.all_tasks() - before
    task.cancel()
    await settle()
    assert wire.answer(1) == -32800


async def test_an_id_in_flight_is_refused_and_free_again_after_its_answer():
    release = asyncio.Event()

    async def handler(_):
        await release.wait()
        return {"done": True}

    wire, peer = make({"_m": handler})
    peer.receive(request(1, "_m"))
    peer.receive(request(1, "_m"))
    assert [obj["error"]["code"] for obj in wire.answers(1)] == [-32600]
    peer.receive(request("1", "_m"))
    release.set()
    await peer.idle()
    assert wire.answers(1)[1]["result"] == wire.answer("1") == {"done": True}
    peer.receive(request(1, "_m"))
    await peer.idle()
    assert len(wire.answers(1)) == 3


async def test_nothing_but_initialize_comes_first():
    async def handler(_):
        return {"ok": True}

    wire, peer = make({"initialize": handler, "_m": handler}, gate=InitializeGate())
    peer.receive(request(1, "_m"))
    peer.receive(request(2, "unknown"))
    peer.receive(request(3, "initialize", {"protocolVersion": 1}))
    peer.receive(request(4, "_m"))
    await peer.idle()
    assert [wire.answer(number) for number in (1, 2, 3, 4)] == [-32600, -32600, {"ok": True}, {"ok": True}]


async def test_what_follows_an_answer_is_written_right_behind_it():
    handlers = {}

    async def other(_):
        peer.notify("_other")

    wire, peer = make(handlers, {"_note": other})

    async def new(_):
        return Reply({"sessionId": "s"}, after=lambda: peer.notify("_commands"))

    handlers["_new"] = new
    peer.receive(request(1, "_new"))
    peer.receive(notification("_note"))
    await peer.idle()
    assert [obj.get("method") for obj in wire.sent] == [None, "_commands", "_other"]


async def test_a_failing_notification_handler_is_logged_only(caplog):
    async def crashes(_):
        raise ValueError("boom")

    wire, peer = make({}, {"_n": crashes})
    with caplog.at_level(logging.ERROR):
        peer.receive(notification("_n"))
        await peer.idle()
    assert wire.sent == []
    assert "boom" in caplog.text


async def test_what_is_given_up_is_answered_once_and_stopped():
    stopped = []

    async def never(_):
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            stopped.append(True)
            raise

    wire, peer = make({"_never": never}, {"_note": never})
    peer.receive(request(1, "_never"))
    await asyncio.sleep(0)
    peer.receive(request(2, "_never"))
    peer.receive(notification("_note"))
    assert peer.running == 3
    peer.give_up(RpcError(-32603, "ending"))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert peer.running == 1
    assert wire.answer(1) == wire.answer(2) == -32603
    await peer.aclose()
    assert len(wire.sent) == 2
    assert stopped == [True, True]
