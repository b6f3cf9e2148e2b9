"""What goes wrong in a turn ends that turn at most, is told, and never ends it twice or not at all."""

import asyncio

import pytest
from attrs import evolve

from quillback.core.event import (
    RetryScheduled,
    StopReason,
)
from quillback.core.message import MessageState, Text
from quillback.core.model import Failure, ProviderError
from quillback.core.ports import StoreError
from quillback.core.turn_types import Limits
from quillback.session import driver
from support.fakes import FakeTool, outcome, progress
from support.replies import call, partial, reply, say, spec
from support.session_kit import completed, drain, kit, shown_results
from support.stores import new_store
from support.turn_kit import failure

pytestmark = pytest.mark.anyio


class Clock:
    """Stands in for asyncio in one module: its sleeps take no time, and are noted."""

    def __init__(self) -> None:
        self.waits: list[float] = []

    def __getattr__(self, name):
        return getattr(asyncio, name)

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)


async def test_a_failed_request_is_tried_again_after_a_wait(tmp_path, monkeypatch):
    clock = Clock()
    monkeypatch.setattr(driver, "asyncio", clock)
    async with kit(tmp_path, [*partial(say("ha")), failure()], [failure(retry_after=7)], reply(say("done"))) as k:
        events = await k.play()
        assert [(e.attempt, e.delay) for e in events if isinstance(e, RetryScheduled)] == [(2, 1.0), (3, 7)]
        assert clock.waits == [1.0, 7]
        assert completed(events).text == "done"
        assert [m.text() for m in await k.stored()] == ["do it", "done"]


async def test_a_request_that_cannot_succeed_ends_the_turn_and_the_next_prompt_works(tmp_path):
    async with kit(tmp_path, [*partial(say("ha")), failure(Failure.INVALID, "No.")], reply(say("done"))) as k:
        end = completed(await k.play())
        assert (end.error, end.error_kind, end.text) == ("No.", "invalid_request", "ha")
        assert completed(await k.play()).text == "done"
        assert [m.state for m in await k.stored()][1] is MessageState.INTERRUPTED


async def test_a_provider_that_breaks_ends_the_turn_without_its_secrets(tmp_path):
    async with kit(tmp_path, [*partial(say("ha")), ValueError("secret")], reply(say("done"))) as k:
        end = completed(await k.play())
        assert "ValueError" in end.error
        assert "secret" not in end.error
        assert end.error_kind == "internal"
        assert completed(await k.play()).text == "done"


async def test_a_stream_that_is_cancelled_from_inside_ends_the_turn_and_not_the_session(tmp_path):
    async with kit(tmp_path, [*partial(say("ha")), asyncio.CancelledError()], reply(say("done"))) as k:
        first, second = k.session.submit([Text("1")]), k.session.submit([Text("2")])
        assert "failed inside" in completed(await drain(first)).error
        assert completed(await drain(second)).text == "done"


@pytest.mark.parametrize(
    ("error", "said", "kind"),
    [
        (ProviderError(Failure.NO_CREDENTIALS, "No key is set."), "No key is set.", "no_credentials"),
        (StoreError("The disk is full."), "The disk is full.", "store"),
        (RuntimeError("secret"), "Quillback failed inside; its log says more.", "internal"),
    ],
)
async def test_a_turn_that_cannot_begin_is_answered_and_its_prompt_is_kept(tmp_path, error, said, kind):
    async with kit(tmp_path) as k:

        def provider(_):
            raise error

        k.session._services = evolve(k.services, provider=provider)
        end = completed(await k.play())
        assert (end.error, end.error_kind) == (said, kind)
        assert [m.text() for m in await k.stored()] == ["do it"]
        assert not k.session.busy


async def test_a_tool_that_breaks_is_a_result_and_never_ends_the_turn(tmp_path):
    async def breaks(_):
        yield progress("so far")
        raise ValueError("secret")

    tool = FakeTool(spec("breaks"), breaks)
    async with kit(tmp_path, reply(call("breaks"), call("ping")), reply(say("done")), tools=[tool]) as k:
        events = await k.play()
        assert completed(events).text == "done"
        assert sorted(shown_results(events)) == ["breaks failed inside: ValueError. Try another way.", "ping"]


async def test_the_limits_of_a_turn_hold(tmp_path):
    scripts = [reply(call("read", {"path": str(n)})) for n in range(3)]
    async with kit(tmp_path, *scripts, limits=Limits(max_steps=3)) as k:
        end = completed(await k.play())
        assert end.stop_reason is StopReason.MAX_TURN_REQUESTS
        assert "3 steps" in end.text


async def test_a_result_can_end_the_turn(tmp_path):
    async def asks(_):
        yield outcome("asked", stop_turn=True)

    async with kit(tmp_path, reply(say("a question"), call("ask")), tools=[FakeTool(spec("ask"), asks)]) as k:
        end = completed(await k.play())
        assert (end.stop_reason, end.text) == (StopReason.END_TURN, "a question")
        assert k.results() == ["asked"]


async def test_an_unknown_stop_reason_is_logged(tmp_path, caplog):
    async with kit(tmp_path, reply(say("done"), stop="new_reason")) as k:
        assert completed(await k.play()).stop_reason is StopReason.END_TURN
    assert "new_reason" in caplog.text


# ---------------------------------------------------------------- the end is saved


class Fragile:
    """A store whose flush fails or hangs when told to."""

    def __init__(self, real) -> None:
        self._real = real
        self.fails_from: int | None = None
        self.hangs = False
        self.flushes = 0

    def __getattr__(self, name):
        return getattr(self._real, name)

    async def flush(self) -> None:
        self.flushes += 1
        if self.fails_from is not None and self.flushes >= self.fails_from:
            raise StoreError("Not saved: 2 x message. The disk is full.")
        if self.hangs:
            await asyncio.Event().wait()
        await self._real.flush()


def fragile(path):
    return Fragile(new_store(path))


@pytest.mark.parametrize("fails_from", range(1, 12))
async def test_whenever_the_store_fails_the_answer_says_what_is_not_saved(tmp_path, fails_from):
    scripts = [reply(say("look"), call("ping"), call("read", {"path": "a"})), reply(say("done"))]
    async with kit(tmp_path, *scripts, store=fragile) as k:
        k.store.flushes, k.store.fails_from = 0, fails_from
        events = await k.play()
        total = k.store.flushes
        end = completed(events)
        k.store.fails_from = None
        if fails_from <= total:
            assert "Not saved: 2 x message" in end.error
            assert end.error_kind == "store"
        else:
            assert end.error == ""
        assert not k.session.busy
        k.model.scripts = [reply(say("again"))]
        assert completed(await k.play()).text == "again"
        assert await k.stored() == k.session.history


async def test_a_store_that_hangs_holds_the_answer_up_for_a_bounded_time(tmp_path, monkeypatch):
    monkeypatch.setattr("quillback.session.saving.FLUSH_SECONDS", 0.05)

    async def then_hangs(request):
        for event in reply(say("done")):
            yield event
        k.store.hangs = True

    async with kit(tmp_path, then_hangs, store=fragile) as k:
        end = completed(await k.play())
        assert "Not saved yet" in end.error
        assert (end.error_kind, end.text) == ("store", "done")
        k.store.hangs = False
