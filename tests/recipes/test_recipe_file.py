"""What a recipe's file may say, and how everything that is wrong with it is named."""

import json
import os

import pytest

from quillback.core.message import Text
from quillback.core.rules import Mode
from quillback.core.turn_types import Check, Limits
from quillback.recipes.errors import RecipeError
from quillback.recipes.file import SIZE_LIMIT, load_recipe, parse_recipe
from quillback.recipes.parameters import Kind, Parameter
from quillback.recipes.use import prepare

WHOLE = """\
title: Mend it
description: Mends one file.
instructions: |
  Be careful with {{ file }}.
prompt: "Mend {{ file }} ({{ level }}, {{ deep }}, {{ tries }}, {{ note }})."
parameters:
  - key: file
    description: the file
  - key: level
    type: choice
    choices: [low, "yes"]
    default: low
  - {key: deep, type: boolean, default: no}
  - {key: tries, type: number, default: 1.50}
  - {key: note, required: false}
checks:
  - test -f {{ file }}
  - command: lint {{ file }} --level={{ level }}
    timeout: 7
retries: 5
fresh: true
on_failure: git checkout {{ file }}
output: {type: object, properties: {n: {type: integer}}, required: [n]}
model: m2
mode: auto
max_steps: 20
max_cost: 0.5
max_duration: 60
"""


def parse(text: str):
    return parse_recipe(text.encode(), "r.yaml")


def problems(text: str) -> list[str]:
    with pytest.raises(RecipeError) as refused:
        parse(text)
    return list(refused.value.problems)


