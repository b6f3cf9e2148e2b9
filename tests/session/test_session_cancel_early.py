"""A cancel that comes after a prompt was accepted and before its turn has begun ends it all the same."""

import asyncio

import pytest

from quillback.core.commands import Desk, Say
from quillback.core.event import StopReason
from quillback.core.hooks import NOTHING, HookAnswer, HookCall, HookPoint
from quillback.core.message import MessageState, Text
from quillback.session.undo import UndoBusyError
from support.fakes import until
from support.replies import reply, say
from support.session_kit import Kit, collect, completed, drain, kit

pytestmark = pytest.mark.anyio


class Meanwhile:
    """A hook that has nothing to say; what `then` does happens after its answer and before the turn."""

    def __init__(self) -> None:
        self.then = lambda: None

    def any(self, point: HookPoint) -> bool:
        return point is HookPoint.USER_PROMPT_SUBMIT

    async def fire(self, call: HookCall) -> HookAnswer:
        asyncio.get_running_loop().call_soon(self.then)
        return NOTHING


async def check_not_run(k: Kit, running) -> None:
    assert completed(await running).stop_reason is StopReason.CANCELLED
    assert k.model.requests == []
    assert [(m.text(), m.state) for m in await k.stored()] == [("hi", MessageState.NOT_RUN)]
    assert completed(await drain(k.session.submit([Text("and now?")]))).text == "I am here"


async def test_while_it_waits_for_an_undo(tmp_path, monkeypatch):
    async with kit(tmp_path, reply(say("I am here"))) as k:
        begun, go_on = asyncio.Event(), asyncio.Event()
        latest = k.store.originals.latest

        async def slow(session_id: str):
            begun.set()
            await go_on.wait()
            return await latest(session_id)

        monkeypatch.setattr(type(k.store.originals), "latest", lambda _, session_id: slow(session_id))
        undo = asyncio.create_task(k.session.undo())
        await asyncio.wait_for(begun.wait(), 5)
        running = collect(k.session.submit([Text("hi")]))
        await until(lambda: k.session._running is not None)
        with pytest.raises(UndoBusyError):
            await k.session.undo()
        k.session.cancel()
        go_on.set()
        await undo
        await check_not_run(k, running)


@pytest.mark.parametrize("how", ["cancel", "withdraw"])
async def test_in_the_moment_in_which_its_hooks_are_done(tmp_path, how):
    meanwhile = Meanwhile()
    async with kit(tmp_path, reply(say("I am here")), hooks=meanwhile) as k:
        pipe = k.session.submit([Text("hi")])
        meanwhile.then = k.session.cancel if how == "cancel" else lambda: k.session.withdraw(pipe)
        running = collect(pipe)
        await until(lambda: not k.session.busy)
        meanwhile.then = lambda: None
        await check_not_run(k, running)


class Cancelled:
    """A command that is cancelled when it has done its work."""

    def __init__(self) -> None:
        self.then = lambda: None

    def available(self) -> tuple[()]:
        return ()

    async def changed(self) -> None:
        await asyncio.Event().wait()

    async def run(self, name: str, argument: str, desk: Desk) -> Say:
        asyncio.get_running_loop().call_soon(self.then)
        return Say("It is done.")


async def test_in_the_moment_in_which_a_command_is_done_what_it_did_is_told(tmp_path):
    command = Cancelled()
    async with kit(tmp_path, reply(say("I am here")), commands=command) as k:
        command.then = k.session.cancel
        done = completed(await k.play("/undo"))
        assert (done.stop_reason, done.text) == (StopReason.CANCELLED, "It is done.")
        assert [(m.text(), m.state) for m in await k.stored()] == [
            ("/undo", MessageState.COMPLETE),
            ("It is done.", MessageState.COMPLETE),
        ]
