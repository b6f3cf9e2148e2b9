"""YAML as recipes read it: plain values with their lines, and nothing that YAML would guess at."""

import pytest

from quillback.recipes.document import read_document
from quillback.recipes.errors import RecipeError


def read(text: str):
    return read_document(text, "r.yaml")


def test_values_and_the_lines_of_their_keys():
    found = read("a: text\nb:\n  - 1\n  - c: 0.5\n    d: yes\ne: |\n  two\n  lines\nf: ~\n")
    assert found.value == {"a": "text", "b": [1, {"c": 0.5, "d": True}], "e": "two\nlines\n", "f": None}
    assert [found.place(*path) for path in (("a",), ("b", 0), ("b", 1, "d"), ("e",), ())] == [
        "r.yaml:1",
        "r.yaml:3",
        "r.yaml:5",
        "r.yaml:6",
        "r.yaml:1",
    ]


def test_what_is_not_there_has_the_place_of_what_is_around_it():
    assert read("x: 1\na:\n  b: 1\n").place("a", "gone", 3) == "r.yaml:2"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: 1\nb: 2\na: 3", "r.yaml:3: a: is there twice, first in line 1"),
        ("a:\n  b: 1\n  b: 1", "r.yaml:3: b: is there twice, first in line 2"),
        ("a: &x 1\nb: *x", "r.yaml:2: not valid YAML: a * begins an alias"),
        ("a: &x [*x]", "a * begins an alias"),
        ("on: 1", "the key on is not a text; put it in quotes"),
        ("1: 1", "the key 1 is not a text"),
        ("? [a]\n: 1", "must be in quotes"),
        ("prompt: {{ word }}", "r.yaml:1: a text that begins with { or [ must be in quotes"),
        ("<<: {a: 1}", "the key << is not a text"),
        ("a: 2026-01-01", "2026-01-01 is not a text, a number, true or false; put it in quotes"),
        ("a: !!binary aGk=", "put it in quotes"),
        ("a: !!set {b}", "the tag 'set' is not known"),
        ("a: !!python/object/apply:os.getcwd []", "is not known here"),
        ("a: .inf", ".inf is not a number that can be used"),
        ("a: .nan", ".nan is not a number that can be used"),
        (f"a: {'9' * 5000}", "is not a number that can be used"),
        ('a: "x\\0y"', "NUL"),
        ('a: "\\ud800"', "half of a character"),
        ("a: [1,\nb: 2", "r.yaml:2: not valid YAML"),
        ("a: b: c", "r.yaml:1: not valid YAML: mapping values are not allowed here"),
        ("a: \x07", "r.yaml: not valid YAML"),
        ("--- 1\n--- 2", "not valid YAML"),
        ("[" * 5000, "r.yaml: nested too deeply"),
    ],
)
def test_what_is_refused(text, said):
    with pytest.raises(RecipeError) as refused:
        read(text)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)
