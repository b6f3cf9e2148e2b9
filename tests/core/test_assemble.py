from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quillback.core.assemble import CUT, Assembler, join_surrogates
from quillback.core.event import Growth, PartClosed, PartGrew, PartOpened, grow
from quillback.core.message import Part, RedactedThinking, Text, Thinking, ToolKind, ToolUse
from quillback.core.model import (
    BlockStopped,
    InputDelta,
    ProviderEvent,
    RedactedStarted,
    SignatureDelta,
    TextDelta,
    TextStarted,
    ThinkingDelta,
    ThinkingStarted,
    ToolUseStarted,
)
from support.replies import TOOLS, Ids, call, partial, reply, say, think

SPECS = {t.name: t for t in TOOLS}


def assembler(supersedes: tuple[str, ...] = ()) -> Assembler:
    return Assembler("m1", Ids(), SPECS, supersedes)


def parts(events: list[ProviderEvent]) -> tuple[Part, ...]:
    one = assembler()
    one.feed(events)
    one.finish(cut=False)
    return one.parts


def test_deltas_that_come_together_are_one():
    one = assembler()
    grown = one.feed(reply(say("a", "b", "c"), say("d")))
    assert [g.text for g in grown if isinstance(g, PartGrew)] == ["abc", "d"]
    assert one.parts == (Text("abc", "msg_1"), Text("d", "msg_1"))
    assert one.whole
    assert one.stopping.stop_reason == "end_turn"
    assert one.runs == ["msg_1"]


def test_deltas_that_come_apart_are_told_apart():
    one = assembler()
    grown = [g for event in reply(say("a", "b")) for g in one.feed([event])]
    assert [g.text for g in grown if isinstance(g, PartGrew)] == ["a", "b"]


def test_parts_can_be_read_while_they_grow():
    one = assembler()
    one.feed(partial(think("hm"), say("a"), call("read", '{"pa')))
    thought, text, use = one.parts
    assert (thought.text, text.text, use.raw, use.input) == ("hm", "a", '{"pa', {})


def test_a_block_that_starts_with_text_grows_by_it():
    one = assembler()
    grown = one.feed([TextStarted(0, "now"), TextDelta(0, " then")])
    assert grown == [
        PartOpened("m1", 0, Text("", "msg_1")),
        PartGrew("m1", 0, Growth.TEXT, "now then", "msg_1"),
    ]


def test_a_thought_that_comes_with_its_signature_keeps_it():
    assert parts([ThinkingStarted(0, "hm", "sig"), BlockStopped(0)]) == (Thinking("hm", "sig", "msg_1"),)
    assert parts([ThinkingStarted(0), SignatureDelta(0, "a"), SignatureDelta(0, "b")]) == (Thinking("", "ab", "msg_1"),)


def test_a_call_between_ends_a_run_and_an_empty_block_does_not():
    one = assembler()
    one.feed(reply(say("a"), say(), say("b"), call("ping"), say("c"), think("d"), say("e")))
    runs = [p.run_id for p in one.parts if isinstance(p, Text)]
    assert runs == [runs[0]] * 3 + runs[3:]
    assert len(set(runs)) == 3
    assert one.runs == [r for r in dict.fromkeys(p.run_id for p in one.parts if not isinstance(p, ToolUse))]


def test_only_the_first_chunk_says_what_it_supersedes():
    one = assembler(("old_1", "old_2"))
    grown = one.feed(reply(call("ping"), think("hm"), say("a")))
    assert [g.supersedes for g in grown if isinstance(g, PartGrew)] == [(), ("old_1", "old_2"), ()]


def test_a_call_is_known_by_its_tool_from_the_start():
    one = assembler()
    opened = one.feed([ToolUseStarted(0, "t1", "write")])[0]
    assert (opened.part.title, opened.part.kind) == ("write", ToolKind.EDIT)
    unknown = one.feed([ToolUseStarted(1, "t2", "")])[0]
    assert (unknown.part.title, unknown.part.kind) == ("(no name)", ToolKind.OTHER)


def test_what_belongs_to_no_open_block_is_passed_over():
    one = assembler()
    assert one.feed([TextDelta(3, "x"), InputDelta(3, "x"), SignatureDelta(3, "x"), BlockStopped(3)]) == []
    one.feed(reply(say("a")))
    assert one.feed([TextDelta(0, "late"), BlockStopped(0)]) == []
    assert one.feed([ThinkingDelta(0, "wrong kind")]) == []
    assert one.parts == (Text("a", "msg_1"),)


def test_an_index_that_starts_again_is_another_block():
    one = assembler()
    one.feed([TextStarted(0, "a"), TextStarted(0, "b"), BlockStopped(0)])
    assert [p.text for p in one.parts] == ["a", "b"]


@pytest.mark.parametrize(("cut", "problem"), [(True, CUT), (False, "the input is not valid JSON")])
def test_a_call_that_is_open_at_the_end_is_closed(cut, problem):
    one = assembler()
    one.feed(partial(call("read", '{"path": ')))
    (closed,) = one.finish(cut=cut)
    assert isinstance(closed, PartClosed)
    assert closed.part.problem.startswith(problem)
    assert closed.part.raw == '{"path": '
    assert one.finish(cut=cut) == []


