"""Sessions, rules, and what the file looks like from outside."""

import stat
from pathlib import Path

import pytest
from attrs import evolve

from quillback.core.message import Text
from quillback.core.model import Thinking
from quillback.core.ports import Mode, Rule, RuleEffect, SessionBusyError, Store, StoreError
from quillback.store.migrations import MIGRATIONS
from support.stores import message, new_store, opened, query, record, said, streaming

pytestmark = pytest.mark.anyio


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "home" / "q.db"


async def test_it_is_a_store(path: Path) -> None:
    store: Store = new_store(path)
    await store.close()
    await store.close()
    assert not path.parent.exists()


async def test_the_files_are_private(path: Path) -> None:
    async with opened(path, "s1") as store:
        store.put(said("m1", "hi"))
        await store.flush()
        modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in (path.parent, *path.parent.iterdir())}
        assert modes == {"home": 0o700, "q.db": 0o600, "q.db-wal": 0o600, "q.db-shm": 0o600}
    path.chmod(0o644)
    async with opened(path) as store:
        await store.open()
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


async def test_the_connection_is_set_up(path: Path) -> None:
    async with opened(path) as store:
        await store.open()
        await store.open()
        assert query(path, "PRAGMA journal_mode") == [("wal",)]
        assert query(path, "PRAGMA user_version") == [(len(MIGRATIONS),)]


async def test_a_session_comes_back(path: Path) -> None:
    full = record(cwd="/w/ü", roots=("/w", "/x"), mode=Mode.AUTO, thinking=Thinking.HIGH, title="t", cost=0.25)
    async with opened(path) as store:
        await store.create_session(full)
        assert await store.session("s1") == full
        assert await store.session("s\ud800") is None
        with pytest.raises(StoreError, match="already"):
            await store.create_session(full)
        changed = evolve(full, title="new \ud800", updated_at=7)
        store.save_session(changed)
        store.save_session(record("unknown"))
        assert await store.session("s1") == evolve(changed, title="new \ufffd")
        assert await store.session("unknown") is None
    async with opened(path) as store:
        assert await store.session("s1") == evolve(changed, title="new \ufffd")


async def test_sessions_are_listed_page_by_page(path: Path) -> None:
    async with opened(path) as store:
        for n in range(7):
            await store.create_session(record(f"s{n}", updated_at=n // 2, cwd="/w" if n % 2 else "/w/"))
        pages, before = [], None
        while page := await store.sessions(before=before, limit=3):
            pages.append([found.id for found in page])
            before = (page[-1].updated_at, page[-1].id)
        assert pages == [["s6", "s5", "s4"], ["s3", "s2", "s1"], ["s0"]]
        assert [found.id for found in await store.sessions(cwd="/w")] == ["s5", "s3", "s1"]
        assert [found.id for found in await store.sessions(cwd="/w/", before=(2, "s4"))] == ["s2", "s0"]
        assert await store.sessions(cwd="/W") == []


async def test_deleting_a_session_leaves_nothing_of_it(path: Path) -> None:
    async with opened(path, "s1", "s2") as store:
        await store.acquire("s1")
        store.put(streaming("m1"))
        store.put(message("m2", Text("other"), session_id="s2"))
        await store.flush()
        await store.delete_session("s1")
        await store.delete_session("unknown")
        assert await store.session("s1") is None
        assert [found.id for found in await store.sessions()] == ["s2"]
        for table in ("messages", "journal", "leases"):
            left = query(path, f"SELECT * FROM {table}")
            assert [row[:2] for row in left] == ([("m2", "s2")] if table == "messages" else [])


async def test_subagents_are_listed_only_where_asked_for_and_go_with_their_parent(path: Path) -> None:
    async with opened(path, "s1", "other") as store:
        child = evolve(record("c1"), parent="s1")
        grandchild = evolve(record("c2"), parent="c1")
        for one in (child, grandchild):
            await store.create_session(one)
            await store.acquire(one.id)
        store.put(evolve(said("m1", "hi"), session_id="c2"))
        store.save_session(evolve(child, title="new"))
        assert await store.session("c1") == evolve(child, title="new")
        assert {r.id for r in await store.sessions()} == {"s1", "other"}
        assert {r.id for r in await store.sessions(subagents=True)} == {"s1", "other", "c1", "c2"}
        async with opened(path) as elsewhere:
            with pytest.raises(SessionBusyError, match="c1"):
                await elsewhere.delete_session("s1")
        await store.delete_session("s1")
        assert {r.id for r in await store.sessions(subagents=True)} == {"other"}
        assert await store.messages("c2") == []
        with pytest.raises(StoreError):
            await store.create_session(evolve(record("c3"), parent="s1"))
    assert query(path, "SELECT * FROM leases") == []


async def test_a_session_has_one_owner(path: Path) -> None:
    async with opened(path, "s1") as first, opened(path) as second:
        await first.acquire("s1")
        await first.acquire("s1")
        with pytest.raises(SessionBusyError, match=r"process \d+.*Close it there"):
            await second.acquire("s1")
        with pytest.raises(SessionBusyError):
            await second.delete_session("s1")
        await second.release("s1")
        with pytest.raises(SessionBusyError):
            await second.acquire("s1")
        await first.release("s1")
        await second.acquire("s1")
        with pytest.raises(SessionBusyError):
            await first.acquire("s1")
    assert query(path, "SELECT * FROM leases") == []


async def test_the_latest_answer_is_the_rule(path: Path) -> None:
    allow = Rule("/w", "shell(ls)", RuleEffect.ALLOW)
    other = Rule("/w", "shell(rm)", RuleEffect.REJECT)
    times = iter(range(1, 9))
    async with opened(path, now=lambda: next(times)) as store:
        await store.add_rule(allow)
        await store.add_rule(other)
        await store.add_rule(Rule("/x", "shell(ls)", RuleEffect.ALLOW))
        assert await store.rules("/w") == [allow, other]
        await store.add_rule(evolve(allow, effect=RuleEffect.REJECT))
        assert await store.rules("/w") == [other, evolve(allow, effect=RuleEffect.REJECT)]
        assert await store.rules("/nowhere") == []
        listed = await store.all_rules()
        assert [rule for _, rule in listed] == [
            other,
            Rule("/x", "shell(ls)", RuleEffect.ALLOW),
            evolve(allow, effect=RuleEffect.REJECT),
        ]
        assert await store.delete_rule(listed[0][0])
        assert not await store.delete_rule(listed[0][0])
        assert await store.all_rules() == listed[1:]
