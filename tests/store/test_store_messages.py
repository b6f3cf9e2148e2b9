"""The message stream: order, the journal, what a restart finds."""

import os
from pathlib import Path

import pytest
from attrs import evolve

from quillback.core.event import Growth, PartClosed, PartGrew, PartOpened
from quillback.core.message import MessageState, Text, Thinking, ToolUse
from quillback.core.ports import StoreError
from support.processes import until
from support.stores import delta, finish, message, opened, query, said, start, streaming

pytestmark = pytest.mark.anyio


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "q.db"


async def test_messages_come_in_seq_order_and_queued_ones_last(path: Path) -> None:
    queued = [message(f"q{n}", Text("later"), seq=0, state=MessageState.QUEUED, created_at=9 - n) for n in (1, 2)]
    async with opened(path, "s1", "s2") as store:
        for each in (*queued, said("b", "2", seq=2), said("x", "other", session_id="s2"), said("a", "1", seq=1)):
            store.put(each)
        assert [m.id for m in await store.messages("s1")] == ["a", "b", "q1", "q2"]
        store.put(evolve(queued[0], seq=3, state=MessageState.COMPLETE))
        assert [m.id for m in await store.messages("s1")] == ["a", "b", "q1", "q2"]
        assert (await store.messages("s1"))[2].seq == 3
        assert await store.messages("nobody") == []


async def test_put_replaces_and_drop_removes(path: Path) -> None:
    async with opened(path, "s1") as store:
        store.put(said("a", "old"))
        await store.flush()
        store.put(said("a", "new"))
        store.put(said("b", "gone", seq=2))
        store.drop("b")
        store.drop("never seen")
        store.put(said("c", "takes its place", seq=2))
        assert [m.text() for m in await store.messages("s1")] == ["new", "takes its place"]
    async with opened(path) as store:
        assert [m.text() for m in await store.messages("s1")] == ["new", "takes its place"]


async def test_an_entry_is_written_soon_without_a_flush(path: Path) -> None:
    async with opened(path, "s1") as store:
        store.put(said("a", "soon"))
        assert await until(lambda: query(path, "SELECT id FROM messages") == [("a",)])


async def test_deltas_between_two_flushes_are_one_row(path: Path) -> None:
    async with opened(path, "s1") as store:
        store.put(streaming("m1"))
        store.put(streaming("m2", seq=2))
        for each in ("m1", "m2"):
            store.journal(PartOpened(each, 0, Text("", "r1")))
        for n in range(50):  # two messages at a time
            store.journal(delta("m1", f"{n} "))
            store.journal(delta("m2", "x"))
        store.journal(PartOpened("m1", 1, Thinking("")))
        store.journal(PartGrew("m1", 1, Growth.THOUGHT, "hm", "r2"))
        await store.flush()
        store.journal(PartGrew("m1", 1, Growth.THOUGHT, "!", "r2"))
        await store.flush()
        assert query(path, "SELECT message_id, count(*) FROM journal GROUP BY 1") == [("m1", 5), ("m2", 2)]
        first, second = await store.messages("s1")
        assert first.parts == (Text("".join(f"{n} " for n in range(50)), "r1"), Thinking("hm!"))
        assert second.text() == "x" * 50


async def test_the_final_message_takes_the_place_of_its_journal(path: Path) -> None:
    async with opened(path, "s1") as store:
        store.put(streaming("m1"))
        store.journal(PartOpened("m1", 0, Text("", "r1")))
        store.journal(delta("m1", "hello"))
        await store.flush()
        store.put(said("m1", "hello"))
        store.journal(delta("m1", "too late"))
        await store.flush()
        assert query(path, "SELECT count(*) FROM journal") == [(0,)]
        assert await store.messages("s1") == [said("m1", "hello")]


async def test_a_message_that_streams_here_comes_as_it_stands(path: Path) -> None:
    async with opened(path, "s1") as store:
        store.put(streaming("m1"))
        store.journal(PartOpened("m1", 0, Text("", "r1")))
        store.journal(delta("m1", "hel"))
        (now,) = await store.messages("s1")
        assert (now.state, now.text()) == (MessageState.STREAMING, "hel")
        store.journal(delta("m1", "lo"))
        assert (await store.messages("s1"))[0].text() == "hello"


async def test_what_a_dead_process_left_is_interrupted_once(path: Path) -> None:
    use = ToolUse("c1", "p1", "shell")
    async with opened(path, "s1") as store:
        store.put(streaming("m1"))
        store.put(streaming("empty", seq=2))
        for event in (
            PartOpened("m1", 0, Text("", "r1")),
            delta("m1", "I will"),
            PartClosed("m1", 0, Text("I will", "r1")),
            PartOpened("m1", 1, use),
            PartGrew("m1", 1, Growth.INPUT, '{"comm'),
        ):
            store.journal(event)
    expected = message("m1", Text("I will", "r1"), evolve(use, raw='{"comm'), state=MessageState.INTERRUPTED)
    async with opened(path) as store:
        assert await store.messages("s1") == [expected]
        assert query(path, "SELECT count(*) FROM journal") == [(0,)]
        stored = query(path, "SELECT * FROM messages")
        assert await store.messages("s1") == [expected]
        assert query(path, "SELECT * FROM messages") == stored
        assert [row[3] for row in stored] == ["interrupted"]


async def test_a_released_session_streams_no_more(path: Path) -> None:
    async with opened(path, "s1") as store:
        await store.acquire("s1")
        store.put(streaming("m1"))
        store.journal(PartOpened("m1", 0, Text("cut")))
        await store.release("s1")
        assert [m.state for m in await store.messages("s1")] == [MessageState.INTERRUPTED]


