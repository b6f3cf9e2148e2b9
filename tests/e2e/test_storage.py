"""D01 D05: one database for several processes, and what happens when it is locked, damaged, newer, or full."""

import asyncio
import resource
import sqlite3
import time
from contextlib import AsyncExitStack, closing
from pathlib import Path

import pytest

from quillback_protocol.outgoing import RemoteError
from support.agent import agent, texts
from support.fake_model import FakeModel, Hang, Reply, Say
from support.play import kill
from support.requests import last_request

pytestmark = pytest.mark.anyio
PROCESSES, TURNS = 4, 6


def database(tmp_path: Path) -> Path:
    return tmp_path / "home" / "quillback" / "quillback.db"


def healthy(path: Path) -> bool:
    with closing(sqlite3.connect(path)) as db:
        return db.execute("PRAGMA integrity_check").fetchone()[0] == "ok"


def hold_lock(path: Path, seconds: float) -> None:
    with closing(sqlite3.connect(path, isolation_level=None, timeout=10)) as db:
        db.execute("BEGIN IMMEDIATE")
        time.sleep(seconds)
        db.execute("ROLLBACK")


async def test_processes_that_start_together_share_one_database(tmp_path, fake: FakeModel):
    async with AsyncExitStack() as stack:
        agents = await asyncio.gather(
            *(stack.enter_async_context(agent(tmp_path, fake.base_url)) for _ in range(PROCESSES))
        )
        sessions = await asyncio.gather(*(a.session() for a in agents))

        async def work(i: int, first: int, last: int) -> None:
            for n in range(first, last):
                fake.script(f"p{i}-{n}", Reply(Say(f"reply {i}-{n}.", 3, 0.01)))
                turn = await agents[i].client.prompt(sessions[i], f"[[p{i}-{n}]]")
                assert (turn.stop_reason, turn.text) == ("end_turn", f"reply {i}-{n}.")

        await asyncio.gather(*(work(i, 0, TURNS) for i in range(PROCESSES)))
        begun = time.monotonic()
        locked = asyncio.to_thread(hold_lock, database(tmp_path), 3.0)
        await asyncio.gather(locked, *(work(i, TURNS, TURNS + 1) for i in range(PROCESSES)))
        assert time.monotonic() - begun < 15
        listed = (await agents[0].client.request("session/list"))["sessions"]
        assert {s["sessionId"] for s in listed} == set(sessions)
        await asyncio.gather(*(work(i, TURNS + 1, TURNS + 2) for i in range(PROCESSES)))
    assert healthy(database(tmp_path))
    for i in range(PROCESSES):
        said = str(last_request(fake, f"p{i}-{TURNS + 1}")["messages"])
        assert all(f"reply {i}-{n}." in said for n in range(TURNS + 1))
        assert said.count("reply ") == TURNS + 1


async def test_a_session_is_open_in_one_process_only(tmp_path, fake: FakeModel):
    fake.script("a", Reply(Say("mine")))
    fake.script("b", Reply(Say("taken over")))
    async with agent(tmp_path, fake.base_url, polite=False) as a, agent(tmp_path, fake.base_url) as b:
        session = await a.session()
        await a.client.prompt(session, "[[a]]")
        for method in ("session/load", "session/resume"):
            params = {"sessionId": session, "cwd": str(b.workspace), "mcpServers": []}
            with pytest.raises(RemoteError, match=str(a.pid)) as refused:
                await b.client.request(method, params)
            assert refused.value.code == -32603
            assert session in refused.value.message
        with pytest.raises(RemoteError, match="open in another"):
            await b.client.request("session/delete", {"sessionId": session})
        assert not b.client.updates.get(session)
        await kill(a)
        await b.client.load_session(session, b.workspace)  # a dead owner is no owner
        assert (await b.client.prompt(session, "[[b]]")).text == "taken over"
        async with agent(tmp_path, fake.base_url) as c:
            await b.client.request("session/close", {"sessionId": session})
            await c.client.load_session(session, c.workspace)
            assert list(texts(c.client.updates[session]).values()) == ["mine", "taken over"]


@pytest.mark.parametrize("garbage", [b"garbage!" * 13, b""])
async def test_a_damaged_file_is_named_and_left_alone(tmp_path, fake: FakeModel, garbage):
    fake.script("a", Reply(Say("kept")))
    fake.script("b", Reply(Say("anew")))
    async with agent(tmp_path, fake.base_url) as a:
        await a.client.prompt(await a.session(), "[[a]]")
    path = database(tmp_path)
    damaged = garbage + path.read_bytes()[len(garbage) :] if garbage else path.read_bytes()[:5000]
    path.write_bytes(damaged)
    async with agent(tmp_path, fake.base_url) as b:
        for method, params in (
            ("session/new", {"cwd": str(b.workspace), "mcpServers": []}),
            ("session/list", {}),
            ("session/load", {"sessionId": "sess_x", "cwd": str(b.workspace), "mcpServers": []}),
            ("session/delete", {"sessionId": "sess_x"}),
        ):
            with pytest.raises(RemoteError) as refused:
                await b.client.request(method, params)
            assert refused.value.code == -32603, method
            assert str(path) in refused.value.message, method
            assert "Traceback" not in str(refused.value.data)
        assert path.read_bytes() == damaged
        path.rename(path.with_suffix(".aside"))
        for companion in path.parent.glob("quillback.db-*"):
            companion.unlink()
        assert (await b.client.prompt(await b.session(), "[[b]]")).text == "anew"
    assert healthy(path)


