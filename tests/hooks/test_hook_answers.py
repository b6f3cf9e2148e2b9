"""What a hook's exit code and output mean, at each moment, and what several hooks say together."""

import json

import pytest

from quillback.core.hooks import NOTHING, HookAnswer, HookCall, HookPoint
from quillback.core.process import Ran
from quillback.hooks.answer import CONTEXT_LIMIT, answer_of, merged
from quillback.hooks.files import Hook

PRE = HookPoint.PRE_TOOL_USE
CANNOT_BLOCK = (HookPoint.SESSION_START, HookPoint.SESSION_END, HookPoint.TURN_COMPLETED, HookPoint.PRE_COMPACT)
CAN_BLOCK = tuple(point for point in HookPoint if point not in CANNOT_BLOCK)


def read(out: object = "", *, point: HookPoint = PRE, code: int | None = 0, strict: bool = False, **ran) -> HookAnswer:
    text = out if isinstance(out, str) else json.dumps(out)
    return answer_of(Hook(point, "cmd", "hooks.json", strict=strict), HookCall(point), Ran(code, text, **ran))


def special(**values: object) -> dict[str, object]:
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", **values}}


DECISIONS = [
    ("", NOTHING),
    ("just talk", NOTHING),
    ("{}", NOTHING),
    ({"decision": "block", "reason": "no"}, HookAnswer(blocked="no")),
    ({"decision": "deny", "reason": "no"}, HookAnswer(blocked="no")),
    ({"decision": "block"}, HookAnswer(blocked="no reason was given")),
    ({"decision": "approve", "reason": "fine"}, NOTHING),
    ({"continue": False, "stopReason": "enough"}, HookAnswer(halt="enough")),
    ({"continue": False}, HookAnswer(halt="no reason was given")),
    ({"continue": True, "suppressOutput": True}, NOTHING),
    ({"systemMessage": "look"}, HookAnswer(notes=("look",))),
    (special(permissionDecision="deny", permissionDecisionReason="no"), HookAnswer(blocked="no")),
    (special(permissionDecision="ask", permissionDecisionReason="odd"), HookAnswer(ask="odd")),
    (special(permissionDecision="allow", permissionDecisionReason="fine"), NOTHING),
    (special(updatedInput={"a": 1}), HookAnswer(input={"a": 1})),
    (special(permissionDecision="allow", updatedInput={"a": 1}), HookAnswer(input={"a": 1})),
    (special(permissionDecision="ask", updatedInput={}), HookAnswer(ask="no reason was given", input={})),
    (special(additionalContext="know this"), HookAnswer(context=("know this",))),
    ({"systemMessage": "s", "decision": "block", "reason": "r"}, HookAnswer(blocked="r", notes=("s",))),
]


@pytest.mark.parametrize(("out", "answer"), DECISIONS, ids=lambda value: str(value)[:60])
def test_decisions(out: object, answer: HookAnswer):
    assert read(out) == answer


@pytest.mark.parametrize("point", CAN_BLOCK)
def test_exit_code_2_says_no_with_standard_error_as_the_reason(point: HookPoint):
    assert read("ignored", point=point, code=2, err=" not so\n") == HookAnswer(blocked="not so")


@pytest.mark.parametrize("point", CANNOT_BLOCK)
@pytest.mark.parametrize("strict", [False, True])
def test_a_moment_that_cannot_be_stopped_only_brings_a_note(point: HookPoint, strict: bool):
    for answer in (
        read(point=point, code=2, err="not so", strict=strict),
        read({"decision": "block", "reason": "not so"}, point=point, strict=strict),
        read(point=point, code=1, err="not so", strict=strict),
    ):
        assert answer.blocked == ""
        (note,) = answer.notes
        assert "not so" in note


def test_compaction_by_hand_can_be_stopped():
    hook, call = Hook(HookPoint.PRE_COMPACT, "c", "f"), HookCall(HookPoint.PRE_COMPACT, fields={"trigger": "manual"})
    assert answer_of(hook, call, Ran(2, err="later")) == HookAnswer(blocked="later")


@pytest.mark.parametrize("point", list(HookPoint))
def test_plain_words_are_context_at_two_moments_only(point: HookPoint):
    speaks = point in (HookPoint.SESSION_START, HookPoint.USER_PROMPT_SUBMIT)
    assert read(" It is Monday.\n", point=point) == (HookAnswer(context=("It is Monday.",)) if speaks else NOTHING)


