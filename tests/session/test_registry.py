"""The sessions of a process: how they are made, opened, closed and deleted, and what a crash left of them."""

import asyncio
from pathlib import Path

import pytest
from attrs import evolve

from quillback.core.mcp_server import StdioServer
from quillback.core.message import Text
from quillback.core.model import Thinking as ThinkingLevel
from quillback.core.ports import Mode, SessionBusyError, StoreError
from quillback.session.history import context_used
from quillback.session.ids import IdSource
from quillback.session.registry import BadDirectoryError, UnknownSessionError
from quillback.session.session import ClosedError
from support.fakes import Gate, until
from support.replies import call, partial, reply, say, think
from support.session_kit import collect, completed, kit
from support.stores import finish, start

pytestmark = pytest.mark.anyio


async def test_a_new_session_starts_with_the_defaults(tmp_path):
    async with kit(tmp_path) as k:
        (tmp_path / "more").mkdir()
        session = await k.sessions.new(k.cwd, [str(tmp_path / "more")])
        record = session.record
        assert (record.mode, record.model, record.thinking) == (Mode.AUTO, "m1", ThinkingLevel.OFF)
        assert (record.cwd, record.roots) == (k.cwd, (k.cwd, str(tmp_path / "more")))
        assert await k.store.session(record.id) == record
        assert k.sessions.get(record.id) is session
        assert record.id in k.store._leases.held


@pytest.mark.parametrize(
    "name", ["", "relative", "./x", "~", "/does/not/exist", "/etc/passwd", "/a\0b", "/" + "x" * 300]
)
async def test_a_directory_that_is_none_is_refused(tmp_path, name):
    async with kit(tmp_path) as k:
        before = await k.sessions.listed(cwd=None, before=None, limit=10)
        with pytest.raises(BadDirectoryError, match="cwd"):
            await k.sessions.new(name)
        with pytest.raises(BadDirectoryError, match="additionalDirectories"):
            await k.sessions.new(k.cwd, [name])
        assert await k.sessions.listed(cwd=None, before=None, limit=10) == before


async def test_a_directory_may_be_a_link(tmp_path):
    async with kit(tmp_path) as k:
        (tmp_path / "link").symlink_to(k.cwd)
        session = await k.sessions.new(str(tmp_path / "link"))
        assert session.record.cwd == str(tmp_path / "link")
        assert session.root == str(Path(k.cwd).resolve())
        await k.sessions.close(session.record.id)
        assert (await k.sessions.open(session.record.id, k.cwd)).record.cwd == str(tmp_path / "link")


# ---------------------------------------------------------------- open


async def test_a_closed_session_comes_back_as_it_was(tmp_path):
    scripts = [reply(think("hm"), say("look"), call("ping")), reply(say("done")), reply(say("again"))]
    async with kit(tmp_path, *scripts) as k:
        await k.play("one")
        k.session.set_mode(Mode.APPROVE)
        k.session.set_model("m2")
        k.session.set_thinking(ThinkingLevel.HIGH)
        before = k.session
        await k.sessions.close(before.record.id)
        back = await k.sessions.open(before.record.id, k.cwd)
        assert back is not before
        assert back.history == before.history
        assert back.record == before.record
        assert (back.record.mode, back.model.id) == (Mode.APPROVE, "m2")
        assert context_used(back.history) == 1111
        k.session = back
        assert completed(await k.play("two")).text == "again"
        request = k.model.requests[-1]
        assert (request.model.id, request.thinking) == ("m2", ThinkingLevel.HIGH)


async def test_opening_an_open_session_gives_the_same_one(tmp_path):
    async with kit(tmp_path) as k:
        assert await k.sessions.open(k.session.record.id, k.cwd) is k.session


async def test_two_that_open_a_session_at_once_get_one(tmp_path):
    async with kit(tmp_path) as k:
        session_id = k.session.record.id
        await k.sessions.close(session_id)
        one, two = await asyncio.gather(*(k.sessions.open(session_id, k.cwd) for _ in range(2)))
        assert one is two
        assert len(k.toolboxes) == 2


async def test_a_session_that_is_being_closed_is_opened_after_that(tmp_path):
    gate = Gate()
    async with kit(tmp_path, [*partial(say("half")), gate]) as k:
        session_id = k.session.record.id
        running = collect(k.session.submit([Text("hi")]))
        await gate.wait()
        closing = asyncio.ensure_future(k.sessions.close(session_id))
        await asyncio.sleep(0)
        back = await k.sessions.open(session_id, k.cwd)
        assert closing.done()
        assert [m.text() for m in back.history] == ["hi", "half"]
        await running
        assert session_id in k.store._leases.held


