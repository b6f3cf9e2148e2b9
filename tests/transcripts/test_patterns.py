"""Messages as transcripts write them: read, compared, filled in, written."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quillback.transcripts.naming import Naming
from quillback.transcripts.pattern import Kind, Name, Obj, Regex, Scalar, UnknownNameError, Words, fill, fits
from quillback.transcripts.pattern_reading import PatternError, read_pattern
from quillback.transcripts.pattern_writing import WIDTH, write_pattern

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
VALUES = st.recursive(
    SCALARS, lambda v: st.lists(v, max_size=4) | st.dictionaries(st.text(), v, max_size=4), max_leaves=12
)


def fit(text: str, value: object, **names: object) -> object:
    return fits(read_pattern(text), value, names)


def test_plain_json_fits_itself_whatever_the_order_of_keys():
    assert fit('{"a": 1, "b": [true, null, "x"]}', {"b": [True, None, "x"], "a": 1}) == {}
    assert fit('{"a": 1}', {"a": 1, "b": 2}) is None
    assert fit('{"a": 1, "b": 2}', {"a": 1}) is None
    assert fit("[1]", [1, 2]) is None


@pytest.mark.parametrize(("text", "value"), [("1", True), ("true", 1), ("0", False), ("null", 0), ('"1"', 1)])
def test_values_of_another_kind_do_not_fit(text: str, value: object):
    assert fit(text, value) is None


def test_an_open_end_lets_more_be_there():
    assert fit('{"a": 1, ...}', {"a": 1, "b": 2}) == {}
    assert fit('{"a": 1, ...}', {"b": 2}) is None
    assert fit("[1, ...]", [1, 2, 3]) == {}
    assert fit("[1, ...]", []) is None
    assert fit("{...}", {"a": 1}) == {}
    assert fit("{...}", []) is None


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        ("any", [None, 1, "x", {}], []),
        ("string", [""], [1, None]),
        ("int", [0, -3], [1.5, True, "1"]),
        ("number", [1, 1.5], [True, "1"]),
        ("bool", [True], [0, None]),
        ("object", [{}], [[]]),
        ("array", [[]], [{}]),
    ],
)
def test_kinds(kind: str, good: list[object], bad: list[object]):
    assert all(fit(f"<{kind}>", value) == {} for value in good)
    assert all(fit(f"<{kind}>", value) is None for value in bad)


def test_a_pattern_goes_from_end_to_end_and_over_lines():
    assert fit("/a.*z/", "a\nz") == {}
    assert fit("/a/", "ab") is None
    assert fit(r"/a\/b\d/", "a/b7") == {}
    assert fit("/1/", 1) is None


def test_a_name_takes_its_first_value_and_keeps_it():
    assert fit('{"a": $x, "b": $x}', {"a": 7, "b": 7}) == {"x": 7}
    assert fit('{"a": $x, "b": $x}', {"a": 7, "b": 8}) is None
    assert fit("$x", 8, x=7) is None


def test_names_that_did_not_fit_give_nothing():
    names = {"y": 1}
    assert fits(read_pattern('[$x, "no"]'), ["a", "yes"], names) is None
    assert names == {"y": 1}


def test_names_in_strings_stand_for_their_values():
    assert fit('"$CWD/a.py of $session"', "/w/a.py of s1", CWD="/w", session="s1") == {"CWD": "/w", "session": "s1"}
    assert fit('"$HOME costs $5, $nothing"', "$HOME costs $5, $nothing") == {}
    assert fit(r'"\u0024session"', "$session", session="s1") == {"session": "s1"}


def test_what_is_sent_has_the_values_of_names():
    assert fill(read_pattern('{"a": [$x, "$CWD/b"]}'), {"x": 3, "CWD": "/w"}) == {"a": [3, "/w/b"]}


@pytest.mark.parametrize("text", ["$x", "<int>", "/a/", "{...}", "[...]"])
def test_what_says_nothing_cannot_be_sent(text: str):
    with pytest.raises(UnknownNameError):
        fill(read_pattern(text), {})


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ('{"a": 1,\n "a": 2}', 1, "twice"),
        ('{"a" 1}', 0, "colon"),
        ('{"a": 1 "b": 2}', 0, "comma"),
        ('{"a": 1,}', 0, "nothing between"),
        ("[1,\n2,\n]", 2, "nothing between"),
        ("[1", 0, "missing"),
        ('{..., "a": 1}', 0, "last"),
        ("[..., 1]", 0, "last"),
        ("<integer>", 0, "<int>"),
        ("/(/", 0, "pattern"),
        ("hello", 0, "means nothing"),
        ('"a', 0, "cannot be read"),
        (r'"\x"', 0, "string"),
        ("{} {}", 0, "after the end"),
        ("1.2.3", 0, "means nothing"),
        ("$Name", 0, "cannot be read"),
        ("{a: 1}", 0, "key"),
        ("", 0, "missing"),
    ],
)
def test_what_cannot_be_read_is_said_with_its_line(text: str, line: int, words: str):
    with pytest.raises(PatternError) as error:
        read_pattern(text)
    assert words in str(error.value)
    assert error.value.line == line


@settings(deadline=None)
@given(VALUES)
def test_any_value_is_read_as_it_was_written(value: object):
    pattern = Naming({}).value("", value)
    assert read_pattern(write_pattern(pattern, width=20)) == read_pattern(write_pattern(pattern))
    assert fits(read_pattern(write_pattern(pattern, width=20)), value, {}) is not None
    assert fits(read_pattern(write_pattern(pattern)), value, {"nothing": "else"}) is not None


def test_patterns_are_read_as_they_were_written():
    pattern = Obj(
        (
            ("a", Name("x")),
            ("b", Kind.INT),
            ("c", Regex("a/b.*")),
            ("d", Words(("to ", Name("CWD"), "/x"))),
            ("e", Scalar(None)),
            ("f", Obj((), rest=True)),
        ),
        rest=True,
    )
    assert read_pattern(write_pattern(pattern)) == pattern
    assert read_pattern(write_pattern(pattern, width=10)) == pattern


def test_long_messages_take_lines_of_a_readable_length():
    text = {"method": "m", "params": {"list": ["word" * 5] * 8, "more": {"a": "b" * 60, "c": "d" * 60}}}
    lines = write_pattern(Naming({}).came(text)).split("\n")
    assert len(lines) > 5
    assert max(map(len, lines)) <= WIDTH
    assert lines[0] == '{"method": "m", "params": {'
    assert lines[-1] == "}}"


def test_a_dollar_of_a_text_is_written_so_that_it_begins_no_name():
    pattern = Naming({}).value("", "$session and $HOME and $5")
    assert write_pattern(pattern) == r'"\u0024session and $HOME and $5"'
    assert fits(read_pattern(write_pattern(pattern)), "$session and $HOME and $5", {"session": "s1"}) is not None


# ---------------------------------------------------------------- naming


def written(naming: Naming, message: dict[str, object]) -> str:
    return write_pattern(naming.came(message), width=1000)


def test_ids_that_come_get_names_and_keep_them():
    naming = Naming({})
    assert written(naming, {"id": 1, "result": {"sessionId": "sess_0123456789"}}) == (
        '{"id": 1, "result": {"sessionId": $session}}'
    )
    update = {"toolCallId": "call_1", "text": "of sess_0123456789 here"}
    params = {"sessionId": "sess_0123456789", "update": update}
    assert written(naming, {"method": "session/update", "params": params}) == (
        '{"method": "session/update", "params": {"sessionId": $session, '
        '"update": {"toolCallId": $call, "text": "of $session here"}}}'
    )
    assert written(naming, {"a": {"messageId": "m1", "summaryMessageId": "m2", "supersedes": ["m1", "m3"]}}) == (
        '{"a": {"messageId": $message, "summaryMessageId": $message2, "supersedes": [$message, $message3]}}'
    )


def test_the_agents_requests_are_named_and_answered_by_name():
    naming = Naming({})
    assert written(naming, {"id": 1, "method": "m"}) == '{"id": $request, "method": "m"}'
    assert write_pattern(naming.sent({"id": 1, "result": {}})) == '{"id": $request, "result": {}}'
    assert write_pattern(naming.sent({"id": 2, "method": "m"})) == '{"id": 2, "method": "m"}'
    assert written(naming, {"id": 2, "result": 1}) == '{"id": 2, "result": 1}'
    cancel = {"method": "$/cancel_request", "params": {"requestId": 1}}
    assert written(naming, cancel) == r'{"method": "$/cancel_request", "params": {"requestId": $request}}'


def test_what_differs_each_time_becomes_a_kind():
    message = {
        "updatedAt": "x",
        "cost": {"amount": 0.5, "currency": "USD"},
        "used": 12,
        "at": 99,
        "when": "2026-01-01T10:00:00Z",
    }
    assert written(Naming({}), {"r": message}) == (
        '{"r": {"updatedAt": <string>, "cost": {"amount": <number>, "currency": "USD"}, "used": <int>, "at": <int>, '
        '"when": <string>}}'
    )
    assert written(Naming({}), {"agentInfo": {"name": "q", "version": "1.2"}, "version": "1"}) == (
        '{"agentInfo": {"name": "q", "version": <string>}, "version": "1"}'
    )


def test_the_directory_becomes_a_name_where_it_is_one():
    naming = Naming({"CWD": "/w/project"})
    assert written(naming, {"a": "/w/project", "b": "file:///w/project/x", "c": "/w/project-2"}) == (
        '{"a": "$CWD", "b": "file://$CWD/x", "c": "/w/project-2"}'
    )
