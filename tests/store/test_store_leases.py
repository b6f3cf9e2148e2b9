"""When an owner counts as alive."""

import os
from itertools import count
from pathlib import Path

import pytest
from attrs import evolve

from quillback.core.ports import SessionBusyError
from quillback.store import sqlite
from quillback.store.leases import LIFE, Processes
from support.processes import until
from support.stores import opened, query


class Proc:
    """A /proc of our own with this process in it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.boot = root / "sys/kernel/random/boot_id"
        self.boot.parent.mkdir(parents=True)
        self.boot.write_text("boot-1\n")
        (root / "self/ns").mkdir(parents=True)
        self.set_space("pid:[1]")
        self.put(os.getpid())

    def set_space(self, name: str) -> None:
        link = self.root / "self/ns/pid"
        link.unlink(missing_ok=True)
        link.symlink_to(name)

    def put(self, pid: int, started: int = 5, state: str = "S", name: str = "quill back) R (1") -> None:
        (self.root / str(pid)).mkdir(exist_ok=True)
        fields = [state, *(str(n) for n in range(4, 22)), str(started), *(str(n) for n in range(23, 53))]
        (self.root / str(pid) / "stat").write_text(f"{pid} ({name}) {' '.join(fields)}\n")


@pytest.fixture
def proc(tmp_path: Path) -> Proc:
    return Proc(tmp_path / "proc")


def test_the_same_process_lives(proc: Proc) -> None:
    processes = Processes(proc.root)
    me = processes.me()
    assert me.pid == os.getpid()
    assert processes.lives(me, silent=0)
    assert processes.lives(me, silent=10 * LIFE)  # it may have been suspended


def test_a_process_that_is_gone_is_dead(proc: Proc) -> None:
    processes = Processes(proc.root)
    assert not processes.lives(evolve(processes.me(), pid=os.getpid() + 1), silent=0)


def test_a_later_process_with_the_same_pid_is_another(proc: Proc) -> None:
    processes = Processes(proc.root)
    me = processes.me()
    proc.put(os.getpid(), started=6)
    assert not processes.lives(me, silent=0)


@pytest.mark.parametrize("state", ["Z", "X"])
def test_a_dead_process_that_nobody_buried_is_dead(proc: Proc, state: str) -> None:
    processes = Processes(proc.root)
    me = processes.me()
    proc.put(os.getpid(), state=state)
    assert not processes.lives(me, silent=0)


def test_nothing_survives_a_restart_of_the_machine(proc: Proc) -> None:
    processes = Processes(proc.root)
    me = processes.me()
    proc.boot.write_text("boot-2\n")
    assert not processes.lives(me, silent=0)


def test_a_process_of_another_container_is_judged_by_its_heartbeat(proc: Proc) -> None:
    processes = Processes(proc.root)
    me = evolve(processes.me(), pid=os.getpid() + 1)
    proc.set_space("pid:[2]")
    assert processes.lives(me, silent=LIFE - 1)
    assert not processes.lives(me, silent=LIFE)


def test_the_real_proc_knows_this_process() -> None:
    processes = Processes()
    me = processes.me()
    assert processes.lives(me, silent=0)
    assert me.birth or not Path("/proc/self/stat").exists()


@pytest.mark.anyio
async def test_without_proc_the_heartbeat_decides(tmp_path: Path) -> None:
    path, time = tmp_path / "q.db", [0]
    blind = Processes(tmp_path / "nothing")
    assert blind.me().birth == ""
    options = {"now": lambda: time[0], "processes": blind}
    async with opened(path, "s1", **options) as first, opened(path, **options) as second:
        await first.acquire("s1")
        time[0] = LIFE - 1
        with pytest.raises(SessionBusyError):
            await second.acquire("s1")
        time[0] = LIFE
        await second.acquire("s1")
        await first.release("s1")
        with pytest.raises(SessionBusyError):
            await first.acquire("s1")


@pytest.mark.anyio
async def test_an_owner_gives_signs_of_life(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(sqlite, "HEARTBEAT", 0.01)
    path, ticks = tmp_path / "q.db", count(1)
    async with opened(path, "s1", now=lambda: next(ticks)) as store:
        await store.acquire("s1")
        assert await until(lambda: query(path, "SELECT heartbeat FROM leases")[0][0] >= 5)
        query(path, "DELETE FROM leases")
        assert await until(lambda: "took a session over" in caplog.text)


@pytest.mark.anyio
async def test_sessions_of_live_processes_are_known(tmp_path: Path) -> None:
    path = tmp_path / "q.db"
    async with opened(path, "s1", "s2", "s3") as one, opened(path) as other:
        await one.acquire("s1")
        await other.acquire("s2")
        query(path, "INSERT INTO leases VALUES ('s3', 'gone', 999999999, 'x y z', 0)")
        assert await one.live_sessions() == await other.live_sessions() == {"s1", "s2"}
        await other.release("s2")
        assert await one.live_sessions() == {"s1"}
