"""What files held before they were changed is kept by turn, bounded, and goes with its session."""

from pathlib import Path

import aiosqlite
import pytest

from quillback.core import undo
from quillback.core.ports import StoreError
from quillback.core.undo import KEPT_BYTES, KEPT_TURNS, NO_FILE, Before, digest_of
from quillback.store.migrations import m001_initial, m002_audit
from support.stores import finish, opened, query, start

pytestmark = pytest.mark.anyio


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "q.db"


def before(name: str, content: bytes | None, mode: int | None = 0o644, made: str = "") -> Before:
    return Before(f"/real/{name}", f"/w/{name}", content, None if content is None else mode, made)


def digest(text: str) -> str:
    return digest_of(text.encode())


async def test_what_is_kept_comes_back_as_it_was(path):
    every = bytes(range(256)) + "\ud800".encode("utf-16", "surrogatepass")
    async with opened(path, "s1") as store:
        await store.originals.keep("s1", "p1", before("a", every, 0o755, "/real/new"), digest("one"))
        await store.originals.keep("s1", "p1", before("b", None), digest("two"))
        await store.originals.written("s1", "p1", "/real/b", digest("two"))
    async with opened(path) as store:
        second, first = await store.originals.latest("s1")
        a = await store.originals.original(first)
        assert (a.prompt, a.path, a.name, a.content, a.mode) == ("p1", "/real/a", "/w/a", every, 0o755)
        assert (a.made, a.before, a.written, a.writing) == ("/real/new", digest_of(every), "", digest("one"))
        b = await store.originals.original(second)
        assert (b.content, b.mode, b.before, b.written) == (None, None, NO_FILE, digest("two"))
        assert await store.originals.latest("s2") == []
        assert await store.originals.original(99) is None
    assert path.stat().st_mode & 0o077 == 0


async def test_only_the_first_content_of_a_turn_is_kept(path):
    async with opened(path, "s1") as store:
        keep = store.originals.keep
        await keep("s1", "p1", before("a", b"zero"), digest("one"))
        await store.originals.written("s1", "p1", "/real/a", digest("one"))
        await keep("s1", "p1", before("a", b"one"), digest("two"))
        (number,) = await store.originals.latest("s1")
        kept = await store.originals.original(number)
        assert (kept.content, kept.written, kept.writing) == (b"zero", digest("one"), digest("two"))
        # what was about to be written counts too, when the note of it never came
        await keep("s1", "p1", before("a", b"two"), digest("three"))
        assert len(await store.originals.latest("s1")) == 1
        await keep("s1", "p2", before("a", b"three"), digest("four"))
        (number,) = await store.originals.latest("s1")
        assert (await store.originals.original(number)).content == b"three"


async def test_what_others_wrote_in_between_is_kept_for_itself(path):
    async with opened(path, "s1") as store:
        keep = store.originals.keep
        await keep("s1", "p1", before("a", b"zero"), digest("one"))
        await keep("s1", "p1", before("a", b"by the user"), digest("two"))
        contents = [(await store.originals.original(n)).content for n in await store.originals.latest("s1")]
        assert contents == [b"by the user", b"zero"]
        await keep("s1", "p1", before("b", b"zero"), digest("one"))  # and was never written
        await keep("s1", "p1", before("b", None), digest("two"))  # since others removed it
        contents = [(await store.originals.original(n)).content for n in await store.originals.latest("s1")]
        assert contents == [None, b"zero", b"by the user", b"zero"]


async def test_turns_come_newest_first_and_settled_ones_are_gone(path):
    async with opened(path, "s1", "s2") as store:
        for turn in ("p1", "p2"):
            for name in ("a", "b"):
                await store.originals.keep("s1", turn, before(name, turn.encode()), digest("x"))
        await store.originals.keep("s2", "p3", before("a", b""), digest("x"))
        newest = await store.originals.latest("s1")
        assert newest == sorted(newest, reverse=True)
        await store.originals.failed(newest[0])
        assert (await store.originals.original(newest[0])).failed
        for number in newest:
            await store.originals.settle(number)
        (last, _) = await store.originals.latest("s1")
        assert (await store.originals.original(last)).content == b"p1"
        await store.delete_session("s1")
        assert await store.originals.latest("s1") == []
        assert query(path, "SELECT session_id FROM originals") == [("s2",)]


async def test_large_files_are_named_and_not_kept(path):
    async with opened(path, "s1") as store:
        for name, size in (("fits", KEPT_BYTES), ("large", KEPT_BYTES + 1)):
            await store.originals.keep("s1", "p1", before(name, b"x" * size), digest("small"))
        large, fits = [await store.originals.original(n) for n in await store.originals.latest("s1")]
        assert len(fits.content) == KEPT_BYTES
        assert large.content is None
        assert large.before == digest_of(b"x" * (KEPT_BYTES + 1))


async def test_the_last_turns_are_kept_and_no_more(path):
    async with opened(path, "s1", "s2") as store:
        await store.originals.keep("s2", "other", before("a", b""), digest("x"))
        for turn in range(KEPT_TURNS + 5):
            await store.originals.keep("s1", f"p{turn}", before("a", b""), digest("x"))
        turns = [
            prompt for (prompt,) in query(path, "SELECT prompt_id FROM originals WHERE session_id = 's1' ORDER BY n")
        ]
        assert turns == [f"p{turn}" for turn in range(5, KEPT_TURNS + 5)]
        assert len(await store.originals.latest("s2")) == 1


async def test_the_sum_of_what_is_kept_is_bounded_but_for_the_latest_turn(path, monkeypatch):
    monkeypatch.setattr("quillback.store.originals.KEPT_TOTAL", 1000)
    assert undo.KEPT_TOTAL > 1000
    async with opened(path, "s1") as store:
        for turn in ("p1", "p2", "p3"):
            await store.originals.keep("s1", turn, before("a", b"x" * 450), digest("x"))
        left = "SELECT DISTINCT prompt_id FROM originals"
        assert query(path, left) == [("p2",), ("p3",)]
        for name in ("b", "c", "d"):
            await store.originals.keep("s1", "p4", before(name, b"x" * 600), digest("x"))
        assert query(path, left) == [("p4",)]
        assert len(await store.originals.latest("s1")) == 3


async def test_a_session_that_is_gone_keeps_nothing(path):
    async with opened(path) as store:
        with pytest.raises(StoreError, match="Session s1"):
            await store.originals.keep("s1", "p1", before("a", b""), digest("x"))


async def test_a_database_of_an_older_version_gets_the_table(path):
    async with aiosqlite.connect(path) as db:
        await m001_initial(db)
        await m002_audit(db)
        await db.execute("PRAGMA user_version = 2")
        await db.commit()
    async with opened(path, "s1") as store:
        await store.originals.keep("s1", "p1", before("a", b"old"), digest("x"))
        assert len(await store.originals.latest("s1")) == 1


def test_what_is_kept_outlives_a_kill(path):
    script = """
        from quillback.core.undo import Before

        async def main():
            async with opened(path, "s1") as store:
                await store.originals.keep("s1", "p1", Before("/f", "/f", b"before", 0o600), "digest")
                print("kept", flush=True)
                os.kill(os.getpid(), signal.SIGKILL)

        asyncio.run(main())
    """
    process = start(script, path)
    assert process.stdout.readline() == "kept\n"
    process.communicate(timeout=30)
    look = """
        async def main():
            async with opened(path) as store:
                (number,) = await store.originals.latest("s1")
                print((await store.originals.original(number)).content)

        asyncio.run(main())
    """
    assert finish([start(look, path)]) == ["b'before'\n"]
