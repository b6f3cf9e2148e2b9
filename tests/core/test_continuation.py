"""Why a turn goes on after the model has come to an end: each reason is told to the model, and the first one wins."""

import pytest

from quillback.core.continuation import IDLE_REPLIES, MEND, NUDGES, RULES, STOP_HOOK_BLOCKS, Reason
from quillback.core.event import Continued, StopReason
from quillback.core.hooks import HookAnswer
from quillback.core.message import MessageState, Text
from quillback.core.model import Failure
from quillback.core.turn_types import (
    Aim,
    Check,
    ChecksRan,
    Consult,
    Question,
    Recipe,
    Steered,
    StopAnswered,
    ToolFinished,
)
from support.replies import call, say
from support.turn_kit import Play, failure, prompt, result_of

SCHEMA = {"type": "object"}
CHECKED = Aim(recipe=Recipe(checks=(Check("make test"),), retries=2))
FINAL = Aim(recipe=Recipe(output=SCHEMA))


def reasons(play: Play) -> list[str]:
    return [e.reason for e in play.events if isinstance(e, Continued)]


def told(play: Play) -> str:
    """What the model was told last, which the user does not see."""
    last = play.history[-1]
    assert not last.visible_to_user
    assert last.id in [e.message_id for e in play.events if isinstance(e, Continued)]
    return last.text()


def consulted(play: Play) -> Consult:
    action = play.turn.next_action()
    assert isinstance(action, Consult)
    return action


def finally_(play: Play, text: str = '{"a":1}') -> None:
    """The model calls final_output."""
    play.reply(call("ping"))
    (use,) = play.running()
    play.feed(ToolFinished(result_of(use, "recorded"), final=text))


def test_the_rules_are_in_the_order_of_the_table():
    assert [r.__name__ for r in RULES] == ["final_output", "steer", "goal", "grind", "checks", "stop_hook"]


def test_without_a_reason_the_turn_ends():
    play = Play()
    play.reply(say("done"))
    assert (play.completed.text, play.completed.checks_passed, reasons(play)) == ("done", None, [])


# ---------------------------------------------------------------- final output


def test_a_missing_final_output_is_asked_for():
    play = Play(aim=FINAL)
    play.reply(say("done"))
    assert "final_output" in told(play)
    finally_(play)
    assert (play.completed.final, play.completed.checks_passed) == ('{"a":1}', True)
    assert play.completed.text == '{"a":1}'
    assert reasons(play) == [Reason.FINAL_OUTPUT]


def test_a_model_that_never_gives_it_is_asked_only_so_often():
    play = Play(aim=FINAL)
    for _ in range(NUDGES + 1):
        play.reply(say("done"))
    assert "final output" in play.completed.text
    assert (play.completed.final, play.completed.checks_passed) == ("", False)


def test_a_final_output_ends_the_turn_before_goal_and_grind():
    play = Play(aim=Aim(goal="g", grind=True, recipe=Recipe(output=SCHEMA)))
    finally_(play)
    assert (play.completed.final, reasons(play)) == ('{"a":1}', [])


def test_a_final_output_whose_checks_fail_is_no_final_output():
    play = Play(aim=Aim(recipe=Recipe(checks=(Check("x"),), output=SCHEMA)))
    finally_(play)
    assert consulted(play).question is Question.CHECKS
    play.feed(ChecksRan("it fails"))
    play.reply(say("mended"))
    assert reasons(play) == [Reason.CHECKS, Reason.FINAL_OUTPUT]
    finally_(play, '{"a":2}')
    play.feed(ChecksRan(""))
    assert (play.completed.final, play.completed.checks_passed) == ('{"a":2}', True)


# ---------------------------------------------------------------- steering


def test_what_the_user_adds_at_the_end_keeps_the_turn_going():
    play = Play()
    play.stream([])
    play.feed(Steered(prompt("also this", seq=0, id="steer", state=MessageState.QUEUED)))
    play.fail(failure())
    play.reply(say("done"))
    assert reasons(play) == [Reason.STEER]
    play.request()
    assert play.history[-1].text() == "also this"
    assert play.history[-1].visible_to_user
    play.reply(say("done too"))
    assert play.completed.text == "done too"


def test_it_stays_in_every_request_from_then_on():
    play = Play()
    play.reply(call("ping"))
    play.feed(Steered(prompt("also this", seq=0, id="steer")))
    play.finish_all()
    for n in range(3):
        play.reply(call("ping"))
        play.finish_all(f"result {n}")
        assert "also this" in str(play.requests[-1].messages)


def test_before_the_first_reply_it_waits():
    play = Play()
    play.feed(Steered(prompt("also this", seq=0, id="steer")))
    assert "also this" not in str(play.request().messages)


@pytest.mark.parametrize("how", ["cancel", "fail", "refuse"])
def test_what_was_not_told_is_handed_back(how):
    play = Play()
    play.feed(Steered(prompt("also this", seq=0, id="steer")))
    match how:
        case "cancel":
            play.cancel()
        case "fail":
            play.fail(failure(Failure.AUTHENTICATION))
        case "refuse":
            play.reply(say("no"), stop="refusal")
    assert play.ended
    assert [m.id for m in play.turn.steers] == ["steer"]
    assert reasons(play) == []


# ---------------------------------------------------------------- goal and grind


def test_a_goal_is_checked_once():
    play = Play(aim=Aim(goal="all tests pass"))
    play.reply(say("done"))
    assert "all tests pass" in told(play)
    play.reply(say("I looked: they pass"))
    assert (play.completed.text, reasons(play)) == ("I looked: they pass", [Reason.GOAL])