async def test_an_unknown_session_is_said_to_be_unknown(tmp_path):
    async with kit(tmp_path) as k:
        for attempt in (k.sessions.open("sess_9", k.cwd), k.sessions.close("sess_9")):
            with pytest.raises(UnknownSessionError) as caught:
                await attempt
            assert caught.value.session_id == "sess_9"
        with pytest.raises(UnknownSessionError):
            k.sessions.get("sess_9")


async def test_a_session_belongs_to_its_directory(tmp_path):
    async with kit(tmp_path) as k:
        (tmp_path / "other").mkdir()
        session_id = k.session.record.id
        with pytest.raises(BadDirectoryError, match="belongs to"):
            await k.sessions.open(session_id, str(tmp_path / "other"))
        await k.sessions.close(session_id)
        for wrong in (str(tmp_path / "other"), "relative", str(tmp_path / "none")):
            with pytest.raises(BadDirectoryError):
                await k.sessions.open(session_id, wrong)
        assert session_id not in k.store._leases.held
        (tmp_path / "more").mkdir()
        back = await k.sessions.open(session_id, k.cwd, [str(tmp_path / "more")])
        assert back.record.roots == (k.cwd, str(tmp_path / "more"))


async def test_a_session_of_another_live_process_is_busy(tmp_path):
    async with kit(tmp_path) as k:
        session_id = k.session.record.id
        await k.sessions.close(session_id)
        script = """
            async def main():
                async with opened(path) as store:
                    await store.acquire(arguments[0])
                    print("mine", flush=True)
                    sys.stdin.readline()
            asyncio.run(main())
        """
        other = start(script, tmp_path / "quillback.db", session_id)
        assert await asyncio.to_thread(other.stdout.readline) == "mine\n"
        with pytest.raises(SessionBusyError):
            await k.sessions.open(session_id, k.cwd)
        other.stdin.write("\n")
        await asyncio.to_thread(finish, [other])
        assert (await k.sessions.open(session_id, k.cwd)).record.id == session_id


async def test_a_session_that_cannot_be_read_is_given_back(tmp_path):
    async with kit(tmp_path) as k:
        session_id = k.session.record.id
        await k.sessions.close(session_id)

        async def fails(_):
            raise StoreError("cannot be read")

        messages, k.store.messages = k.store.messages, fails
        with pytest.raises(StoreError, match="cannot be read"):
            await k.sessions.open(session_id, k.cwd)
        assert session_id not in k.store._leases.held
        k.store.messages = messages
        assert await k.sessions.open(session_id, k.cwd)


# ---------------------------------------------------------------- list, close, delete


async def test_sessions_are_listed_by_directory_and_newest_first(tmp_path):
    times = iter(range(1000, 9000, 1000))
    async with kit(tmp_path) as k:
        k.sessions._services = evolve(k.services, now=lambda: next(times))
        (tmp_path / "other").mkdir()
        first = await k.sessions.new(k.cwd)
        second = await k.sessions.new(str(tmp_path / "other"))
        third = await k.sessions.new(k.cwd)
        everywhere = [r.id for r in await k.sessions.listed(cwd=None, before=None, limit=10)]
        assert [i for i in everywhere if i != k.session.record.id] == [s.record.id for s in (third, second, first)]
        here = await k.sessions.listed(cwd=str(tmp_path / "other"), before=None, limit=10)
        assert here == [second.record]


async def test_a_deleted_session_is_gone_with_what_ran_in_it(tmp_path):
    gate = Gate()
    async with kit(tmp_path, [gate]) as k:
        session_id = k.session.record.id
        running = collect(k.session.submit([Text("hi")]))
        await gate.wait()
        await k.sessions.delete(session_id)
        assert completed(await running)
        assert await k.store.session(session_id) is None
        assert await k.stored() == []
        assert k.toolboxes[0].closed == 1
        assert k.forgotten == [session_id]
        await k.sessions.delete(session_id)
        await k.sessions.delete("sess_9")
        assert k.forgotten == [session_id]
        with pytest.raises(UnknownSessionError):
            await k.sessions.open(session_id, k.cwd)


