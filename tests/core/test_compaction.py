"""What the model has seen is replaced by a summary in time; the user loses nothing, and no call loses its result."""

from itertools import pairwise

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from quillback.core.compaction import LEVELS, context_size, rendered, requests
from quillback.core.event import CompactionChanged, HistoryReplaced, Noticed, UsageChanged
from quillback.core.facts import last_plan, user_said
from quillback.core.message import (
    Diff,
    FileSeen,
    Image,
    Message,
    PlanEntry,
    Resource,
    Role,
    Summary,
    Text,
    ToolResult,
    ToolUse,
    Usage,
)
from quillback.core.model import Failure
from quillback.core.turn import Turn
from quillback.core.turn_types import Aim, Compact, Compacted, Compacting, CompactionFailed, Limits, ToolFinished
from support.replies import MODEL, call, reply, say
from support.turn_kit import Play, failure, prompt, spoken

WINDOW = MODEL.context_window
FULL = Usage(input_tokens=3, cache_read_tokens=WINDOW - 400, cache_creation_tokens=99, output_tokens=140)


def full(*after: Message) -> Play:
    """A session whose last reply filled the window, and a new prompt."""
    return Play(prompt("one"), spoken("LONG-TALK", seq=2, usage=FULL), *after, prompt("and now", seq=3 + len(after)))


def sent(play: Play) -> str:
    return str(play.request().messages)


# ---------------------------------------------------------------- when


@pytest.mark.parametrize(
    ("window", "used", "due"),
    [
        (200_000, 160_000, True),
        (200_000, 159_999, False),
        (1_000_000, 980_000, True),
        (1_000_000, 979_999, False),
        (0, 10, False),
    ],
)
def test_the_margin_is_a_fifth_of_a_small_window_and_20_000_tokens_of_a_large_one(window, used, due):
    assert Compacting().due(used, window) is due


@pytest.mark.parametrize(
    ("ratio", "used", "due"), [(0.5, 51, True), (0.5, 50, False), (0, 100, False), (1, 100, False)]
)
def test_a_ratio_sets_the_margin_and_0_and_1_turn_it_off(ratio, used, due):
    assert Compacting(ratio).due(used, 100) is due


def test_every_kind_of_token_counts_and_what_came_since_is_guessed():
    usage = Usage(3, 140, 170_000, 99)
    stream = [prompt("x"), spoken("y", seq=2, usage=usage), prompt("z" * 400, seq=3)]
    assert context_size(stream, "ignored: it is in the count", ()) == 170_242 + 100


def test_without_any_count_all_of_it_is_guessed():
    assert context_size([prompt("z" * 400)], "s" * 40, ()) == 110


def test_what_the_model_does_not_see_does_not_count():
    hidden = prompt("z" * 4_000, visible_to_model=False)
    assert context_size([hidden], "", ()) == 0


def test_below_the_margin_nothing_is_summarised():
    play = Play(prompt("one"), spoken("short", seq=2, usage=Usage(1_000)), prompt("two", seq=3))
    play.request()
    assert not [e for e in play.events if isinstance(e, CompactionChanged)]


def test_one_result_that_would_fill_the_window_is_compacted_before_the_next_step():
    play = Play(compacting=Compacting(0.5))
    play.reply(call("ping"))
    play.finish_all("y" * (WINDOW * 2))
    play.begin()
    assert isinstance(play.turn.next_action(), Compact)


def test_a_prompt_alone_is_never_summarised():
    play = Play(prompt("z" * WINDOW * 4))
    play.request()
    assert play.history == [play.history[0]]


# ---------------------------------------------------------------- what comes of it


def test_the_summary_stands_for_the_conversation_and_the_prompt_follows_it():
    play = full()
    play.begin()
    asked = play.turn.next_action()
    assert isinstance(asked, Compact)
    assert [m.text() for m in asked.history] == ["one", "LONG-TALK"]
    events = play.feed(Compacted("GOAL-7: port the parser", 0.5))
    request = play.request()
    assert len(request.messages) == 1
    text = sent(play)
    assert text.index("GOAL-7") < text.index("and now")
    assert "LONG-TALK" not in [m.text() for m in play.history]
    (replaced,) = [e for e in events if isinstance(e, HistoryReplaced)]
    assert replaced.hidden_through == "prompt_3"
    told = [m for m in play.watch.kept.values() if m.visible_to_user and not m.visible_to_model]
    assert replaced.summary_id == told[0].parts[0].run_id
    play.reply(say("done"))
    assert play.completed.cost == pytest.approx(0.5, abs=0.01)


