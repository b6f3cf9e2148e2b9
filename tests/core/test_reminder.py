"""The model is reminded of its open items, and the prompt cache keeps what it has."""

from quillback.core.message import PlanEntry, ToolResult
from quillback.core.reminder import STEPS, Reminder
from quillback.core.turn_types import ToolFinished
from support.replies import call
from support.strict import continues
from support.turn_kit import Play, result_of

PLAN = (PlanEntry("port it", "in_progress"), PlanEntry("test it"), PlanEntry("look", "completed"))


def with_plan(play: Play, plan: tuple[PlanEntry, ...]) -> None:
    play.reply(call("ping"))
    (use,) = play.running()
    plain = result_of(use, "noted")
    play.feed(ToolFinished(ToolResult(plain.call_id, plain.content, plan=plan)))


def reminders(play: Play) -> list[str]:
    return [m.text() for m in play.history if "<reminder>" in m.text()]


def test_a_changed_list_is_told_with_the_real_open_items():
    play = Play()
    with_plan(play, PLAN)
    play.request()
    (text,) = reminders(play)
    assert "- [~] port it\n- [ ] test it" in text
    assert "look" not in text
    hidden = next(m for m in play.history if "<reminder>" in m.text())
    assert (hidden.visible_to_user, hidden.visible_to_model) == (False, True)


def test_it_is_told_again_after_ten_steps_and_never_removed():
    play = Play()
    with_plan(play, PLAN)
    for n in range(STEPS + 2):
        play.reply(call("ping"))
        play.finish_all(f"result {n}")
    play.request()
    assert len(reminders(play)) == 2
    assert all(continues(a, b) for a, b in zip(play.requests, play.requests[1:], strict=False))


def test_nothing_open_nothing_told():
    play = Play()
    with_plan(play, (PlanEntry("look", "completed"),))
    play.request()
    assert reminders(play) == []


def test_the_same_list_again_is_no_change():
    reminder = Reminder(PLAN)
    reminder.replaced(PLAN)
    assert reminder.due() == ""
    reminder.replaced(PLAN[:1])
    assert "port it" in reminder.due()
    assert reminder.due() == ""
