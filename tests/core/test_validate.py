from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quillback.core.validate import DEEPEST, InputError, check, parse_input

SCHEMA = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "line": {"type": "integer", "minimum": 1, "maximum": 10},
        "ratio": {"type": "number"},
        "mode": {"enum": ["a", "b"]},
        "tags": {"type": "array", "items": {"type": "string"}},
        "todo": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"text": {"type": "string"}},
                "required": ["text"],
                "additionalProperties": False,
            },
        },
        "maybe": {"type": ["string", "null"]},
        "on": {"type": "boolean"},
        "any": {},
    },
    "required": ["path"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    "fine",
    [
        {"path": ""},
        {"path": "a", "line": 1},
        {"path": "a", "line": 10.0},
        {"path": "a", "ratio": 1},
        {"path": "a", "ratio": -1.5},
        {"path": "a", "mode": "b"},
        {"path": "a", "tags": []},
        {"path": "a", "tags": ["x", "y"]},
        {"path": "a", "todo": [{"text": "x"}]},
        {"path": "a", "maybe": None},
        {"path": "a", "on": False},
        {"path": "a", "any": {"what": ["ever"]}},
    ],
)
def test_what_fits_is_fine(fine):
    assert check(fine, SCHEMA) == ""


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({}, "missing required parameter: path"),
        ({"path": None}, "path must be string, not null"),
        ({"path": "a", "line": "1"}, "line must be integer, not string"),
        ({"path": "a", "line": True}, "line must be integer, not boolean"),
        ({"path": "a", "line": 1.5}, "line must be integer, not number"),
        ({"path": "a", "line": 0}, "line must be at least 1, not 0"),
        ({"path": "a", "line": 11}, "line must be at most 10, not 11"),
        ({"path": "a", "on": 1}, "on must be boolean, not integer"),
        ({"path": "a", "mode": "c"}, 'mode must be one of "a", "b"'),
        ({"path": "a", "tags": "x"}, "tags must be array, not string"),
        ({"path": "a", "tags": ["x", 5]}, "tags[1] must be string, not integer"),
        ({"path": "a", "todo": [{"text": "x"}, {}]}, "missing required parameter: todo[1].text"),
        ({"path": "a", "todo": [{"text": "x", "no": 1}]}, "unknown parameter todo[0].no; known: text"),
        ({"path": "a", "maybe": 5}, "maybe must be string or null, not integer"),
        ({"path": "a", "nope": 1}, "unknown parameter nope; known: " + ", ".join(SCHEMA["properties"])),
        ([], "the input must be object, not array"),
    ],
)
def test_the_first_thing_that_is_wrong_is_named(given, problem):
    assert check(given, SCHEMA) == problem


def test_all_missing_parameters_are_named_at_once():
    schema = {"type": "object", "required": ["a", "b"]}
    assert check({}, schema) == "missing required parameters: a, b"


@pytest.mark.parametrize(
    "schema", [{}, {"type": "object"}, {"type": "strange"}, {"type": "object", "properties": None}]
)
def test_what_a_schema_does_not_say_is_left_to_the_tool(schema):
    assert check({"a": 1}, schema) == ""


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        ("", {}),
        (" \n", {}),
        ("{}", {}),
        (' {"a": [1, null, "é"]} ', {"a": [1, None, "é"]}),
        ('{"a": 1e3}', {"a": 1000.0}),
    ],
)
def test_an_object_or_nothing_is_an_input(raw, value):
    assert parse_input(raw) == value


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        ("{", "not valid JSON"),
        ('{"a": 1} trailing', "not valid JSON"),
        ("{'a': 1}", "not valid JSON"),
        ("[]", "must be a JSON object, not array"),
        ("null", "must be a JSON object, not null"),
        ("5", "must be a JSON object, not integer"),
        ('{"a": NaN}', "NaN is not valid JSON"),
        ('{"a": -Infinity}', "-Infinity is not valid JSON"),
        ('{"a": 1e999}', "a number that is too large"),
        ('{"a": ' + "9" * 5000 + "}", "not valid JSON"),
        ('{"a": "\\ud83d"}', "half of a character"),
        ('{"\\ude00": 1}', "half of a character"),
        ('{"a":' * 201 + "1" + "}" * 201, "nested more than 200 levels"),
        ('{"a":' + "[" * 100_000, "not valid JSON"),
        ('{"a":' + "[" * 900 + "]" * 900 + "}", "nested more than 200 levels"),
    ],
)
def test_anything_else_is_refused_in_words(raw, problem):
    with pytest.raises(InputError, match=problem):
        parse_input(raw)


def test_nesting_up_to_the_limit_is_fine():
    raw = '{"a":' * (DEEPEST - 1) + "1" + "}" * (DEEPEST - 1)
    assert parse_input(raw)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


KEYWORDS = st.sampled_from(
    ["type", "properties", "required", "additionalProperties", "items", "enum", "minimum", "maximum"]
)
NAMES = st.sampled_from(["a", "b", "object", "array", "integer", "string"])
SCHEMAS = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | NAMES,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(KEYWORDS | NAMES, inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(NAMES, JSON, max_size=3) | JSON, st.dictionaries(KEYWORDS, SCHEMAS, max_size=5))
def test_no_value_and_no_schema_makes_it_fail(value, schema):
    assert isinstance(check(value, schema), str)


@given(st.text(max_size=30) | st.text(alphabet='{}[]":,1ae.-\\u ', max_size=30))
def test_no_text_makes_it_fail_in_another_way(raw):
    with suppress(InputError):
        assert isinstance(parse_input(raw), dict)
