"""What an editor sees of a subagent stays small, and shows no more than there is."""

from quillback.core.event import (
    Growth,
    MessageAdded,
    MessageDropped,
    PartClosed,
    PartGrew,
    PartOpened,
    RetryScheduled,
    ToolStarted,
    UsageChanged,
)
from quillback.core.message import Message, Role, Text, ToolResult, ToolUse
from quillback.session.subagent_view import CALLS, SAID, SubagentView


def use(number, title=""):
    return ToolUse(f"c{number}", f"t{number}", "grep", title=title)


def ended(number, *, is_error=False):
    result = ToolResult(f"c{number}", (Text("x"),), is_error=is_error)
    return MessageAdded(Message("m", "s", 1, Role.TOOL, (result,), 0))


def grew(text, run="r1", **more):
    return PartGrew("m", 0, Growth.TEXT, text, run, **more)


def shown(view):
    (part,) = view.shown()
    return part.text


def after(*events):
    view = SubagentView()
    for event in events:
        view.take(event)
    return view


def test_a_call_has_one_line_whatever_becomes_of_it():
    view = after(PartOpened("m", 0, use(1)))
    assert shown(view) == "[ ] grep"
    view.take(PartClosed("m", 0, use(1, "Search\nfor x")))
    assert shown(view) == "[ ] Search for x"
    view.take(ToolStarted(use(1)))
    assert shown(view) == "[>] Search for x"
    view.take(ended(1))
    assert shown(view) == "[x] Search for x"
    assert shown(after(PartOpened("m", 0, use(1)), ended(1, is_error=True))) == "[!] grep"


def test_it_stays_small():
    view = SubagentView()
    for number in range(500):
        view.take(PartOpened("m", 0, use(number, "t" * 5_000)))
        view.take(ended(number))
        view.take(grew("words " * 5_000 + "\n" * 50 + "end", f"r{number}"))
    text = shown(view)
    assert text.startswith(f"({500 - CALLS} calls before)\n[x] ttt")
    assert text.endswith("end")
    assert len(text) < CALLS * 110 + SAID + 100


def test_an_abandoned_reply_leaves_nothing():
    view = after(PartOpened("m", 0, use(1)), grew("half a"), MessageDropped("m", (use(1),)))
    view.take(RetryScheduled(1, 5, 2.0, "The service\nis busy.", "n1"))
    assert shown(view).endswith("The service is busy.")
    view.take(grew("whole", "r2", supersedes=("r1",)))
    assert shown(view) == "whole"


def test_texts_stand_apart_and_only_news_is_news():
    view = after(grew("one "), grew("line"), grew("two", "r2"))
    assert view.changed
    assert shown(view) == "one line\n\ntwo"
    assert not view.changed
    view.take(UsageChanged(1, 2, 0.5))
    view.take(ended(7))  # of no call that it knows
    assert shown(view) == "one line\n\ntwo"
    assert shown(SubagentView()) == "Started."
