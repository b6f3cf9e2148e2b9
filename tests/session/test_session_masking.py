"""Whatever a tool brings is masked before it is stored, shown or given to the model; what must match stays."""

import logging

import pytest

from quillback.core.event import ToolProgressed
from quillback.core.mask import Mask, masks_in
from quillback.core.message import Diff, FileSeen, Image, Location, ResourceLink, Text
from quillback.core.ports import Access, Choice, Mode, ToolError, ToolOutcome
from quillback.serving import MaskingFormatter
from quillback.session.masking import hidden_outcome
from support.fakes import FakeTool, outcome, progress
from support.keys import KEYS
from support.replies import call, reply, say, spec
from support.session_kit import kit

pytestmark = pytest.mark.anyio
KEY = KEYS["Anthropic"]
MASK = Mask()
HIDDEN = MASK.hide(KEY)
DONE = reply(say("done"))


def tool(body) -> FakeTool:
    return FakeTool(spec("shell", command="string"), body, access=lambda given: Access(command=given["command"]))


def test_every_part_of_an_outcome_is_masked():
    link = ResourceLink(f"https://x/?k={KEY}", "name", title=KEY, description=KEY)
    given = ToolOutcome(
        content=(Text(KEY), Image("data", "image/png")),
        shown=(Text(KEY), Diff("/x", None, KEY), Diff("/x", KEY, "new"), link, Image("data", "image/png")),
        locations=(Location("/x"),),
        raw_output={"a": [KEY, 1, None, {KEY: True}]},
        seen=(FileSeen("/x", "digest"),),
        say=KEY,
    )
    made = hidden_outcome(MASK, given)
    assert KEY not in str(made)
    assert str(made).count(HIDDEN) == str(given).count(KEY)
    assert (made.locations, made.seen, made.content[1]) == (given.locations, given.seen, given.content[1])
    assert made.raw_output == {"a": [HIDDEN, 1, None, {HIDDEN: True}]}


def test_what_is_nested_too_deeply_to_be_looked_through_is_left_out():
    deep: object = KEY
    for _ in range(5000):
        deep = [deep]
    made = hidden_outcome(MASK, ToolOutcome((Text("x"),), raw_output=deep))
    assert made.raw_output is None


async def test_progress_result_and_error_are_masked(tmp_path):
    async def body(run):
        yield progress(f"begin {KEY}")
        yield progress(f"begin {KEY} {KEY[:30]}")
        if run.arguments["command"] == "bad":
            raise ToolError(f"no: {KEY}")
        yield outcome(f"end {KEY}", shown=(Text(KEY),))

    calls = reply(call("shell", {"command": "good"}), call("shell", {"command": "bad"}))
    async with kit(tmp_path, calls, DONE, tools=[tool(body)]) as k:
        events = await k.play()
        shown = [part.text for e in events if isinstance(e, ToolProgressed) for part in e.shown]
        assert shown[-1] == f"begin {HIDDEN} "  # the pipe may leave out what a later one replaces
        assert set(shown) <= {f"begin {HIDDEN}", f"begin {HIDDEN} "}
        assert len(masks_in(" ".join(k.results()))) == 1
        assert KEY not in f"{events}{k.model.requests}{await k.stored()}"


async def test_the_question_and_the_audit_are_masked_and_the_call_is_not(tmp_path):
    line = f"curl -H 'x-api-key: {KEY}' https://example.com"
    ran = []

    async def body(run):
        ran.append(run.arguments["command"])
        yield outcome()

    async with kit(tmp_path, reply(call("shell", {"command": line})), DONE, mode=Mode.APPROVE, tools=[tool(body)]) as k:
        k.editor.answers = [Choice.ALLOW_ONCE]
        await k.play()
        assert ran == [line]
        assert k.editor.asks[0].call.input == {"command": line}
        (entry,) = await k.store.audits(k.session.record.id)
        assert KEY not in str(entry)
        assert masks_in(entry.arguments)


def test_the_log_is_masked():
    record = logging.LogRecord("x", logging.INFO, "x", 1, "key %s", (KEY,), None)
    assert MaskingFormatter(MASK, "%(name)s: %(message)s").format(record) == f"x: key {HIDDEN}"
