import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from quillback.mcp.schema import SIZE_LIMIT, UnfitSchemaError, adapt

COMBINATORS = {"anyOf", "oneOf", "allOf", "$ref", "not", "enum", "if"}


def fit(schema):
    """The adapted schema, which must be one that model services take."""
    adapted = adapt(schema)
    Draft202012Validator.check_schema(adapted.schema)
    assert adapted.schema["type"] == "object"
    assert not COMBINATORS & adapted.schema.keys()
    return adapted


def test_a_good_schema_is_left_alone():
    good = {
        "type": "object",
        "properties": {"path": {"type": "string", "pattern": "^/"}, "n": {"anyOf": [{"type": "integer"}, {}]}},
        "required": ["path"],
        "additionalProperties": False,
    }
    assert fit(good).schema == good
    assert fit(good).note == ""


@pytest.mark.parametrize("schema", [None, True, {}, {"type": ["object", "null"]}, {"properties": None}])
def test_what_says_nothing_becomes_an_empty_object(schema):
    assert fit(schema).schema == {"type": "object", "properties": {}}


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ({"type": "string"}, "not an object"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "not an object"),
        ([], "not an object"),
        ({"$ref": "#/$defs/missing"}, "leads nowhere"),
        ({"$ref": "#"}, "circle"),
        ({"$ref": "https://example.org/schema"}, "outside"),
        ({"required": ["a b"]}, "cannot be sent"),
        ({"properties": {"q": {"description": "x" * SIZE_LIMIT}}}, "characters"),
        ({"properties": {"q": {"minimum": float("nan")}}}, "not JSON"),
        ({"$defs": {"a": {"allOf": [{"$ref": "#/$defs/a"}] * 30}}, "$ref": "#/$defs/a"}, "complex"),
    ],
)
def test_what_no_model_can_be_given_is_refused(schema, why):
    with pytest.raises(UnfitSchemaError, match=why):
        adapt(schema)


def test_a_root_reference_is_followed_and_definitions_stay():
    schema = {
        "$ref": "#/$defs/Args",
        "$defs": {"Args": {"type": "object", "properties": {"e": {"$ref": "#/$defs/E"}}}, "E": {"enum": [1]}},
    }
    made = fit(schema).schema
    assert made["properties"] == {"e": {"$ref": "#/$defs/E"}}
    assert made["$defs"]["E"] == {"enum": [1]}


def test_all_of_is_merged():
    one, two = {"properties": {"a": {"type": "string"}}, "required": ["a"]}, {"properties": {"b": {}}}
    made = fit({"allOf": [one, two], "properties": {"c": {}}}).schema
    assert made["properties"].keys() == {"a", "b", "c"}
    assert made["required"] == ["a"]


def test_alternatives_become_one_object_and_a_note():
    by_path = {"properties": {"kind": {"const": "path"}, "path": {}}, "required": ["kind", "path"]}
    by_url = {"properties": {"kind": {"const": "url"}, "url": {}}, "required": ["kind", "url"]}
    made = fit({"oneOf": [by_path, by_url, {"type": "null"}]})
    assert made.schema["required"] == ["kind"]
    assert made.schema["properties"]["kind"] == {"anyOf": [{"const": "path"}, {"const": "url"}]}
    assert made.note == "Give the parameters of one of these sets: (kind, path) or (kind, url)."


def test_broken_keywords_are_taken_out_one_by_one():
    schema = {
        "$schema": "http://json-schema.org/draft-04/schema#",
        "properties": {
            "any": {"type": "any", "description": "kept"},
            "must": {"type": "string", "required": True},
            "above": {"type": "number", "minimum": 1, "exclusiveMinimum": True},
            "pair": {"type": "array", "items": [{"type": "string"}]},
            "like": {"type": "string", "pattern": "("},
            "none": None,
            "lost": {"$ref": "#/definitions/nowhere", "description": "kept"},
            "either": {"anyOf": [{"type": "strong"}, {"type": "string"}]},
            "default": {"type": "any"},
        },
        "required": ["any", "any", 5],
    }
    made = fit(schema).schema
    assert made["properties"] == {
        "any": {"description": "kept"},
        "must": {"type": "string"},
        "above": {"type": "number", "minimum": 1},
        "pair": {"type": "array"},
        "like": {"type": "string"},
        "lost": {"description": "kept"},
        "either": {"anyOf": [{}, {"type": "string"}]},
        "default": {},
    }
    assert made["required"] == ["any"]


def test_an_optional_parameter_with_an_odd_name_is_left_out():
    made = fit({"properties": {"größe": {}, "a.b-c_1": {}}})
    assert list(made.schema["properties"]) == ["a.b-c_1"]
    assert "left out" in made.note


def test_the_given_schema_is_not_changed():
    given_one = {"allOf": [{"properties": {"a": {"type": "any"}}}]}
    before = json.dumps(given_one)
    adapt(given_one)
    assert json.dumps(given_one) == before


def test_endless_nesting_is_refused():
    schema: dict = {}
    for _ in range(3000):
        schema = {"properties": {"a": schema}}
    with pytest.raises(UnfitSchemaError):
        adapt(schema)


KEYWORDS = [
    "type", "properties", "required", "items", "anyOf", "allOf", "oneOf", "$ref", "$defs", "enum", "minimum",
    "pattern", "additionalProperties", "not", "if", "default",
]  # fmt: skip
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from(["object", "string", "#", "#/$defs/a", "a", "("]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*KEYWORDS, "a", "b c"]), inner, max_size=4)
    ),
    max_leaves=20,
)


@settings(max_examples=80, deadline=None)
@given(st.dictionaries(st.sampled_from(KEYWORDS), VALUES, max_size=6))
def test_whatever_comes_is_fit_or_refused(schema):
    assert _made_of(schema).startswith(("{", "its "))


def _made_of(schema) -> str:
    """The fit schema, or why there is none."""
    try:
        return json.dumps(fit(schema).schema)
    except UnfitSchemaError as error:
        return str(error)