def test_the_user_is_told_and_keeps_every_message():
    play = full()
    play.begin()
    play.feed(Compacted("short"))
    kept = list(play.watch.kept.values())
    assert [m.text() for m in kept if m.visible_to_user][:3] == ["one", "LONG-TALK", "and now"]
    told = [m for m in kept if m.visible_to_user and not m.visible_to_model]
    assert len(told) == 1
    assert "summary" in told[0].text()
    assert [e.status for e in play.events if isinstance(e, CompactionChanged)] == ["in_progress", "completed"]


def test_the_count_falls_to_what_is_left():
    play = full()
    play.begin()
    (usage,) = [e for e in play.feed(Compacted("short")) if isinstance(e, UsageChanged)]
    assert 0 < usage.used < 2_000
    play.request()  # and it is not compacted once more


def test_in_the_middle_of_a_turn_the_prompt_is_repeated_and_the_work_goes_on():
    play = Play(prompt("port the parser"))
    play.reply(call("ping"), usage=FULL)
    play.finish_all()
    play.begin()
    asked = play.turn.next_action()
    assert isinstance(asked, Compact)
    assert [m.role for m in asked.history] == [Role.USER, Role.ASSISTANT, Role.TOOL]
    play.feed(Compacted("half of it is done"))
    text = sent(play)
    assert "half of it is done" in text
    assert "do not begin anew" in text
    assert text.index("half of it") < text.rindex("port the parser")
    play.reply(say("all done"))
    assert play.completed.text == "all done"


def test_an_image_of_the_prompt_is_still_there():
    play = Play(
        prompt("one"), spoken("LONG-TALK", seq=2, usage=FULL), prompt(seq=3, parts=(Text("see"), Image("AA", "i/p")))
    )
    play.begin()
    play.feed(Compacted("short"))
    assert Image("AA", "i/p") in play.request().messages[-1].parts


def test_open_items_files_and_the_first_prompt_are_in_it_word_for_word():
    plan = (PlanEntry("port it", "in_progress"), PlanEntry("write tests"), PlanEntry("look", "completed"))
    use = ToolUse("c1", "t1", "write", {"path": "a"}, raw="{}")
    result = ToolResult(
        "c1", (Text("ok"),), shown=(Diff("/w/a.py", "x", "y"),), plan=plan, seen=(FileSeen("/w/a.py", "d"),)
    )
    play = Play(
        prompt("make the parser fast"),
        evolve(spoken("", seq=2, usage=FULL), parts=(use,)),
        evolve(prompt(seq=3), id="r", role=Role.TOOL, parts=(result,)),
        prompt("go on", seq=4),
    )
    play.begin()
    play.feed(Compacted("short"))
    text = sent(play)
    for piece in ("- [~] port it", "- [ ] write tests", "make the parser fast", "Files changed:\\n/w/a.py"):
        assert piece in text
    assert "- [x] look" not in text
    assert last_plan(play.history) == plan
    assert user_said(play.history)[0] == "make the parser fast"


def test_after_two_compactions_what_must_last_is_still_known():
    play = full()
    for n in range(2):
        play.begin()
        play.feed(Compacted(f"summary {n}"))
        play.reply(call("ping"), usage=FULL)
        play.finish_all(f"result {n}")
    assert user_said(play.history)[0] == "one"
    assert len([m for m in play.history if any(isinstance(p, Summary) for p in m.parts)]) == 1
    assert len(play.history) < 6


# ---------------------------------------------------------------- when it fails


def test_a_summary_that_cannot_be_had_is_told_and_the_turn_goes_on():
    play = full()
    play.begin()
    events = play.feed(CompactionFailed("the service is away."))
    assert ["the service is away." in e.title for e in events if isinstance(e, Noticed)] == [True]
    assert "LONG-TALK" in sent(play)
    play.reply(say("done"))
    assert not play.completed.error


def test_it_is_not_tried_at_every_step_then():
    play = full()
    play.begin()
    play.feed(CompactionFailed("no."))
    play.reply(call("ping"), usage=FULL)
    play.finish_all()
    assert "LONG-TALK" in sent(play)
    assert [e.status for e in play.events if isinstance(e, CompactionChanged)] == ["in_progress", "failed"]


def test_a_refused_length_is_cured_by_a_summary():
    play = Play(prompt("one"), spoken("LONG-TALK", seq=2, usage=Usage(10)), prompt("two", seq=3))
    play.fail(failure(Failure.CONTEXT_LENGTH))
    assert isinstance(play.turn.next_action(), Compact)
    play.feed(Compacted("short"))
    assert "LONG-TALK" not in sent(play)
    play.reply(say("done"))
    assert (play.completed.error, play.completed.text) == ("", "done")