def test_grind_goes_on_until_the_model_does_nothing_any_more():
    play = Play(aim=Aim(grind=True))
    play.reply(say("done"))
    play.reply(call("ping"))
    play.finish_all()
    for _ in range(IDLE_REPLIES + 1):
        play.reply(say("nothing left"))
    assert play.ended
    assert reasons(play) == [Reason.GRIND] * (IDLE_REPLIES + 1)


# ---------------------------------------------------------------- checks


def test_checks_that_pass_end_the_turn():
    play = Play(aim=CHECKED)
    play.reply(say("done"))
    assert consulted(play).text == "done"
    play.feed(ChecksRan(""))
    assert (play.completed.checks_passed, play.completed.text) == (True, "done")


def test_checks_that_fail_are_told_and_tried_again_so_often():
    play = Play(aim=CHECKED)
    for n in range(2):
        play.reply(say("done"))
        play.feed(ChecksRan(f"make test: exit code {n + 1}"))
        assert f"exit code {n + 1}" in told(play)
        assert told(play).endswith(MEND)
    play.reply(say("done"))
    play.feed(ChecksRan("make test: exit code 9"))
    assert play.completed.checks_passed is False
    assert play.completed.text == "The checks do not pass, after 3 tries.\n\nmake test: exit code 9"
    assert reasons(play) == [Reason.CHECKS] * 2


def test_a_fresh_try_begins_with_the_prompt():
    play = Play(prompt("port it"), aim=Aim(recipe=Recipe(checks=(Check("x"),), fresh=True)))
    play.reply(call("ping"))
    play.finish_all()
    play.reply(say("WRONG-WAY"))
    play.feed(ChecksRan("x: exit code 1"))
    request = play.request()
    assert "WRONG-WAY" not in str(request.messages)
    assert "port it" in str(request.messages)
    assert "exit code 1" in str(request.messages)
    kept = [m.text() for m in play.watch.kept.values() if m.visible_to_user]
    assert "WRONG-WAY" in kept


def test_a_turn_that_did_not_come_to_its_checks_has_not_passed_them():
    play = Play(aim=CHECKED)
    play.cancel()
    assert (play.completed.stop_reason, play.completed.checks_passed) == (StopReason.CANCELLED, False)


# ---------------------------------------------------------------- the Stop hook


def test_a_stop_hook_that_says_no_is_heard_so_often():
    play = Play(stop_hook=True)
    for n in range(STOP_HOOK_BLOCKS):
        play.reply(say("done"))
        assert consulted(play).blocks == n
        play.feed(StopAnswered(HookAnswer(blocked="run the tests")))
        assert "run the tests" in told(play)
    play.reply(say("done"))
    play.feed(StopAnswered(HookAnswer(blocked="run the tests")))
    assert "run the tests" in play.completed.text
    assert reasons(play) == [Reason.STOP_HOOK] * STOP_HOOK_BLOCKS


@pytest.mark.parametrize("answer", [HookAnswer(), HookAnswer(halt="enough"), HookAnswer(blocked="no", halt="enough")])
def test_a_stop_hook_that_lets_it_end(answer):
    play = Play(stop_hook=True)
    play.reply(say("done"))
    play.feed(StopAnswered(answer))
    assert (play.completed.text, reasons(play)) == ("done", [])


def test_after_a_no_the_checks_are_run_again():
    play = Play(aim=CHECKED, stop_hook=True)
    play.reply(say("done"))
    play.feed(ChecksRan(""))
    assert consulted(play).question is Question.STOP_HOOK
    play.feed(StopAnswered(HookAnswer(blocked="not yet")))
    play.reply(say("done"))
    assert consulted(play).question is Question.CHECKS
    play.feed(ChecksRan(""))
    play.feed(StopAnswered(HookAnswer()))
    assert play.completed.checks_passed is True


# ---------------------------------------------------------------- never


@pytest.mark.parametrize("how", ["error", "refusal", "cancel", "max_tokens", "limit"])
def test_nothing_goes_on_after_an_error_a_refusal_a_cancel_or_a_limit(how):
    aim = Aim(goal="g", grind=True, recipe=Recipe(checks=(Check("x"),), output=SCHEMA))
    play = Play(aim=aim, stop_hook=True)
    match how:
        case "error":
            play.fail(failure(Failure.INVALID))
        case "refusal":
            play.reply(say("no"), stop="refusal")
        case "cancel":
            play.stream([])
            play.cancel()
        case "max_tokens":
            play.reply(say("cut"), stop="max_tokens")
        case "limit":
            play.crash()
    assert play.ended
    assert (reasons(play), play.completed.checks_passed) == ([], False)


def test_a_tool_that_ends_the_turn_ends_it():
    play = Play(aim=Aim(grind=True))
    play.reply(call("ping"))
    (use,) = play.running()
    play.finish(use, stop=True)
    assert play.ended
    assert reasons(play) == []


def test_several_reasons_come_one_after_the_other():
    play = Play(aim=Aim(goal="g", recipe=Recipe(checks=(Check("x"),))), stop_hook=True)
    play.reply(say("done"))
    play.reply(say("done"))
    play.feed(ChecksRan("1 of 1 failed.\n\n$ x"))
    play.reply(say("done"))
    play.feed(ChecksRan(""))
    play.feed(StopAnswered(HookAnswer(blocked="no")))
    play.reply(say("done"))
    play.feed(ChecksRan(""))
    play.feed(StopAnswered(HookAnswer()))
    assert reasons(play) == [Reason.GOAL, Reason.CHECKS, Reason.STOP_HOOK]
    assert [e.why for e in play.events if isinstance(e, Continued)] == [
        "the goal is checked before the end",
        "the checks do not pass yet. 1 of 1 failed.",
        "a Stop hook says that the work is not done: no",
    ]
    assert Text("g") != play.completed.text