def test_a_whole_recipe():
    recipe = parse(WHOLE)
    assert (recipe.title, recipe.description, recipe.model, recipe.mode) == (
        "Mend it",
        "Mends one file.",
        "m2",
        Mode.AUTO,
    )
    assert recipe.parameters == (
        Parameter("file", "the file"),
        Parameter("level", "", Kind.CHOICE, "low", ("low", "yes")),
        Parameter("deep", "", Kind.BOOLEAN, "false"),
        Parameter("tries", "", Kind.NUMBER, "1.5"),
        Parameter("note", "", Kind.STRING, ""),
    )
    assert recipe.limits == Limits(20, 0.5, 60)
    expand = prepare(recipe, ["file=a b.py", "level=yes", "deep=YES", "tries= 2.50 "])
    assert expand.parts == (
        Text("Be careful with a b.py.\n"),
        Text("Mend a b.py (yes, true, 2.50, )."),
    )
    assert expand.recipe.checks == (Check("test -f 'a b.py'", 300), Check("lint 'a b.py' --level=yes", 7))
    assert expand.recipe.on_failure == Check("git checkout 'a b.py'", 600)
    assert (expand.recipe.retries, expand.recipe.fresh, expand.recipe.limits) == (5, True, Limits(20, 0.5, 60))
    assert expand.recipe.output == {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def test_the_least_recipe():
    recipe = parse_recipe(b"\xef\xbb\xbfprompt: Go.\n", "dir/do-it.yaml")
    assert (recipe.title, recipe.limits, recipe.mode, recipe.output) == ("do-it", None, None, None)
    expand = prepare(recipe, [])
    assert expand.parts == (Text("Go."),)
    assert (expand.recipe.checks, expand.recipe.retries, expand.recipe.on_failure) == ((), 3, None)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("title: x", "r.yaml:1: prompt: is missing or empty; write what the model is to do"),
        ("prompt: ' '", "r.yaml:1: prompt: is missing or empty"),
        ("prompt: 3", "r.yaml:1: prompt: must be a text; put 3 in quotes"),
        ("prompt: yes", "r.yaml:1: prompt: must be a text; put true in quotes"),
        ("prompt: [a]", "r.yaml:1: prompt: must be a text"),
        ("prompt: x\npromt: y", "r.yaml:2: promt: no such key; did you mean prompt?"),
        ("prompt: x\nzzz: y", "r.yaml:2: zzz: no such key; there are: title, description,"),
        ("prompt: x\nretries: 101", "r.yaml:2: retries: 101 is not allowed; use a whole number from 0 to 100"),
        ("prompt: x\nretries: true", "r.yaml:2: retries: true is not allowed"),
        ("prompt: x\nfresh: 1", "r.yaml:2: fresh: 1 is not allowed; use true or false"),
        ("prompt: x\nmode: wild", "r.yaml:2: mode: 'wild' is not allowed; use approve, smart, auto, chat"),
        ("prompt: x\nmax_steps: 0", "r.yaml:2: max_steps: 0 is not allowed; use a whole number from 1 to 1000000"),
        ("prompt: x\nmax_cost: -1", "r.yaml:2: max_cost: -1 is not allowed; use a number of US dollars above 0"),
        ("prompt: x\nmax_duration: a", "use a number of seconds above 0"),
        ("prompt: x\nchecks: pytest", "r.yaml:2: checks: must be a list; begin each item with a dash"),
        ("prompt: x\nchecks:\n - ''", "r.yaml:3: checks.1: must be a command"),
        ("prompt: x\nchecks:\n - 3", "r.yaml:3: checks.1: must be a command"),
        ("prompt: x\nchecks:\n - {timeout: 3}", "r.yaml:3: checks.1: must be a command"),
        ("prompt: x\nchecks:\n - {command: a, timeout: 0}", "r.yaml:3: checks.1.timeout: 0 is not allowed"),
        ("prompt: x\nchecks:\n - {command: a, retry: 0}", "checks.1.retry: no such key; there are: command, timeout"),
        ("prompt: x\nchecks: [" + "a, " * 41 + "]", "r.yaml:2: checks: there are 41; at most 40"),
        ("prompt: x\non_failure: []", "r.yaml:2: on_failure: must be a command"),
        ("prompt: x\nparameters: {a: b}", "r.yaml:2: parameters: must be a list"),
        ("prompt: x\nparameters: [a]", "r.yaml:2: parameters.1: must be a table of keys and values"),
        ("prompt: x\nparameters:\n - {key: a b}", "r.yaml:3: parameters.1.key: 'a b' is no key"),
        ("prompt: x\nparameters:\n - {key: a}\n - {key: a}", "r.yaml:4: parameters.2.key: a is there twice"),
        (
            "prompt: x\nparameters:\n - {key: a, type: date}",
            "'date' is not allowed; use string, number, boolean, choice",
        ),
        ("prompt: x\nparameters:\n - {key: a, type: choice}", "choices: go with type: choice"),
        ("prompt: x\nparameters:\n - {key: a, type: string, choices: [b]}", "choices: go with type: choice"),
        ("prompt: x\nparameters:\n - {key: a, choices: [no]}", "choices.1: must be texts; put false in quotes"),
        ("prompt: x\nparameters:\n - {key: a, choices: [b], default: c}", "default: 'c' is not allowed; use b"),
        ("prompt: x\nparameters:\n - {key: a, default: 1}", "default: 1 is not allowed; use a text in quotes"),
        ("prompt: x\nparameters:\n - {key: a, type: number, default: b}", "default: 'b' is not allowed; use a number"),
        ("prompt: x\nparameters:\n - {key: a, type: boolean, default: 1}", "default: 1 is not allowed; use a boolean"),
        ("prompt: x\nparameters:\n - {key: a, default: b, required: true}", "required: a parameter with a default"),
        ("prompt: x\nparameters:\n - {key: a, required: 1}", "required: 1 is not allowed; use true or false"),
        ("prompt: '{{ a }}'", "r.yaml:1: prompt: {{ a }} is no parameter; the recipe has no parameters"),
        ("prompt: x\ninstructions: '{{ a }}'", "r.yaml:2: instructions: {{ a }} is no parameter"),
        ("prompt: x\nchecks:\n - test {{ a }}", "r.yaml:3: checks.1: {{ a }} is no parameter"),
        ("prompt: x\non_failure: test {{ a }}", "r.yaml:2: on_failure: {{ a }} is no parameter"),
        ("prompt: x\nchecks: [\"echo '{{ a }}'\"]\nparameters: [{key: a}]", "cannot stand between quotes"),
        ("prompt: x\noutput: text", "r.yaml:2: output: must be a table"),
        ("prompt: x\noutput: {type: text}", "r.yaml:2: output: no valid JSON schema: type: 'text' is not valid"),
        ("prompt: x\noutput: {$ref: 'https://example.com/s'}", "output: $ref: 'https://example.com/s' leads nowhere"),
        ("prompt: x\noutput: {$ref: '#/$defs/a'}", "leads nowhere; it must begin with #"),
        ("prompt: x\noutput: {$id: 'https://example.com/s'}", "output: $id would give the references another root"),
        ("prompt: x\noutput: {pattern: '('}", "pattern: '(' is not a 'regex'"),
        ("prompt: x\noutput: {patternProperties: {'[': {}}}", "patternProperties: '[' is not a 'regex'"),
        (f"prompt: x\noutput: {{description: {'a' * 64_001}}}", "the schema has more than 64,000 characters"),
        ("prompt: x\noutput: {type: object}\nmode: chat", "r.yaml:3: mode: in chat mode no tool runs"),
        ("- a", "r.yaml:1: a recipe is a table of keys"),
        ("", "r.yaml:1: a recipe is a table of keys"),
    ],
)
def test_each_problem_names_line_key_and_what_is_allowed(text, said):
    (problem,) = problems(text)
    assert said in problem
    assert problem.startswith("r.yaml:")