@pytest.mark.parametrize("cut", [0.5, 0.9])
async def test_a_log_that_was_cut_off_costs_the_end_only(tmp_path, fake: FakeModel, cut):
    async with agent(tmp_path, fake.base_url, polite=False) as a:
        sessions = []
        for n in range(4):
            fake.script(f"t{n}", Reply(Say(f"reply {n} " * 200)))
            sessions.append(await a.session())
            await a.client.prompt(sessions[-1], f"[[t{n}]]")
        await kill(a)
    log = database(tmp_path).with_name("quillback.db-wal")
    assert log.stat().st_size > 0
    log.write_bytes(log.read_bytes()[: int(log.stat().st_size * cut)])
    fake.script("b", Reply(Say("goes on")))
    async with agent(tmp_path, fake.base_url) as b:
        listed = {s["sessionId"] for s in (await b.client.request("session/list"))["sessions"]}
        assert listed == set(sessions[: len(listed)])
        assert listed
        for n, session in enumerate(sessions[: len(listed) - 1]):
            await b.client.load_session(session, b.workspace)
            assert list(texts(b.client.updates[session]).values()) == [f"reply {n} " * 200]
        assert (await b.client.prompt(await b.session(), "[[b]]")).text == "goes on"
    assert healthy(database(tmp_path))


async def test_a_newer_file_is_refused_untouched(tmp_path, fake: FakeModel):
    async with agent(tmp_path, fake.base_url) as a:
        await a.session()
    path = database(tmp_path)
    with closing(sqlite3.connect(path)) as db:
        known = db.execute("PRAGMA user_version").fetchone()[0]
        db.execute("PRAGMA user_version = 4711")
        db.commit()
    before = path.read_bytes()
    async with agent(tmp_path, fake.base_url) as b:
        assert b.initialized["protocolVersion"] == 1
        with pytest.raises(RemoteError, match=rf"4711.*\b{known}\b") as refused:
            await b.session()
        assert refused.value.code == -32603
        assert str(path) in refused.value.message
    assert path.read_bytes() == before
    assert sorted(p.name for p in path.parent.glob("quillback.db*")) == ["quillback.db"]


async def test_a_full_disk_is_told_and_what_waited_is_saved_later(tmp_path, fake: FakeModel):
    big = "much text " * 100_000
    for token, reply in {"a": Say("before"), "b": Say(big, 20), "c": Say("after")}.items():
        fake.script(token, Reply(reply))
    async with agent(tmp_path, fake.base_url) as a:
        session = await a.session()
        await a.client.prompt(session, "[[a]]")
        (a.workspace / "theirs.txt").write_text("untouched")
        log = database(tmp_path).with_name("quillback.db-wal")
        soft, hard = resource.prlimit(a.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(a.pid, resource.RLIMIT_FSIZE, (log.stat().st_size + 100_000, hard))
        with pytest.raises(RemoteError, match=r"[Nn]ot saved") as failed:
            await a.client.prompt(session, "[[b]]")
        assert failed.value.code == -32603
        assert str(database(tmp_path)) in failed.value.message
        assert (a.workspace / "theirs.txt").read_text() == "untouched"
        resource.prlimit(a.pid, resource.RLIMIT_FSIZE, (soft, hard))
        assert (await a.client.prompt(session, "[[c]]")).text == "after"
    assert healthy(database(tmp_path))
    async with agent(tmp_path, fake.base_url) as b:
        await b.client.load_session(session, b.workspace)
        assert list(texts(b.client.updates[session]).values()) == ["before", big, "after"]


async def test_a_turn_that_cannot_begin_to_be_saved_calls_no_model(tmp_path, fake: FakeModel):
    fake.script("a", Reply(Say("never")))
    async with agent(tmp_path, fake.base_url) as a:
        session = await a.session()
        soft, hard = resource.prlimit(a.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(a.pid, resource.RLIMIT_FSIZE, (0, hard))
        with pytest.raises(RemoteError, match=r"[Nn]ot saved"):
            await a.client.prompt(session, "[[a]]")
        assert fake.requests == []
        resource.prlimit(a.pid, resource.RLIMIT_FSIZE, (soft, hard))
        fake.script("b", Reply(Say("now")))
        assert (await a.client.prompt(session, "[[b]]")).text == "now"


async def test_a_lock_that_stays_ends_in_an_error_that_says_so(tmp_path, fake: FakeModel):
    fake.script("a", Reply(Say("said"), Hang()))
    async with agent(tmp_path, fake.base_url) as a:
        session = await a.session()
        turn = await a.client.start_prompt(session, "[[a]]")
        await turn.until(lambda u: "said" in str(u.get("content")))
        with closing(sqlite3.connect(database(tmp_path), isolation_level=None, timeout=10)) as db:
            db.execute("BEGIN IMMEDIATE")
            begun = time.monotonic()
            a.client.cancel(session)
            with pytest.raises(RemoteError, match=r"[Nn]ot saved"):
                await turn.finished()
            assert 4 < time.monotonic() - begun < 10  # the flush is bounded to five seconds
            db.execute("ROLLBACK")
    async with agent(tmp_path, fake.base_url) as b:
        await b.client.load_session(session, b.workspace)
        assert list(texts(b.client.updates[session]).values()) == ["said"]
