"""Several processes on one file: first start, locks, kills, and who owns a session."""

import asyncio
import signal
import sqlite3
import time
from pathlib import Path
from subprocess import Popen

import pytest

from quillback.core.message import MessageState
from quillback.core.ports import SessionBusyError, StoreError
from quillback.store import writer
from support.stores import finish, new_store, opened, query, record, said, start

pytestmark = pytest.mark.anyio


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "home" / "q.db"


def line(process: Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def go(process: Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


TURNS = """
    name = arguments[0]
    async def main():
        print("ready")
        sys.stdin.readline()
        async with opened(path, name) as store:
            await store.acquire(name)
            for n in range(1, 31):
                store.put(streaming(f"{name}-{n}", seq=n, session_id=name))
                store.journal(PartOpened(f"{name}-{n}", 0, Text("", "r1")))
                store.journal(delta(f"{name}-{n}", f"{name} says {n}"))
                await store.flush()
                store.put(said(f"{name}-{n}", f"{name} says {n}", seq=n, session_id=name))
                store.save_session(record(name, updated_at=n))
                await store.flush()
    asyncio.run(main())
"""


async def test_processes_that_start_at_once_share_the_file(path: Path) -> None:
    names = ["a", "b", "c", "d"]
    processes = [start(TURNS, path, name) for name in names]
    assert [line(process) for process in processes] == ["ready"] * 4
    for process in processes:
        go(process)
    finish(processes)
    async with opened(path) as store:
        for name in names:
            texts = [m.text() for m in await store.messages(name)]
            assert texts == [f"{name} says {n}" for n in range(1, 31)]
        assert {(r.id, r.updated_at) for r in await store.sessions()} == {(name, 30) for name in names}
    assert query(path, "PRAGMA integrity_check") == [("ok",)]
    assert query(path, "SELECT * FROM leases") + query(path, "SELECT * FROM journal") == []


async def test_a_lock_of_another_program_only_delays(path: Path) -> None:
    async with opened(path, "s1") as store:
        holder = sqlite3.connect(path, isolation_level=None)
        holder.execute("BEGIN IMMEDIATE")
        began = time.monotonic()
        store.put(said("m1", "patient"))
        waiting = asyncio.create_task(store.flush())
        late = new_store(path)
        creating = asyncio.create_task(late.create_session(record("s2")))
        await asyncio.sleep(2)
        assert not waiting.done()
        holder.execute("COMMIT")
        holder.close()
        await asyncio.gather(waiting, creating)
        assert 2 <= time.monotonic() - began < 4
        await late.close()
        assert [m.text() for m in await store.messages("s1")] == ["patient"]


async def test_a_lock_that_stays_is_told_and_nothing_is_lost(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "BUSY_WAIT", 0.3)
    async with opened(path, "s1") as store:
        holder = sqlite3.connect(path, isolation_level=None)
        holder.execute("BEGIN IMMEDIATE")
        store.put(said("m1", "kept"))
        with pytest.raises(StoreError, match=r"Not saved: 1 x message\. The database .*q\.db is locked"):
            await store.flush()
        store.put(said("m2", "too", seq=2))
        with pytest.raises(StoreError, match="2 x message"):
            await store.flush()
        holder.close()
        assert [m.text() for m in await store.messages("s1")] == ["kept", "too"]


STREAM = """
    async def main():
        async with opened(path, "s1") as store:
            await store.acquire("s1")
            store.put(said("m1", "question"))
            store.put(streaming("m2", seq=2))
            store.journal(PartOpened("m2", 0, Text("", "r1")))
            n = 0
            while True:
                for _ in range(7):
                    store.journal(delta("m2", f"{n} "))
                    n += 1
                await store.flush()
                print(n, flush=True)
                await asyncio.sleep(0)
    asyncio.run(main())
"""


async def test_what_was_flushed_survives_a_kill(path: Path) -> None:
    process = start(STREAM, path)
    assert process.stdout is not None
    said_flushed = [process.stdout.readline() for _ in range(40)]
    process.kill()
    said_flushed += process.stdout.readlines()
    process.communicate(timeout=30)
    flushed = max(int(count) for count in said_flushed if count.endswith("\n"))
    assert flushed >= 280
    assert query(path, "PRAGMA integrity_check") == [("ok",)]
    async with opened(path) as store:
        await store.acquire("s1")
        question, answer = await store.messages("s1")
        assert question == said("m1", "question")
        assert answer.state is MessageState.INTERRUPTED
        words = answer.text().split()
        assert words == [str(n) for n in range(len(words))]
        assert len(words) >= flushed
        assert await store.messages("s1") == [question, answer]


OWN = """
    async def main():
        async with opened(path, "s1") as store:
            await store.acquire("s1")
            print(os.getpid(), flush=True)
            sys.stdin.readline()
    asyncio.run(main())
"""


async def test_a_dead_owner_is_replaced_at_once(path: Path) -> None:
    process = start(OWN, path)
    pid = line(process)
    async with opened(path) as store:
        with pytest.raises(SessionBusyError, match=f"process {pid}"):
            await store.acquire("s1")
        with pytest.raises(SessionBusyError, match=f"process {pid}"):
            await store.delete_session("s1")
        process.send_signal(signal.SIGKILL)
        async with asyncio.timeout(10):  # it is dead before its parent has looked after it
            while True:
                try:
                    await store.acquire("s1")
                    break
                except SessionBusyError:
                    await asyncio.sleep(0.01)
        assert process.returncode is None
        process.communicate(timeout=10)
        assert len(query(path, "SELECT * FROM leases")) == 1


async def test_an_owner_that_ends_well_leaves_no_lease(path: Path) -> None:
    process = start(OWN, path)
    line(process)
    go(process)
    finish([process])
    assert query(path, "SELECT * FROM leases") == []


FORGOTTEN = """
    async def main():
        store = new_store(path)
        await store.create_session(record())
        await store.acquire("s1")
        store.put(said("m1", "saved"))
        await store.flush()
        store.put(said("m2", "perhaps", seq=2))
        if arguments[0] == "error":
            raise SystemExit(0)
    asyncio.run(main())
"""


@pytest.mark.parametrize("how", ["end", "error"])
async def test_a_process_that_forgets_to_close_ends_quietly(path: Path, how: str) -> None:
    finish([start(FORGOTTEN, path, how)])
    async with opened(path) as store:
        await store.acquire("s1")
        assert (await store.messages("s1"))[0].text() == "saved"