def test_all_problems_are_named_at_once():
    found = problems("prompt: '{{ a }}'\nretries: x\nfresh: 3\nfoo: 1")
    assert [problem.split(": ")[1] for problem in found] == ["foo", "retries", "fresh", "prompt"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], ["r.yaml: file: missing (the file); add file=..."]),
        (["x"], ["'x' is not key=value; there are: file, level", "file: missing"]),
        (["file=a", "file=b"], ["file: given twice; leave one out"]),
        (["file=a", "fle=b"], ["fle: no such parameter; there are: file, level, deep, tries, note"]),
        (["file=a", "level=high"], ["level: 'high' is not allowed; use low or yes"]),
        (["file=a", "deep=maybe"], ["deep: 'maybe' is not allowed; use true or false"]),
        (["file=a", "tries=nan", "deep=2"], ["tries: 'nan' is not allowed; use a number", "deep: '2' is not allowed"]),
        (["file=a", "tries=1_0"], ["tries: '1_0' is not allowed"]),
        (["file=a\0b"], ["use a text without NUL"]),
    ],
)
def test_arguments_that_do_not_fit(words, said):
    with pytest.raises(RecipeError) as refused:
        prepare(parse(WHOLE), words)
    assert len(refused.value.problems) == len(said)
    for problem, text in zip(refused.value.problems, said, strict=True):
        assert text in problem
        assert problem.startswith("r.yaml: ")


def test_values_are_taken_as_they_are():
    expand = prepare(parse(WHOLE), ["file=a=b", "note={{ file }}"])
    assert expand.parts[1].text == "Mend a=b (low, false, 1.5, {{ file }})."


def test_a_prompt_that_parameters_leave_empty_is_refused():
    recipe = parse("prompt: '{{ a }}'\nparameters: [{key: a, required: false}]")
    with pytest.raises(RecipeError, match="nothing is left of it"):
        prepare(recipe, [])


def test_files_that_cannot_be_read(tmp_path):
    pipe = tmp_path / "pipe.yaml"
    os.mkfifo(pipe)
    large = tmp_path / "large.yaml"
    large.write_bytes(b"#" * (SIZE_LIMIT + 1))
    latin = tmp_path / "latin.yaml"
    latin.write_bytes(b"prompt: x\ntitle: \xe9\n")
    for path, said in (
        (tmp_path / "gone.yaml", "gone.yaml: cannot be read: No such file or directory; give the path of a recipe"),
        (tmp_path, "is not a regular file; give the path"),
        (pipe, "pipe.yaml: is not a regular file"),
        (large, "is larger than 256 KB"),
        (latin, "latin.yaml:2: the text is not UTF-8"),
    ):
        with pytest.raises(RecipeError, match=said):
            load_recipe(path)


def test_a_schema_may_refer_to_its_own_parts():
    schema = {"$defs": {"a/b": {"type": "string"}}, "anyOf": [{"$ref": "#/$defs/a~1b"}, {"$ref": "#/anyOf/0"}]}
    assert parse(f"prompt: x\noutput: {json.dumps(schema)}").output == schema
