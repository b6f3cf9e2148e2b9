"""Transcripts against an agent that says what the test says: what passes, what fails, and what is told of it."""

import pytest

from support.puppets import answer, chunk, note, played, says

pytestmark = pytest.mark.anyio
ASK = '-> {"id": 1, "method": "m"}'


async def test_what_comes_as_expected_passes(tmp_path):
    assert await played(tmp_path, [ASK, '<- {"id": 1, "result": {"a": $a}}'], [answer(1, {"a": 2})]) == ""


async def test_a_difference_is_shown_at_its_line_without_what_is_the_same(tmp_path):
    lines = [ASK, '<- {"id": 1, "result": {"name": "one", "list": [1, 2, 3], "more": {"deep": "x", ...}}}']
    came = {"name": "two", "list": [1, 2, 3], "more": {"deep": "x", "hidden": 5}}
    told = await played(tmp_path, lines, [answer(1, came)])
    assert told.startswith("page.md:5: something else came (- expected, + came):\n")
    assert '-   "name": "one"' in told
    assert '+   "name": "two"' in told
    assert "hidden" not in told
    assert told.count("\n    - ") == told.count("\n    + ") == 1


async def test_another_kind_of_message_is_shown_whole(tmp_path):
    told = await played(tmp_path, [ASK, '<- {"id": 1, "result": {}}'], [note("surprise", x=1)])
    assert '- <- {"id": 1, "result": {}}' in told
    assert '+ <- {"method": "surprise", "params": {"x": 1}}' in told


async def test_an_agent_that_says_nothing_fails_in_time(tmp_path):
    told = await played(tmp_path, [ASK, '<- {"id": 1, "result": {}}'], [], seconds=0.5)
    assert told.startswith("page.md:5: nothing came for 0.5 s; this was expected:")
    assert '<- {"id": 1, "result": {}}' in told


async def test_an_agent_that_ends_is_told_with_its_last_words(tmp_path):
    told = await played(tmp_path, [ASK, '<- {"id": 1, "result": {}}'], [{"stderr": "no key\n"}, {"exit": 3}])
    assert "the agent has ended" in told
    assert "no key" in told


async def test_what_nobody_expects_at_the_end_fails(tmp_path):
    lines = [ASK, '<- {"id": 1, "result": {}}']
    told = await played(tmp_path, lines, [answer(1, {}), note("late")])
    assert "nothing expects" in told
    assert '"late"' in told


async def test_what_comes_after_an_open_request_at_the_end_may_be_anything(tmp_path):
    assert await played(tmp_path, [ASK, '<- {"method": "a", ...}'], [note("a"), note("b"), answer(1, {})]) == ""


async def test_the_order_counts_but_for_mixed_lines(tmp_path):
    part = [note("a"), note("b"), answer(1, {})]
    a, b, done = ('{"method": "a", ...}', '{"method": "b", ...}', '<- {"id": 1, "result": {}}')
    assert "something else" in await played(tmp_path, [ASK, f"<- {b}", f"<- {a}", done], part)
    assert await played(tmp_path, [ASK, f"<-& {b}", f"<-& {a}", done], part) == ""
    told = await played(tmp_path, [ASK, f"<-& {b}", '<-& {"method": "c"}', done], part)
    assert "it is none of the 2" in told


async def test_lines_that_may_come(tmp_path):
    may, many, done = '<-? {"method": "a", ...}', '<-* {"method": "a", ...}', '<- {"id": 1, "result": {}}'
    assert await played(tmp_path, [ASK, may, done], [answer(1, {})]) == ""
    assert await played(tmp_path, [ASK, may, done], [note("a"), answer(1, {})]) == ""
    assert "something else" in await played(tmp_path, [ASK, may, done], [note("a"), note("a"), answer(1, {})])
    assert await played(tmp_path, [ASK, many, done], [note("a"), note("a"), answer(1, {})]) == ""


async def test_what_may_come_may_not_come_behind_the_next_line(tmp_path):
    lines = [ASK, '<-? {"method": "a", ...}', '<- {"id": 1, "result": {}}']
    assert "nothing expects" in await played(tmp_path, lines, [answer(1, {}), note("a")])


async def test_what_is_skipped_may_come_anywhere_from_there_on(tmp_path):
    lines = ['skip {"method": "a", ...}', ASK, '<- {"method": "b", ...}', '<- {"id": 1, "result": {}}']
    part = [note("a"), note("b"), note("a", x=1), answer(1, {}), note("a")]
    assert await played(tmp_path, lines, part) == ""


