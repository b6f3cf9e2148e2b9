"""Questions that a server puts to the user in the middle of a call: as a request, or in place of a result."""

import asyncio
from collections.abc import Mapping
from typing import Any

from quillback.core.message import JsonObject
from quillback.core.ports import EditorError, FormAnswer
from quillback.mcp.calls import OpenCalls
from quillback.mcp.link import Ask
from quillback.mcp.text import clean

ROUNDS = 8
"""Times a call is sent, with answers to what the server asked before it goes on."""

_MESSAGE_LIMIT = 2_000
_PAUSE = 0.2


class Forms:
    """The forms of one server; while one is open no call of the server is overdue."""

    def __init__(self, server: str, calls: OpenCalls, ask: Ask) -> None:
        self._server = server
        self._calls = calls
        self._ask = ask
        self._open: set[asyncio.Future[FormAnswer]] = set()

    async def ask(self, message: str, schema: JsonObject) -> FormAnswer:
        """Cancelled outside of a call, and when the last call it can belong to is given up."""
        if not self._calls.waited_for:
            return FormAnswer("cancel", {})
        form = asyncio.ensure_future(self._ask(f"{self._server}: {message}", schema))
        self._open.add(form)
        try:
            with self._calls.held():
                await asyncio.wait({form})
        finally:
            self._open.discard(form)
            form.cancel()
        return FormAnswer("cancel", {}) if form.cancelled() else form.result()

    def withdraw(self) -> None:
        for form in self._open:
            form.cancel()


async def answered(ask: Ask, message: str, schema: JsonObject) -> dict[str, Any]:
    """What came of a form, as MCP says it; one that could not be shown counts as cancelled."""
    try:
        answer = await ask(clean(message)[:_MESSAGE_LIMIT], schema)
    except EditorError:
        return {"action": "cancel"}
    return {"action": answer.action, **({"content": dict(answer.content)} if answer.action == "accept" else {})}


async def further(answer: JsonObject, ask: Ask | None) -> JsonObject | None:
    """What to add to the params of a call whose `answer` asks for more; None for an answer that is a result, or asks
    for something other than forms."""
    if answer.get("resultType") != "input_required":
        return None
    requests = answer.get("inputRequests") or {}
    if not isinstance(requests, Mapping):
        return None
    responses = {}
    for key, request in requests.items():
        match request:
            case {"method": "elicitation/create", "params": {"message": str(message), "requestedSchema": dict(schema)}}:
                if ask is None:
                    return None
                responses[key] = await answered(ask, message, schema)
            case _:
                return None
    if not responses:
        await asyncio.sleep(_PAUSE)  # it only wants to be asked again
    state = answer.get("requestState")
    more: dict[str, Any] = {"inputResponses": responses} if responses else {}
    return {**more, "requestState": state} if isinstance(state, str) else more or None
