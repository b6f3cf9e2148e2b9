"""--update: what came in place of what was expected; prose, names and patterns stay where they fit."""

import pytest

from quillback.transcripts.document import read_transcript
from quillback.transcripts.running import How, run
from support.puppets import answer, chunk, note, page, puppet, rewritten, says

pytestmark = pytest.mark.anyio
ASK = '-> {"id": 1, "method": "m"}'
DONE = '<- {"id": 1, "result": {}}'


async def passes(place, text: str, *parts: list[object]) -> bool:
    return await run(read_transcript(text, "page.md"), How(puppet(place, *parts))) == ""


async def test_what_fits_is_not_touched(tmp_path):
    text = page("# remark", ASK, '<-   {"id":1,', '  "result":  $x, ...}', "", "skip {...}") + "\nMore prose.\n"
    assert await rewritten(tmp_path, text, [answer(1, {"a": 2})]) == (text, "")


async def test_only_what_differs_is_replaced(tmp_path):
    text = page(ASK, '<- {"id": 1, "result": {"a": 1, "b": $b, "c": <int>, "d": /x.*/, ...}}')
    came = {"a": 2, "b": "new", "c": 3, "d": "y", "e": 4}
    new, problem = await rewritten(tmp_path, text, [answer(1, came)])
    assert problem == ""
    assert '<- {"id": 1, "result": {"a": 2, "b": $b, "c": <int>, "d": "y", ...}}\n' in new
    assert await passes(tmp_path, new, [answer(1, came)])


async def test_what_is_missing_is_added_and_what_does_not_come_goes(tmp_path):
    text = page(ASK, '<- {"method": "gone"}', '<- {"method": "stays", ...}', DONE, "-> " + ASK[3:].replace("1", "2"))
    part = [note("first"), note("stays"), note("second"), answer(1, {})]
    new, problem = await rewritten(tmp_path, text, part, [answer(2, 5)])
    assert problem == ""
    lines = new.split("\n")[4:-2]
    assert lines == [
        '<- {"method": "first", "params": {}}',
        '<- {"method": "stays", ...}',
        '<- {"method": "second", "params": {}}',
        DONE,
        '-> {"id": 2, "method": "m"}',
        '<- {"id": 2, "result": 5}',
    ]
    assert await passes(tmp_path, new, part, [answer(2, 5)])


async def test_a_page_of_nothing_but_what_is_sent_is_filled_in(tmp_path):
    text = page('-> {"id": 1, "method": "session/new"}', '-> {"id": 2, "method": "n"}')
    first = [answer(1, {"sessionId": "sess_abcdefgh", "updatedAt": "2026-01-01T00:00:00Z"})]
    second = [chunk("Hel"), chunk("lo"), answer(2, {"sessionId": "sess_abcdefgh"})]
    new, problem = await rewritten(tmp_path, page('-> {"id": 1, "method": "session/new"}'), first)
    assert problem == ""
    assert '<- {"id": 1, "result": {"sessionId": $session, "updatedAt": <string>}}' in new
    new, problem = await rewritten(
        tmp_path, text.replace('-> {"id": 2', '<- {"id": 1, ...}\n-> {"id": 2'), first, second
    )
    assert problem == ""
    assert '"text": "Hello"' in new
    assert await passes(tmp_path, new, first, second)


async def test_names_that_were_given_by_hand_are_used_for_what_is_new(tmp_path):
    text = page(
        ASK, '<- {"id": 1, "result": {"sessionId": $mine}}', '-> {"id": 2, "method": "n"}', '<- {"id": 2, "result": 0}'
    )
    parts = [answer(1, {"sessionId": "sess_abcdefgh"})], [answer(2, {"of": "sess_abcdefgh"})]
    new, _ = await rewritten(tmp_path, text, *parts)
    assert '<- {"id": 2, "result": {"of": $mine}}' in new


async def test_a_name_that_no_longer_fits_is_replaced(tmp_path):
    text = page(ASK, '<- {"id": 1, "result": [$x, $x]}')
    new, problem = await rewritten(tmp_path, text, [answer(1, ["a", "b"])])
    assert (problem, '<- {"id": 1, "result": [$x, "b"]}' in new) == ("", True)


async def test_a_text_that_came_in_pieces_is_one_line(tmp_path):
    text = page(ASK, says('"old"'), DONE)
    part = [*map(chunk, "new text"), answer(1, {})]
    new, problem = await rewritten(tmp_path, text, part)
    assert problem == ""
    assert new.count("agent_message_chunk") == 1
    assert '"text": "new text"' in new
    assert await passes(tmp_path, new, part)


async def test_lines_that_were_skipped_stay_out(tmp_path):
    text = page('skip {"method": "noise", ...}', ASK, '<- {"id": 1, "result": 0}')
    new, _ = await rewritten(tmp_path, text, [note("noise"), answer(1, 1), note("noise")])
    assert new == text.replace('"result": 0', '"result": 1')


async def test_what_may_come_is_not_written_down_again(tmp_path):
    text = page(ASK, '<-* {"method": "progress", ...}', '<- {"id": 1, "result": 0}')
    part = [note("progress", n=1), note("progress", n=2), answer(1, 1)]
    new, problem = await rewritten(tmp_path, text, part)
    assert (new, problem) == (text.replace('"result": 0', '"result": 1'), "")


async def test_files_are_rewritten_too(tmp_path):
    text = "```file path=a.txt\none\n```\n\n" + page(ASK, DONE) + "\n```check path=a.txt\ntwo\nthree\n```\n"
    new, problem = await rewritten(tmp_path, text, [answer(1, {})])
    assert problem == ""
    assert new == text.replace("two\nthree", "one")


async def test_what_cannot_be_mended_is_told_and_the_rest_is_kept(tmp_path):
    text = page(ASK, '<- {"id": 1, "result": 0}', '-> {"id": $never, "result": {}}')
    new, problem = await rewritten(tmp_path, text, [answer(1, 1)])
    assert "$never has no value yet" in problem
    assert '<- {"id": 1, "result": 1}' in new
    text = page(ASK, DONE) + "\n```check path=none.txt\n```\n"
    assert "there is no file none.txt" in (await rewritten(tmp_path, text, [answer(1, {})]))[1]
