import pytest

from quillback.core.message import Image, Text, ToolResult, ToolUse
from quillback.core.repetition import EQUAL_STEPS, FAILURES, IDENTICAL_CALLS, STEP_WINDOW, Repetition


def call(name="read", **given) -> ToolUse:
    return ToolUse("c", "t", name, given)


def result(text="out", *, is_error=False) -> ToolResult:
    return ToolResult("c", (Text(text),), is_error=is_error)


class Log:
    """Steps of one call each; `step` says whether the step was one too many."""

    def __init__(self) -> None:
        self.repetition = Repetition()

    def refusal(self, of: ToolUse, *, polling=False) -> str:
        return self.repetition.refusal(of, polling=polling)

    def step(self, of: ToolUse, brought: ToolResult | None = None, *, polling=False) -> bool:
        refused = bool(self.refusal(of, polling=polling))
        given = result("refused", is_error=True) if refused else brought or result()
        self.repetition.record(of, given, polling=polling, refused=refused)
        return self.repetition.end_step()


def test_three_identical_calls_may_run_and_the_fourth_may_not():
    log = Log()
    for _ in range(IDENTICAL_CALLS):
        assert log.refusal(call(path="a")) == ""
        log.step(call(path="a"))
    assert "call number 4" in log.refusal(call(path="a"))
    assert log.refusal(call(path="b")) == ""
    assert log.refusal(call("write", path="a")) == ""
    log.step(call(path="a"))
    assert "call number 5" in log.refusal(call(path="a"))


def test_a_refused_repeat_counts_with_the_output_it_repeated():
    log = Log()
    ends = [log.step(call(path="a")) for _ in range(EQUAL_STEPS + 1)]
    assert ends == [False] * EQUAL_STEPS + [True]


@pytest.mark.parametrize(
    "other", [result("other"), ToolResult("c", (Text("out"), Image("aGk=", "image/png"))), ToolResult("c", ())]
)
def test_another_result_is_no_repetition(other):
    log = Log()
    log.step(call())
    log.step(call())
    log.step(call(), other)
    assert log.refusal(call()) == ""


def test_the_raw_text_of_a_broken_call_counts():
    log = Log()
    for n in range(5):
        assert not log.step(ToolUse("c", "t", "read", raw="{" * n, problem="broken"))


def test_input_is_compared_by_value():
    log = Log()
    for n in range(IDENTICAL_CALLS):
        given = {"a": 1, "b": {"x": 1, "y": 2}} if n % 2 else {"b": {"y": 2, "x": 1}, "a": 1}
        log.step(call(**given))
    assert log.refusal(call(a=1, b={"x": 1, "y": 2}))


def test_polling_is_never_refused_as_a_repetition():
    log = Log()
    for _ in range(EQUAL_STEPS):
        assert not log.step(call("poll"), polling=True)
        assert log.refusal(call("poll"), polling=True) == ""


def test_failures_are_counted_by_tool_and_kind_of_error():
    log = Log()
    for n in range(FAILURES):
        assert log.refusal(call(n=n)) == ""
        log.step(call(n=n), result(f"Line {n}  broke", is_error=True))
    assert "read failed 5 times in a row in the same way (line # broke)" in log.refusal(call(n=9))
    assert log.refusal(call("write")) == ""


def test_advice_is_given_once_and_then_the_tool_may_run_again():
    log = Log()
    for n in range(FAILURES):
        log.step(call(n=n), result("broke", is_error=True))
    log.step(call(n=9))
    assert log.refusal(call(n=10)) == ""


def test_a_success_ends_a_row_of_failures():
    log = Log()
    for n in range(FAILURES - 1):
        log.step(call(n=n), result("broke", is_error=True))
    log.step(call(n=98))
    log.step(call(n=99), result("broke", is_error=True))
    assert log.refusal(call(n=100)) == ""


def test_equal_steps_are_counted_in_a_window():
    log = Log()
    for n in range(STEP_WINDOW * 3):
        assert not log.step(call(n=n % 2))
        log.step(call(n=100 + n))


def test_equal_steps_need_not_be_in_a_row():
    log = Log()
    ends = []
    for n in range(9):
        ends.append(log.step(call(path="a"), result("same")))
        if n % 2:
            ends.append(log.step(call(path=f"other {n}")))
    assert ends.index(True) == 7


def test_a_step_without_calls_is_no_step():
    assert Repetition().end_step() is False


def test_half_characters_do_not_break_the_count():
    log = Log()
    assert log.step(call(path="\ud83d"), result("\ude00")) is False