def test_after_two_summaries_in_a_row_it_gives_up_and_the_session_stays_usable():
    play = Play(prompt("one"), spoken("LONG-TALK", seq=2, usage=Usage(10)), prompt("two", seq=3))
    for _ in range(2):
        play.fail(failure(Failure.CONTEXT_LENGTH))
        assert isinstance(play.turn.next_action(), Compact)
        play.feed(Compacted("short"))
    play.fail(failure(Failure.CONTEXT_LENGTH, "It is too long."))
    assert play.completed.error_kind == "context_length"
    assert play.next_request().messages


def test_a_good_reply_in_between_makes_room_for_more_summaries():
    play = Play(prompt("one"), spoken("LONG-TALK", seq=2, usage=Usage(10)), prompt("two", seq=3))
    for n in range(4):
        play.fail(failure(Failure.CONTEXT_LENGTH))
        play.feed(Compacted("short"))
        play.reply(call("ping"))
        play.finish_all(f"result {n}")
    play.reply(say("done"))
    assert not play.completed.error


def test_a_refused_length_that_cannot_be_cured_is_an_error_that_says_what_to_do():
    play = Play(prompt("one"), spoken("LONG-TALK", seq=2, usage=Usage(10)), prompt("two", seq=3))
    play.fail(failure(Failure.CONTEXT_LENGTH))
    play.feed(CompactionFailed("the service is away."))
    assert play.completed.error_kind == "context_length"
    assert "/clear" in play.completed.error
    assert "the service is away." in play.completed.error


def test_a_cancel_leaves_the_stream_as_it_was():
    play = full()
    play.begin()
    before = list(play.history)
    play.cancel()
    assert play.history == before
    assert [e.status for e in play.events if isinstance(e, CompactionChanged)] == ["in_progress", "cancelled"]
    assert play.feed(Compacted("too late")) == []


def test_a_long_prompt_is_kept_whole_where_it_fits():
    middle = "a" * 40_000 + "IN-THE-MIDDLE" + "b" * 40_000
    play = Play(prompt("one"), spoken("LONG-TALK", seq=2, usage=FULL), prompt(middle, seq=3))
    play.begin()
    play.feed(Compacted("short"))
    assert "IN-THE-MIDDLE" in sent(play)


def test_one_that_would_fill_the_window_is_cut_and_the_user_is_told():
    middle = "a" * WINDOW + "IN-THE-MIDDLE" + "b" * WINDOW
    play = Play(prompt("one"), spoken("LONG-TALK", seq=2, usage=FULL), prompt(middle, seq=3))
    play.begin()
    play.feed(Compacted("short"))
    text = sent(play)
    assert "IN-THE-MIDDLE" not in text
    assert len(text) < 2 * WINDOW
    assert any("left out" in m.text() for m in play.watch.kept.values() if not m.visible_to_model)


def test_an_embedded_file_of_a_prompt_is_bounded_too():
    parts = (
        Text("see"),
        Resource("file:///w/a", text="x" * WINDOW * 4),
        Resource("file:///w/b", blob="y" * WINDOW * 4),
    )
    play = Play(prompt("one"), spoken("LONG-TALK", seq=2, usage=FULL), prompt(seq=3, parts=parts))
    play.begin()
    play.feed(Compacted("short"))
    assert len(sent(play)) < 2 * WINDOW


def test_files_that_were_changed_are_so_after_two_summaries():
    use = ToolUse("c1", "t1", "write", {"path": "a"}, raw="{}")
    result = ToolResult("c1", (Text("ok"),), shown=(Diff("/w/a.py", "x", "y"),), seen=(FileSeen("/w/a.py", "d"),))
    play = Play(
        prompt("one"),
        evolve(spoken("", seq=2, usage=FULL), parts=(use,)),
        evolve(prompt(seq=3), id="r", role=Role.TOOL, parts=(result,)),
        prompt("go on", seq=4),
    )
    for _ in range(2):
        play.begin()
        play.feed(Compacted("short"))
        assert "Files changed:\\n/w/a.py" in sent(play)
        play.reply(call("ping"), usage=FULL)
        play.finish_all()


def test_what_stays_too_full_is_told_once_and_not_summarised_at_every_step():
    play = Play(prompt("one"), spoken("LONG-TALK", seq=2, usage=FULL), prompt("two", seq=3), system="s" * WINDOW * 4)
    play.begin()
    events = play.feed(Compacted("short"))
    assert len([e for e in events if isinstance(e, Noticed)]) == 1
    for n in range(3):
        play.reply(call("ping"), usage=FULL)
        play.finish_all(f"result {n}")
    play.request()
    assert len([e for e in play.events if isinstance(e, HistoryReplaced)]) == 1