@pytest.mark.parametrize("point", [HookPoint.SESSION_END, HookPoint.TURN_COMPLETED])
def test_what_is_over_cannot_be_ended(point: HookPoint):
    assert read({"continue": False, "stopReason": "enough"}, point=point) == HookAnswer(notes=("enough",))


def test_arguments_and_permissions_are_for_calls_only():
    said = special(permissionDecision="deny", updatedInput={"a": 1}, additionalContext="c")
    assert read(said, point=HookPoint.USER_PROMPT_SUBMIT) == HookAnswer(context=("c",))


FAILURES = {
    "other code": (Ran(1, err="oh no"), "exit code 1: oh no"),
    "no word": (Ran(127), "exit code 127"),
    "signal": (Ran(-9), "exit code -9"),
    "time": (Ran(None, problem="it was ended after 30 s"), "it was ended after 30 s"),
    "no JSON": (Ran(0, "{ x"), "its output begins like JSON and is none"),
    "deep JSON": (Ran(0, '{"a":' * 50_000), "its output begins like JSON"),
    "odd decision": (Ran(0, '{"decision": "maybe"}'), "decision must be one of block, deny, approve, allow"),
    "odd permission": (Ran(0, json.dumps(special(permissionDecision=3))), "permissionDecision must be one of"),
    "odd reason": (Ran(0, '{"decision": "block", "reason": 3}'), "reason must be a string"),
    "odd input": (Ran(0, json.dumps(special(updatedInput=[]))), "updatedInput must be an object"),
    "odd output": (Ran(0, '{"hookSpecificOutput": 3}'), "hookSpecificOutput must be an object"),
    "odd context": (Ran(0, json.dumps(special(additionalContext=["a"]))), "additionalContext must be a string"),
}


@pytest.mark.parametrize("name", FAILURES)
def test_a_failure_counts_as_the_hook_says(name: str):
    ran, why = FAILURES[name]
    lenient = answer_of(Hook(PRE, "check it", "hooks.json"), HookCall(PRE), ran)
    (note,) = lenient.notes
    assert lenient == HookAnswer(notes=(note,))
    assert note.startswith("the PreToolUse hook `check it` of hooks.json failed (")
    assert why in note
    assert note.endswith("was ignored")
    strict = answer_of(Hook(PRE, "check it", "hooks.json", strict=True), HookCall(PRE), ran)
    assert strict == HookAnswer(blocked=strict.blocked)
    assert why in strict.blocked
    assert strict.blocked.endswith("its on_failure is deny")


def test_words_of_hooks_hold_nothing_that_a_terminal_obeys():
    said = {"decision": "block", "reason": "a\x1b[31mb\x00\ud800c", "systemMessage": "x\x07y"}
    assert read(said) == HookAnswer(blocked="a[31mbc", notes=("xy",))


# ---------------------------------------------------------------- together


def together(*answers: HookAnswer) -> HookAnswer:
    return merged([Hook(PRE, f"c{number}", "f") for number in range(len(answers))], answers)


def test_one_no_is_a_no_and_all_reasons_are_kept_in_order():
    answers = (NOTHING, HookAnswer(blocked="b", context=("x",)), HookAnswer(ask="odd"), HookAnswer(blocked="a"))
    assert together(*answers) == HookAnswer(blocked="b; a", ask="odd", context=("x",))


def test_hooks_that_want_different_arguments_stop_the_call():
    answer = together(HookAnswer(input={"a": 1}), NOTHING, HookAnswer(input={"a": 2}))
    both = "the PreToolUse hook `c0` of f and the PreToolUse hook `c2` of f"
    assert answer.blocked == f"{both} want different arguments for this call"
    assert together(HookAnswer(input={"a": 1}), HookAnswer(input={"a": 1})) == HookAnswer(input={"a": 1})


def test_notes_and_context_of_all_come_together_and_the_first_halt_counts():
    one = HookAnswer(context=("a",), notes=("n",), halt="h1")
    two = HookAnswer(context=("a", "b"), notes=("m",), halt="h2")
    assert together(one, two) == HookAnswer(context=("a", "b"), notes=("n", "m"), halt="h1")


def test_context_is_bounded_for_the_moment():
    answer = together(*(HookAnswer(context=(letter * 6_000,)) for letter in "abc"))
    assert [text[0] for text in answer.context] == ["a", "b"]
    assert sum(map(len, answer.context)) < CONTEXT_LIMIT + 100
    assert answer.context[1].endswith("(2,000 characters more were cut)")
    assert len(read(special(additionalContext="x" * 50_000)).context[0]) < CONTEXT_LIMIT + 100