async def test_only_what_does_not_stream_here_is_interrupted(path: Path) -> None:
    async with opened(path, "s1") as store:
        store.put(streaming("dead"))
        store.journal(PartOpened("dead", 0, Text("cut")))
    async with opened(path) as store:
        store.put(streaming("live", seq=2))
        states = {m.id: m.state for m in await store.messages("s1")}
        assert states == {"dead": MessageState.INTERRUPTED, "live": MessageState.STREAMING}


async def test_what_streams_in_another_live_store_is_left_alone(path: Path) -> None:
    async with opened(path, "s1") as owner, opened(path) as reader:
        await owner.acquire("s1")
        owner.put(streaming("m1"))
        owner.journal(PartOpened("m1", 0, Text("so far", "r1")))
        await owner.flush()
        (seen,) = await reader.messages("s1")
        assert (seen.state, seen.text()) == (MessageState.STREAMING, "so far")
        owner.journal(delta("m1", " and on"))
        owner.put(said("m1", "so far and on"))
        await owner.flush()
        assert await reader.messages("s1") == [said("m1", "so far and on")]


async def test_entries_of_a_deleted_session_do_not_hold_up_others(path: Path) -> None:
    async with opened(path, "s1", "s2") as store:
        store.put(streaming("m1"))
        await store.flush()
        await store.delete_session("s1")
        store.journal(PartOpened("m1", 0, Text("late")))
        store.put(said("m1", "late"))
        store.put(said("m2", "kept", session_id="s2"))
        await store.flush()
        assert [row[0] for row in query(path, "SELECT id FROM messages")] == ["m2"]


async def test_what_can_never_be_stored_is_told_and_holds_up_nothing(path: Path) -> None:
    async with opened(path, "s1") as store:
        store.put(said("a", "first", seq=1))
        store.put(said("b", "a place beyond what fits", seq=1 << 70))
        store.put(said("c", "second", seq=2))
        with pytest.raises(StoreError, match="message b"):
            await store.flush()
        assert [m.id for m in await store.messages("s1")] == ["a", "c"]


async def test_a_message_whose_place_another_process_took_gets_the_next(path: Path) -> None:
    """So may it be after a lease was taken over from a process that slept."""
    async with opened(path, "s1") as one, opened(path) as other:
        one.put(said("a", "first", seq=1))
        await one.flush()
        other.put(said("b", "of the other", seq=2))
        other.put(said("d", "of the other", seq=4))
        await other.flush()
        queued = message("c", Text("prompt"), seq=0, state=MessageState.QUEUED)
        one.put(queued)
        one.put(evolve(queued, seq=2, state=MessageState.COMPLETE))
        one.put(streaming("e", seq=3))
        one.journal(PartOpened("e", 0, Text("", "r1")))
        one.journal(delta("e", "reply"))
        await one.flush()
        one.put(said("a", "first, changed", seq=1))
        one.put(said("e", "reply, ended", seq=3))
        one.put(said("f", "result", seq=4))
        found = await one.messages("s1")
        assert [(m.id, m.seq) for m in found] == [("a", 1), ("b", 2), ("d", 4), ("c", 5), ("e", 6), ("f", 7)]
        assert [m.text() for m in found[3:]] == ["prompt", "reply, ended", "result"]
        assert found[0].text() == "first, changed"
        assert query(path, "SELECT count(*) FROM journal") == [(0,)]
        assert await other.messages("s1") == found


async def test_two_processes_that_write_at_once_lose_nothing(path: Path) -> None:
    async with opened(path, "s1"):
        pass
    script = """
        async def main():
            async with opened(path) as store:
                print("ready", flush=True)
                sys.stdin.readline()
                for n in range(1, 31):
                    store.put(said(f"{arguments[0]}{n:02}", "text", seq=n))
                    await store.flush()
        asyncio.run(main())
    """
    writers = [start(script, path, name) for name in "ab"]
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("\n")
        writer.stdin.flush()
    assert finish(writers) == ["", ""]
    async with opened(path) as store:
        found = await store.messages("s1")
    assert [m.seq for m in found] == sorted({m.seq for m in found})
    for name in "ab":
        assert [m.id for m in found if m.id.startswith(name)] == [f"{name}{n:02}" for n in range(1, 31)]


async def test_a_damaged_message_is_told(path: Path) -> None:
    async with opened(path, "s1") as store:
        store.put(said("a", "first"))
        await store.flush()
        query(path, "UPDATE messages SET body = x'7b'")
        with pytest.raises(StoreError, match=r"session s1 in .*q\.db cannot be read"):
            await store.messages("s1")


async def test_a_long_message_is_stored_whole_in_linear_space(path: Path) -> None:
    async def stream(store_path: Path, deltas: int) -> int:
        """The bytes that this process wrote for a message of so many deltas."""
        async with opened(store_path, "s1") as store:
            before = written()
            store.put(streaming("m1"))
            store.journal(PartOpened("m1", 0, Text("", "r1")))
            for n in range(deltas):
                store.journal(delta("m1", f"word {n:06} "))
                if n % 50 == 0:
                    await store.flush()
            await store.flush()
            size = query(store_path, "SELECT sum(length(event)) FROM journal")[0][0]
            assert size < deltas * len("word 000000 ") + (deltas / 50 + 3) * 150
            return written() - before

    small = await stream(path.with_name("small.db"), 5_000)
    large = await stream(path, 20_000)
    assert large < 6 * small
    async with opened(path) as store:
        assert (await store.messages("s1"))[0].text() == "".join(f"word {n:06} " for n in range(20_000))


def written() -> int:
    """Bytes that this process gave to the system so far; 0 where it does not say."""
    try:
        lines = Path(f"/proc/{os.getpid()}/io").read_text().splitlines()
    except OSError:
        return 0
    return int(next(line for line in lines if line.startswith("wchar")).split()[1])