async def test_after_the_end_nothing_is_opened_any_more(tmp_path):
    gate = Gate()
    async with kit(tmp_path, [gate]) as k:
        other = await k.sessions.new(k.cwd)
        running = collect(k.session.submit([Text("hi")]))
        await gate.wait()
        late = asyncio.ensure_future(k.sessions.new(k.cwd))
        await asyncio.sleep(0)
        await k.sessions.close_all()
        assert completed(await running).stop_reason.value == "cancelled"
        with pytest.raises(ClosedError):
            await late
        for refused in (k.sessions.new(k.cwd), k.sessions.open(other.record.id, k.cwd)):
            with pytest.raises(ClosedError):
                await refused
        with pytest.raises(ClosedError):
            other.submit([Text("hi")])
        assert k.store._leases.held == set()


# ---------------------------------------------------------------- callers that give up


@pytest.mark.parametrize("name", ["close", "delete"])
async def test_an_end_goes_on_when_its_caller_gives_up(tmp_path, name):
    gate = Gate()
    async with kit(tmp_path, [gate]) as k:
        session_id = k.session.record.id
        running = collect(k.session.submit([Text("hi")]))
        await gate.wait()
        ending = asyncio.create_task(getattr(k.sessions, name)(session_id))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        ending.cancel()
        await asyncio.wait({ending})
        assert ending.cancelled()
        assert completed(await running).stop_reason.value == "cancelled"
        await until(lambda: session_id not in k.store._leases.held)
        await until(lambda: k.toolboxes[0].closed)
        with pytest.raises(UnknownSessionError):
            await k.sessions.close(session_id)
        assert (await k.store.session(session_id) is None) == (name == "delete")


async def test_an_end_that_nobody_waits_for_is_waited_for_at_the_end(tmp_path):
    async with kit(tmp_path) as k:
        ending = asyncio.create_task(k.sessions.close(k.session.record.id))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        ending.cancel()
        await k.sessions.close_all()
        assert k.store._leases.held == set()


@pytest.mark.parametrize("ticks", [0, 1, 2, 3, 5, 8, 13, 21, 34])
async def test_a_session_that_nobody_waits_for_any_more_is_not_kept(tmp_path, ticks):
    async with kit(tmp_path) as k:
        before = {r.id for r in await k.sessions.listed(cwd=None, before=None, limit=10)}
        making = asyncio.create_task(k.sessions.new(k.cwd))
        for _ in range(ticks):
            await asyncio.sleep(0.0005)
        making.cancel()
        await asyncio.wait({making})
        made = set() if making.cancelled() else {making.result().record.id}
        await until(lambda: not k.sessions._works)
        assert {r.id for r in await k.sessions.listed(cwd=None, before=None, limit=10)} == before | made
        assert k.store._leases.held == {k.session.record.id} | made


@pytest.mark.parametrize("ticks", [0, 1, 2, 3, 5, 8, 13, 21, 34])
async def test_a_session_whose_opening_was_given_up_is_free(tmp_path, ticks):
    async with kit(tmp_path) as k:
        session_id = k.session.record.id
        await k.sessions.close(session_id)
        opening = asyncio.create_task(k.sessions.open(session_id, k.cwd))
        for _ in range(ticks):
            await asyncio.sleep(0.0005)
        opening.cancel()
        await asyncio.wait({opening})
        await until(lambda: not k.sessions._works)
        assert (session_id in k.store._leases.held) != opening.cancelled()
        assert (await k.sessions.open(session_id, k.cwd)).record.id == session_id


async def test_settings_that_an_open_session_ignores_are_named(tmp_path, caplog):
    async with kit(tmp_path) as k:
        (tmp_path / "more").mkdir()
        session_id = k.session.record.id
        server = StdioServer("s", "/bin/true", (), {})
        await k.sessions.open(session_id, k.cwd)
        assert caplog.text == ""
        await k.sessions.open(session_id, k.cwd, servers=[server])
        await k.sessions.open(session_id, k.cwd, [str(tmp_path / "more")])
        assert caplog.text.count("is open already and keeps") == 2
        await k.sessions.close(session_id)
        await k.sessions.open(session_id, k.cwd, [str(tmp_path / "more")], [server])
        await k.sessions.open(session_id, k.cwd, [str(tmp_path / "more")], [server])
        assert caplog.text.count("is open already and keeps") == 2


# ---------------------------------------------------------------- ids


def test_ids_are_unique_and_sort_by_time():
    new_id = IdSource()
    ids = [new_id("msg") for _ in range(2000)]
    assert ids == sorted(ids)
    assert len(set(ids)) == len(ids)
    assert all(i.startswith("msg_") for i in ids)
    assert new_id("call") > "call_"


async def test_a_worker_is_gone_when_there_is_nothing_to_do(tmp_path):
    async with kit(tmp_path, reply(say("1"))) as k:
        assert not k.session.busy
        await k.play()
        await until(lambda: not k.session.busy)
