"""What a killed process left of a session is repaired when it is opened, and the repair is written once."""

import asyncio
from pathlib import Path

import pytest
from attrs import evolve

from quillback.core.assemble import CUT
from quillback.core.event import PartGrew
from quillback.core.message import MessageState, Role, Text
from quillback.core.repair import INTERRUPTED, unanswered
from support.fakes import Gate
from support.replies import call, partial, reply, say, think
from support.session_kit import collect, completed, kit
from support.stores import finish, new_store, start

pytestmark = pytest.mark.anyio


async def crashed(k, *items) -> str:
    """A session whose process was killed in mid-reply, after `items`."""
    gate = Gate()
    k.model.scripts = [[*items, gate]]
    running = collect(k.session.submit([Text("hi")]))
    await gate.wait()
    await k.store.flush()
    session_id = k.session.record.id
    copy = k.store._path.with_name("after.db")
    await copy_database(k.store._path, copy)
    k.session.cancel()
    await running
    return session_id


async def copy_database(path: Path, copy: Path) -> None:
    """What a killed process would have left of it."""
    script = """
        import sqlite3
        source, target = sqlite3.connect(path), sqlite3.connect(arguments[0])
        source.backup(target)
        target.execute("DELETE FROM leases")
        target.commit()
    """
    await asyncio.to_thread(finish, [start(script, path, str(copy))])


async def test_what_a_crash_left_is_repaired_and_the_repair_is_written_once(tmp_path):
    async with kit(tmp_path) as k:
        items = partial(say("half"), call("ping"), call("write", '{"path": "a'))
        session_id = await crashed(k, *items)
        streams = []
        for _ in range(3):
            store = new_store(tmp_path / "after.db")
            sessions = k.again()
            sessions._services = evolve(k.services, store=store)
            session = await sessions.open(session_id, k.cwd)
            streams.append(list(session.history))
            assert await store.messages(session_id) == session.history
            await sessions.close_all()
            await store.close()
        assert streams[0] == streams[1] == streams[2]
        _, half, *results = streams[0]
        assert (half.state, half.text()) == (MessageState.INTERRUPTED, "half")
        assert [c.problem for c in half.tool_uses()] == ["", CUT]
        assert [r.content[0].text for m in results for r in m.tool_results()] == [INTERRUPTED] * 2
        assert [m.seq for m in streams[0]] == [1, 2, 3, 4]
        assert unanswered(streams[0]) == []


async def test_prompts_that_waited_when_it_crashed_are_kept_and_not_run(tmp_path):
    async with kit(tmp_path) as k:
        gate = Gate()
        k.model.scripts = [[gate, *reply(say("1"))], reply(say("2"))]
        runs = [collect(k.session.submit([Text(text)])) for text in "ab"]
        await gate.wait()
        await k.store.flush()
        await copy_database(k.store._path, tmp_path / "after.db")
        gate.open()
        await asyncio.gather(*runs)
        for _ in range(2):
            store = new_store(tmp_path / "after.db")
            sessions = k.again()
            sessions._services = evolve(k.services, store=store)
            session = await sessions.open(k.session.record.id, k.cwd)
            assert [(m.text(), m.seq, m.state) for m in session.history] == [
                ("a", 1, MessageState.COMPLETE),
                ("b", 2, MessageState.NOT_RUN),
            ]
            assert session.history[1].visible_to_model is False
            await sessions.close_all()
            await store.close()


async def test_the_session_works_after_the_repair(tmp_path):
    async with kit(tmp_path) as k:
        session_id = await crashed(k, *partial(think("hm"), call("ping")))
        store = new_store(tmp_path / "after.db")
        sessions = k.again()
        sessions._services = evolve(k.services, store=store)
        session = await sessions.open(session_id, k.cwd)
        k.model.scripts = [reply(say("here"))]
        events = await k.play("next", session)
        assert completed(events).text == "here"
        assert any(isinstance(e, PartGrew) for e in events)
        assert [m.role for m in session.history] == [Role.USER, Role.ASSISTANT, Role.TOOL, Role.USER, Role.ASSISTANT]
        await sessions.close_all()
        await store.close()
