"""Flushing and closing under cancellation, in crowds, and where the file is out of reach."""

import asyncio
import sqlite3
import threading
import time
from pathlib import Path

import pytest

from quillback.core.event import PartOpened
from quillback.core.message import Text
from quillback.core.ports import StoreError
from quillback.store import sqlite, writer
from quillback.store.outbox import Outbox
from support.stores import delta, new_store, opened, query, record, said, streaming

pytestmark = pytest.mark.anyio


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "home" / "q.db"


def lockable(path: Path) -> bool:
    """Whether nobody holds the write lock."""
    try:
        query(path, "BEGIN IMMEDIATE")
    except sqlite3.OperationalError:
        return False
    return True


async def test_a_cancelled_flush_leaves_all_of_it_or_nothing(path: Path) -> None:
    async with opened(path, "s1") as store:
        store.put(streaming("m1"))
        store.journal(PartOpened("m1", 0, Text("", "r1")))
        for n in range(120):
            store.journal(delta("m1", f"{n} "))
            flushing = asyncio.create_task(store.flush())
            for _ in range(n % 40):
                await asyncio.sleep(0)
            flushing.cancel()
            if n % 3 == 0:
                await asyncio.sleep(0.002)
        await store.flush()
        assert lockable(path)
        assert (await store.messages("s1"))[0].text() == "".join(f"{n} " for n in range(120))


async def test_every_method_can_be_cancelled_anywhere(path: Path) -> None:
    async with opened(path, "s1") as store:
        store.put(said("m1", "text"))
        for n in range(60):
            calls = [store.messages("s1"), store.acquire("s1"), store.release("s1"), store.sessions()]
            tasks = [asyncio.create_task(call) for call in calls]
            for _ in range(n):
                await asyncio.sleep(0)
            for task in tasks:
                task.cancel()
        assert await store.messages("s1") == [said("m1", "text")]
        assert lockable(path)


async def test_many_may_flush_at_once(path: Path) -> None:
    async with opened(path, "s1") as store:

        async def work(worker: int) -> None:
            for n in range(20):
                store.put(said(f"m{worker}-{n}", "x", seq=1 + worker * 20 + n))
                await store.flush()
                for _ in range(worker):  # out of step with the others
                    await asyncio.sleep(0)
                assert query(path, "SELECT 1 FROM messages WHERE id = ?", f"m{worker}-{n}") == [(1,)]

        await asyncio.gather(*(work(n) for n in range(8)))
        assert len(await store.messages("s1")) == 160


async def test_a_flush_that_found_nothing_left_does_not_stand_for_the_next(path: Path) -> None:
    outbox = Outbox()
    owner = writer.Writer(path, outbox)
    for ticks in range(8):
        outbox.save(record())
        flushes = []
        while outbox:
            flushes.append(asyncio.create_task(owner.flush()))
            await asyncio.sleep(0)
        for _ in range(ticks):
            await asyncio.sleep(0)
        outbox.save(record())
        await owner.flush()
        assert not outbox
        await asyncio.gather(*flushes)
    await owner.stop(5)


async def test_one_that_gives_up_leaves_the_flush_to_the_others(path: Path) -> None:
    async with opened(path, "s1") as store:
        store.put(said("m1", "saved"))
        first, second = asyncio.create_task(store.flush()), asyncio.create_task(store.flush())
        await asyncio.sleep(0)
        first.cancel()
        await second
        assert first.cancelled()
        assert query(path, "SELECT id FROM messages") == [("m1",)]


async def test_a_flush_with_nothing_to_write_does_nothing(path: Path) -> None:
    store = new_store(path)
    await store.flush()
    await store.close()
    assert not path.parent.exists()


async def test_the_background_flush_tries_again(
    path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(writer, "RETRY_FIRST", 0.02)
    async with opened(path, "s1"):
        pass
    kept = path.with_name("kept")
    path.rename(kept)
    path.mkdir()
    store = new_store(path)
    store.put(said("m1", "kept"))
    store.put(said("m2", "too", seq=2))
    async with asyncio.timeout(5):
        while caplog.text.count("Not saved: 2 x message") < 2:
            await asyncio.sleep(0.01)
        path.rmdir()
        kept.rename(path)
        while len(query(path, "SELECT id FROM messages")) < 2:
            await asyncio.sleep(0.01)
    assert [m.text() for m in await store.messages("s1")] == ["kept", "too"]
    await store.close()


async def test_close_saves_what_waits(path: Path) -> None:
    async with opened(path, "s1") as store:
        await store.acquire("s1")
        store.put(said("m1", "last words"))
    assert query(path, "SELECT id FROM messages") == [("m1",)]
    assert sorted(file.name for file in path.parent.iterdir()) == ["q.db"]
    assert not [task for task in asyncio.all_tasks() if task.get_name().startswith("store ")]


async def test_close_does_not_wait_for_a_lock_for_ever(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "CLOSE_WAIT", 0.5)
    store = new_store(path)
    await store.create_session(record())
    await store.acquire("s1")
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    store.put(said("m1", "lost"))
    began = time.monotonic()
    with pytest.raises(StoreError, match=r"Not saved: 1 x message.*q\.db is locked"):
        await store.close()
    assert time.monotonic() - began < 2
    holder.close()
    assert not [thread for thread in threading.enumerate() if "connection_worker" in thread.name]


async def test_a_store_in_a_hurry_gives_waiting_work_up(path: Path) -> None:
    async with opened(path, "s1") as store:
        holder = sqlite3.connect(path, isolation_level=None)
        holder.execute("BEGIN IMMEDIATE")
        store.put(said("m1", "late"))
        flushing = asyncio.create_task(store.flush())
        await asyncio.sleep(0.1)  # it waits, and shows no sign of that
        began = time.monotonic()
        store.hurry(0.2)
        with pytest.raises(StoreError, match=r"Not saved: 1 x message.*q\.db is locked"):
            await flushing
        assert time.monotonic() - began < 1.5
        holder.close()
    assert query(path, "SELECT id FROM messages") == [("m1",)]


async def test_a_close_ends_in_time_though_the_disk_hangs(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store, go_on = new_store(path), threading.Event()
    await store.create_session(record())
    await store.acquire("s1")

    async def hangs(_: object) -> None:
        await asyncio.to_thread(go_on.wait)

    hanging = asyncio.create_task(store._writer.run(hangs))
    store.put(said("m1", "lost"))
    began = time.monotonic()
    with pytest.raises(StoreError, match=r"Not saved: 1 x message.*takes too long"):
        await store.close(0.5)
    assert time.monotonic() - began < 1.5
    assert "could not be closed in time" in caplog.text
    go_on.set()
    await hanging
    assert store._writer._task is not None
    await store._writer._task


async def test_a_cancelled_close_still_closes(path: Path) -> None:
    store = new_store(path)
    await store.create_session(record())
    store.put(said("m1", "saved"))
    closing = asyncio.create_task(store.close())
    await asyncio.sleep(0)
    closing.cancel()
    await asyncio.wait({closing})
    await store.close()
    assert query(path, "SELECT id FROM messages") == [("m1",)]
    assert sorted(file.name for file in path.parent.iterdir()) == ["q.db"]


async def test_a_closed_store_refuses_work(path: Path) -> None:
    async with opened(path, "s1") as store:
        pass
    store.put(said("m1", "late"))
    with pytest.raises(StoreError, match=r"Not saved: 1 x message\. The database .*q\.db is closed"):
        await store.flush()
    with pytest.raises(StoreError, match="is closed"):
        await store.open()
