"""Frames, handlers and a Peer over a transport in memory."""

import asyncio

from quillback_protocol.peer import Peer
from support.wire import Wire


def make(requests=None, notifications=None, **more):
    wire = Wire()
    return wire, Peer(wire, {} if requests is None else requests, notifications or {}, **more)


def request(request_id, method, params=None):
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}


def notification(method, params=None):
    return {"jsonrpc": "2.0", "method": method, "params": params}


def cancel_request(request_id):
    return notification("$/cancel_request", {"requestId": request_id})


async def settle(rounds=10):
    for _ in range(rounds):
        await asyncio.sleep(0)


async def hang(_):
    await asyncio.Event().wait()
