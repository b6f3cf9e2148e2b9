"""Deleting a session takes those of its subagents along, and nothing said to one that is gone counts as saved."""

import asyncio

import pytest
from attrs import evolve

from quillback.core.message import Text
from quillback.session.registry import UnknownSessionError
from quillback.session.session import ClosedError
from support.fakes import Gate, until
from support.replies import reply, say
from support.session_kit import Kit, collect, completed, kit
from support.stores import query

pytestmark = pytest.mark.anyio


async def family(k: Kit) -> tuple[str, str, str]:
    """Sessions of a subagent, of one below it, and of somebody else."""
    record, ids = k.session.record, ("sess_child", "sess_grandchild", "sess_other")
    for one, parent in zip(ids, (record.id, "sess_child", ""), strict=True):
        await k.store.create_session(evolve(record, id=one, parent=parent))
    return ids


@pytest.mark.parametrize("middle", [True, False])
async def test_deleting_closes_the_whole_family_first(tmp_path, middle):
    gate = Gate()
    async with kit(tmp_path, [gate], reply(say("fine"))) as k:
        child, grandchild, other = await family(k)
        last = await k.sessions.open(grandchild, k.cwd)
        opened = [await k.sessions.open(child, k.cwd)] if middle else []
        stays = await k.sessions.open(other, k.cwd)
        running = collect(last.submit([Text("hi")]))
        await gate.wait()
        await k.sessions.delete(k.session.record.id)
        end = completed(await running)
        assert (end.stop_reason.value, end.error) == ("cancelled", "")
        for session in (k.session, last, *opened):
            with pytest.raises(ClosedError):
                session.submit([Text("more")])
            with pytest.raises(UnknownSessionError):
                k.sessions.get(session.record.id)
        assert sorted(k.forgotten) == sorted(s.record.id for s in (k.session, last, *opened))
        assert k.store._leases.held == {other}
        assert [r.id for r in await k.store.sessions(subagents=True)] == [other]
        assert completed(await k.play("hi", stays)).error == ""


@pytest.mark.parametrize("ticks", [0, 1, 2, 3, 5, 8, 13, 21])
@pytest.mark.parametrize("delete_first", [True, False])
async def test_none_of_a_family_is_opened_while_it_is_deleted(tmp_path, ticks, delete_first):
    async with kit(tmp_path) as k:
        child, grandchild, _ = await family(k)
        works = [
            lambda: k.sessions.delete(k.session.record.id),
            lambda: asyncio.gather(*(k.sessions.open(one, k.cwd) for one in (child, grandchild))),
        ]
        first, second = works if delete_first else works[::-1]
        beginning = asyncio.ensure_future(first())
        for _ in range(ticks):
            await asyncio.sleep(0.0005)
        results = await asyncio.gather(beginning, second(), return_exceptions=True)
        for result in results:
            assert not isinstance(result, Exception) or isinstance(result, UnknownSessionError)
        for one in (child, grandchild):
            with pytest.raises(UnknownSessionError):
                k.sessions.get(one)
        await until(lambda: not k.store._leases.held)
        assert query(tmp_path / "quillback.db", "SELECT session_id FROM leases") == []


@pytest.mark.parametrize("when", ["before", "meanwhile"])
async def test_a_prompt_to_a_session_that_another_process_deleted_is_answered_with_an_error(tmp_path, when):
    gate = Gate()
    async with kit(tmp_path, [gate, *reply(say("lost"))], reply(say("fine"))) as k:
        other = await k.sessions.new(k.cwd)
        session_id, database = k.session.record.id, tmp_path / "quillback.db"
        await k.store.flush()
        if when == "before":
            query(database, "DELETE FROM sessions WHERE id = ?", session_id)
        running = collect(k.session.submit([Text("hi")]))
        await gate.wait()
        query(database, "DELETE FROM sessions WHERE id = ?", session_id)
        gate.open()
        end = completed(await running)
        assert end.error_kind == "store"
        assert f"the session {session_id} was deleted meanwhile" in end.error
        assert completed(await k.play("hi", other)).error == "", "no other session is concerned"
