"""A journal folds to what the live stream had, in linear time, and as far as it can be read."""

import logging
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quillback.core.event import Grown, Growth, PartClosed, PartGrew, PartOpened, grow
from quillback.core.message import MessageState, Notice, Part, Text, Thinking, ToolUse
from quillback.store.codec import decode_growth
from quillback.store.folding import fold
from quillback.store.outbox import Journal, Outbox
from support.stores import delta, opened, query, streaming

OPENED: dict[Growth, Part] = {
    Growth.TEXT: Text("", "r1"),
    Growth.THOUGHT: Thinking("", run_id="r2"),
    Growth.INPUT: ToolUse("c1", "p1", "shell"),
}


@st.composite
def journals(draw: st.DrawFn) -> list[Grown]:
    """What a stream of up to four parts, open at the same time, would report."""
    kinds: list[Growth] = []
    events: list[Grown] = []
    for _ in range(draw(st.integers(0, 25))):
        if len(kinds) < 4 and (not kinds or draw(st.integers(0, 4)) == 0):
            kinds.append(draw(st.sampled_from(Growth)))
            events.append(PartOpened("m1", len(kinds) - 1, OPENED[kinds[-1]]))
            continue
        index = draw(st.integers(0, len(kinds) - 1))
        if draw(st.integers(0, 6)) == 0:
            parts: list[Part] = []
            for event in events:
                grow(parts, event)
            events.append(PartClosed("m1", index, parts[index]))
        else:
            events.append(PartGrew("m1", index, kinds[index], draw(st.text(max_size=4)), f"r{index}"))
    return events


def naive(events: list[Grown]) -> tuple[Part, ...]:
    parts: list[Part] = []
    for event in events:
        grow(parts, event)
    return tuple(parts)


@given(journals())
@settings(deadline=None)
def test_fold_equals_growing_event_by_event(events: list[Grown]) -> None:
    assert fold((), events) == naive(events)


@given(journals(), st.sets(st.integers(0, 25)))
@settings(deadline=None)
def test_joined_rows_fold_to_the_same_parts(events: list[Grown], flushes: set[int]) -> None:
    outbox = Outbox()
    rows: list[Journal] = []
    for n, event in enumerate(events):
        outbox.journal(event)
        if n in flushes:
            batch = outbox.seal()
            rows += [entry for entry in batch if isinstance(entry, Journal)]
            outbox.confirm(batch)
    rows += [entry for entry in outbox.seal() if isinstance(entry, Journal)]
    assert fold((), [decode_growth(row.body()) for row in rows]) == naive(events)


def test_folding_is_linear_even_when_parts_grow_in_turns() -> None:
    def interleaved(count: int) -> Iterator[Grown]:
        yield PartOpened("m1", 0, Text(""))
        yield PartOpened("m1", 1, ToolUse("c", "p", "n"))
        for n in range(count):
            yield PartGrew("m1", n % 2, Growth.TEXT, "x" * 100)

    began = time.process_time()
    text, use = fold((), interleaved(100_000))
    assert isinstance(text, Text)
    assert isinstance(use, ToolUse)
    assert (len(text.text), len(use.raw)) == (5_000_000, 5_000_000)
    assert time.process_time() - began < 5  # joined one by one it would copy 250 GB


@pytest.mark.parametrize(
    "bad", [PartGrew("m1", 7, Growth.TEXT, "x"), PartClosed("m1", 7, Text("x")), PartGrew("m1", 1, Growth.TEXT, "x")]
)
def test_what_comes_before_an_impossible_event_is_kept(bad: Grown, caplog: pytest.LogCaptureFixture) -> None:
    events = [PartOpened("m1", 0, Text("a")), PartOpened("m1", 1, Notice("n")), delta("m1", "b"), delta("m1", "c")]
    assert fold((), [*events, bad, delta("m1", "lost")]) == (Text("abc"), Notice("n"))
    assert "left out" in caplog.text


@pytest.mark.anyio
async def test_what_comes_before_a_torn_row_is_kept(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "q.db"
    async with opened(path, "s1") as store:
        store.put(streaming("m1"))
        for event in (PartOpened("m1", 0, Text("", "r1")), delta("m1", "kept"), delta("m1", " too"), delta("m1", "no")):
            store.journal(event)
            await store.flush()
    last = query(path, "SELECT max(n) FROM journal")[0][0]
    query(path, "UPDATE journal SET event = substr(event, 1, 20) WHERE n = ?", last)
    async with opened(path) as store:
        with caplog.at_level(logging.ERROR):
            (found,) = await store.messages("s1")
    assert (found.parts, found.state) == ((Text("kept too", "r1"),), MessageState.INTERRUPTED)
    assert "left out" in caplog.text