async def test_what_a_line_expects_is_not_skipped(tmp_path):
    lines = ['skip {"method": "a", ...}', ASK, '<- {"method": "a", "params": {"x": $x}}', '<- {"id": 1, "result": $x}']
    assert await played(tmp_path, lines, [note("a", x=5), note("a", x=6), answer(1, 5)]) == ""


# ---------------------------------------------------------------- texts


@pytest.mark.parametrize(
    "pieces", [["Hello, world."], ["Hel", "lo, ", "world."], [*"Hello, world."]], ids=["one", "three", "letters"]
)
async def test_where_a_text_is_cut_does_not_matter(tmp_path, pieces: list[str]):
    part = [*(chunk(piece) for piece in pieces), answer(1, {})]
    assert await played(tmp_path, [ASK, says('"Hello, world."'), '<- {"id": 1, "result": {}}'], part) == ""
    assert await played(tmp_path, [ASK, says("/Hello.*/"), '<- {"id": 1, "result": {}}'], part) == ""
    assert await played(tmp_path, [ASK, says('"Hello,"'), says('" world."'), '<- {"id": 1, "result": {}}'], part) == ""


async def test_pieces_of_other_messages_are_not_joined(tmp_path):
    part = [chunk("a", "m1"), chunk("b", "m2"), chunk("c", "m2", kind="agent_thought_chunk"), answer(1, {})]
    lines = [says('"a"'), says('"b"', '"m2"'), says('"c"', '"m2"', kind="agent_thought_chunk")]
    assert await played(tmp_path, [ASK, *lines, '<- {"id": 1, "result": {}}'], part) == ""


async def test_a_whole_text_is_more_than_its_beginning(tmp_path):
    part = [chunk("Hello, "), chunk("world."), answer(1, {})]
    told = await played(tmp_path, [ASK, says('"Hello,"'), '<- {"id": 1, "result": {}}'], part)
    assert '-       "text": "Hello,"' in told
    assert '+       "text": "Hello, world."' in told


async def test_before_something_is_sent_the_beginning_of_a_text_will_do(tmp_path):
    lines = [ASK, says('"slow"'), '-> {"method": "cancel"}', says("<string>", mark="<-?"), '<- {"id": 1, "result": 0}']
    first = [chunk("sl"), chunk("ow")]
    assert await played(tmp_path, lines, first, [chunk("ly "), chunk("on"), answer(1, 0)]) == ""
    assert await played(tmp_path, lines, [*first, chunk("er and")], [chunk(" slower"), answer(1, 0)]) == ""
    assert await played(tmp_path, lines, first, [answer(1, 0)]) == ""


async def test_a_text_that_never_goes_on_is_compared_as_it_is(tmp_path):
    told = await played(tmp_path, [ASK, says('"Hello"'), '<- {"id": 1, "result": {}}'], [chunk("Hell")], seconds=0.5)
    assert '+       "text": "Hell"' in told


async def test_meta_of_the_first_piece_belongs_to_the_text(tmp_path):
    part = [chunk("a", _meta={"x": 1}), chunk("b"), answer(1, {})]
    line = says('"ab"').replace('"text": "ab"}', '"text": "ab"}, "_meta": {"x": 1}')
    assert await played(tmp_path, [ASK, line, '<- {"id": 1, "result": {}}'], part) == ""


# ---------------------------------------------------------------- lines that are no messages


async def test_raw_lines_are_sent_and_expected_as_they_are(tmp_path):
    lines = ["-> raw {broken", "<- raw {broken", ASK, '<- {"id": 1, "result": {}}']
    assert await played(tmp_path, lines, [{"echo": True}], [answer(1, {})]) == ""
    told = await played(tmp_path, [ASK, '<- {"id": 1, "result": {}}'], ["starting up...", answer(1, {})])
    assert "+ <- raw starting up..." in told


async def test_what_cannot_be_sent_is_told_at_its_line(tmp_path):
    told = await played(tmp_path, ['-> {"id": $x, "result": {}}'], [])
    assert told.startswith("page.md:4: $x has no value yet")
    assert "say here what to send" in await played(tmp_path, ['-> {"id": <int>, "result": {}}'], [])


async def test_the_version_of_jsonrpc_may_be_left_out_and_another_one_is_seen(tmp_path):
    lines = ['<- {"jsonrpc": "2.0", "id": 1, "method": "m"}', '<- {"id": 1, "result": 1}']
    assert await played(tmp_path, [ASK, *lines], [{"echo": True}, answer(1, 1)]) == ""
    told = await played(tmp_path, [ASK, lines[1]], ['{"jsonrpc": "1.0", "id": 1, "result": 1}'])
    assert '"jsonrpc": "1.0"' in told