def test_no_summary_is_paid_for_when_a_limit_ends_the_turn():
    play = Play(prompt("one"), limits=Limits(max_steps=1))
    play.reply(call("ping"), usage=FULL)
    play.finish_all()
    play.begin()
    assert play.ended
    assert [e for e in play.events if isinstance(e, CompactionChanged)] == []


# ---------------------------------------------------------------- by hand


def by_hand(*history: Message, focus: str = "") -> Play:
    typed = prompt("/compact", seq=history[-1].seq + 1 if history else 1, visible_to_model=False)
    return Play(*history, typed, aim=Aim(compact=focus))


def test_by_hand_it_is_done_at_any_size_and_ends_there():
    play = by_hand(prompt("one"), spoken("two", seq=2), focus="the API")
    play.begin()
    assert play.turn.next_action() == Compact(tuple(play.history[:2]), "the API", by_hand=True)
    play.feed(Compacted("short"))
    assert not play.completed.error
    assert [m.role for m in play.history] == [Role.USER]
    assert "short" in str(Play(*play.history, prompt("next", seq=9)).request().messages)


def test_by_hand_a_failure_is_told_and_changes_nothing():
    play = by_hand(prompt("one"), spoken("two", seq=2))
    play.begin()
    play.feed(CompactionFailed("the service is away."))
    assert "the service is away." in play.completed.text
    assert "two" in str(play.next_request().messages)


def test_by_hand_nothing_is_made_of_nothing():
    play = by_hand()
    play.begin()
    assert "nothing to compact" in play.completed.text


# ---------------------------------------------------------------- what is summarised


def steps(count: int, size: int) -> list[Message]:
    out = [prompt("first")]
    for n in range(count):
        use = ToolUse(f"c{n}", f"t{n}", "shell", {"command": f"run {n}"}, raw="{}")
        out.append(evolve(spoken("", seq=2 * n + 2), parts=(use,)))
        result = ToolResult(f"c{n}", (Text(f"<{n}>" + "y" * size),))
        out.append(evolve(prompt(seq=2 * n + 3), id=f"r{n}", role=Role.TOOL, parts=(result,)))
    return out


def test_results_are_left_out_from_the_middle_outwards():
    stream = steps(10, 10)
    left = [[n for n in range(10) if f"<{n}>" in rendered(stream, level)] for level in LEVELS]
    assert [len(kept) for kept in left] == [10, 9, 8, 5, 0]
    assert left[1] == [0, 1, 2, 3, 5, 6, 7, 8, 9]
    assert left[3] == [0, 1, 7, 8, 9]


@given(st.integers(0, 30), st.integers(0, 5_000), st.integers(1, 40_000))
def test_requests_get_shorter_and_fit(count, size, room):
    texts = [r.user for r in requests(steps(count, size), "", room)]
    assert texts
    assert all(len(a) > len(b) for a, b in pairwise(texts))
    assert all(len(t) <= max(room, 1_000) * 4 + 300 for t in texts)
    assert all("first" in t for t in texts)


def test_the_wish_of_the_user_is_part_of_it():
    assert "keep the API" in next(requests(steps(1, 1), "keep the API", 1_000)).user


# ---------------------------------------------------------------- cuts


@pytest.mark.parametrize("at", range(1, 13))
def test_wherever_it_falls_every_request_is_valid(at):
    """The kit checks each request: pairs whole, the first message the user's."""
    play = Play(prompt("begin"))
    for step in range(1, 13):
        play.reply(call("ping"), call("poll"), usage=FULL if step == at else Usage(100))
        play.finish_all(f"result {step}")
        play.begin()
        if isinstance(play.turn.next_action(), Compact):
            assert step == at
            play.feed(Compacted(f"up to {step}"))
    play.reply(say("done"))
    assert play.completed.text == "done"


def test_a_turn_that_is_given_an_earlier_summary_begins_there():
    summary = evolve(prompt(seq=2), id="s", parts=(Summary("what was", task="the task"),), visible_to_user=False)
    play = Play(prompt("old"), summary, prompt("new", seq=3))
    text = sent(play)
    assert "old" not in text
    assert "what was" in text
    assert isinstance(play.turn, Turn)


def test_a_late_result_after_a_summary_changes_nothing():
    play = full()
    play.begin()
    assert play.feed(ToolFinished(ToolResult("c9", (Text("late"),)))) == []
    play.feed(Compacted("short"))
    assert reply(say("x"))