@pytest.mark.parametrize(
    ("given", "joined", "held"),
    [
        ("plain", "plain", ""),
        ("é😀", "é😀", ""),
        ("\ud83d\ude00", "😀", ""),
        ("a\ud83d", "a", "\ud83d"),
        ("\ud83da", "\ufffda", ""),
        ("\ude00", "\ufffd", ""),
        ("\ud83d\ud83d", "\ufffd", "\ud83d"),
        ("", "", ""),
    ],
)
def test_halves_of_a_character_are_joined_or_replaced(given, joined, held):
    assert join_surrogates(given) == (joined, held)


def test_a_character_cut_over_two_deltas_arrives_whole():
    one = assembler()
    grown = one.feed([TextStarted(0), TextDelta(0, "a\ud83d")]) + one.feed([TextDelta(0, "\ude00b")])
    assert [g.text for g in grown if isinstance(g, PartGrew)] == ["a", "😀b"]


def test_a_half_that_is_never_completed_is_replaced_and_shown():
    one = assembler()
    grown = one.feed([TextStarted(0), TextDelta(0, "a\ud83d"), BlockStopped(0)])
    assert "".join(g.text for g in grown if isinstance(g, PartGrew)) == "a\ufffd"
    assert one.parts == (Text("a\ufffd", "msg_1"),)


# ---------------------------------------------------------------- properties

CONTENT = st.text(alphabet=st.sampled_from('ab \n"\\{}é中😀𝄞'), max_size=12)
INPUTS = st.sampled_from(['{"path": "x"}', '{"path": "😀"}', "{}", "", "{", '{"path": 5}', "nonsense", '[1, "é"]'])
CUTS = st.lists(st.integers(0, 30), max_size=6)


def units(text: str) -> str:
    """`text` as UTF-16 code units, each a character of its own: where services cut their deltas."""
    raw = text.encode("utf-16-le")
    return "".join(chr(int.from_bytes(raw[i : i + 2], "little")) for i in range(0, len(raw), 2))


def cut(text: str, at: list[int]) -> list[str]:
    places = sorted({0, len(text), *(a % (len(text) + 1) for a in at)})
    return [text[a:b] for a, b in pairwise(places)]


BLOCKS = st.lists(
    st.one_of(
        st.tuples(st.just("text"), CONTENT, CUTS),
        st.tuples(st.just("think"), CONTENT, CUTS),
        st.tuples(st.just("redacted"), CONTENT, CUTS),
        st.tuples(st.sampled_from(["read", "ping", "nope"]), INPUTS, CUTS),
    ),
    max_size=6,
)


def events_of(blocks, *, cuts: bool) -> list[ProviderEvent]:
    """The blocks as a stream; with `cuts`, in many deltas, and in one otherwise."""
    out: list[ProviderEvent] = []
    for index, (kind, content, at) in enumerate(blocks):
        pieces = cut(units(content), at) if cuts else [content] if content else []
        match kind:
            case "text":
                out += [TextStarted(index), *(TextDelta(index, p) for p in pieces)]
            case "think":
                out += [ThinkingStarted(index), *(ThinkingDelta(index, p) for p in pieces), SignatureDelta(index, "s")]
            case "redacted":
                out.append(RedactedStarted(index, content))
            case name:
                out += [ToolUseStarted(index, f"t{index}", name), *(InputDelta(index, p) for p in pieces)]
        out.append(BlockStopped(index))
    return out


def batched(events: list[ProviderEvent], at: list[int]) -> list[list[ProviderEvent]]:
    places = sorted({0, len(events), *(a % (len(events) + 1) for a in at)})
    return [events[a:b] for a, b in pairwise(places)]


@given(BLOCKS, st.lists(st.integers(0, 60), max_size=8), st.booleans())
def test_the_same_reply_gives_the_same_parts_however_it_is_cut(blocks, at, ends):
    events = events_of(blocks, cuts=True)[: None if ends else -1]
    whole = parts(events_of(blocks, cuts=False)[: None if ends else -1])
    one, seen, grown = assembler(), [], []
    for batch in batched(events, at):
        grown += one.feed(batch)
        seen.append(one.parts)
    grown += one.finish(cut=False)
    assert one.parts == whole
    folded: list[Part] = []
    for event in grown:
        grow(folded, event)
    assert tuple(folded) == whole
    for text in (p.text for p in whole if isinstance(p, Text | Thinking)):
        text.encode()


@given(BLOCKS, st.lists(st.integers(0, 60), max_size=8))
def test_what_is_told_by_any_moment_is_what_there_is(blocks, at):
    one, folded = assembler(), []
    for batch in batched(events_of(blocks, cuts=True), at):
        for event in one.feed(batch):
            grow(folded, event)
        for told, there in zip(folded, one.parts, strict=True):
            if isinstance(there, Thinking):  # its signature is told when it closes
                assert (told.text, told.run_id) == (there.text, there.run_id)
            else:
                assert told == there


@given(BLOCKS)
def test_blocks_stay_in_order_and_runs_are_never_shared_between_kinds(blocks):
    assembled = parts(events_of(blocks, cuts=True))
    kinds = {"text": Text, "think": Thinking, "redacted": RedactedThinking}
    assert [type(p) for p in assembled] == [kinds.get(kind, ToolUse) for kind, _, _ in blocks]
    runs = [(p.run_id, type(p)) for p in assembled if isinstance(p, Text | Thinking)]
    assert len(dict(runs)) == len(set(runs))
    for before, after in pairwise(assembled):
        same = type(before) is type(after) and isinstance(after, Text | Thinking)
        assert not same or before.run_id == after.run_id
