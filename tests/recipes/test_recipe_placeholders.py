"""`{{ key }}`: where it may stand, what comes in its place, and that a value is never more than a value."""

import subprocess

import pytest

from quillback.recipes import placeholders

EVIL = ["a b", "$(echo ran)", "`echo ran`", "'; echo ran; '", '"', "\\", "a\nb", "*", "{{ other }}", "", "--flag", "#"]


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("{{ a }} and {{a}}, {{\ta }}", "A and A, A"),
        ("{ a } {a} }} {", "{ a } {a} }} {"),
        ("\\{{ a }} {{ a }}", "{{ a }} A"),
        ("{{ b-c_1 }}", "{{ a }}"),
        ("none", "none"),
    ],
)
def test_what_is_replaced(text, filled):
    values = {"a": "A", "b-c_1": "{{ a }}"}
    assert list(placeholders.wrong(text, values)) == []
    assert placeholders.fill(text, values) == filled


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{{ x }}", "{{ x }} is no parameter; there are: a, b"),
        ("{{ a | upper }}", "{{ a | upper }} is no placeholder"),
        ("{{ a.b }}", "is no placeholder"),
        ("{{ a }", "is no placeholder"),
        ("{{\na }}", "is no placeholder"),
        ("{{}}", "is no placeholder; write {{ key }}, or \\{{ for braces"),
        ("{{{ a }}}", "is no placeholder"),
        ("{% if a %}{{ 1 }}", "{{ 1 }} is no placeholder"),
    ],
)
def test_what_is_wrong_with_others(text, said):
    (problem,) = placeholders.wrong(text, ["a", "b"])
    assert said in problem


def test_each_problem_is_told_once():
    assert len(list(placeholders.wrong("{{ x }} {{ x }} {{ y }}", []))) == 2
    assert "the recipe has no parameters" in next(placeholders.wrong("{{ x }}", []))


@pytest.mark.parametrize("value", EVIL)
@pytest.mark.parametrize(
    "command", ["printf %s {{ v }}", "printf %s a={{ v }}", 'printf "%s" "x"{{ v }}', "\\printf %s {{v}}"]
)
def test_in_a_command_a_value_is_one_word_whatever_it_holds(value, command):
    assert placeholders.wrong_in_command(command) == ""
    line = placeholders.fill_command(command, {"v": value})
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=True)
    assert done.stdout == {"a=": "a=" + value, '"x"': "x" + value}.get(command.split("{{")[0][-3:].strip(), value)


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("echo '{{ v }}'", "between quotes"),
        ('echo "{{ v }}"', "between quotes"),
        ('echo "it\'s {{ v }}"', "between quotes"),
        ('echo "a\\" {{ v }}"', "between quotes"),
        ("echo '\\' '{{ v }}'", "between quotes"),
        ("echo 1 # {{ v }}", "in a comment"),
        ("echo 1;# it's\necho '{{ v }}'", "between quotes"),
        ("`echo {{ v }}`", "cannot have `"),
        ("cat <<E\n{{ v }}\nE", "cannot have <<"),
        ("echo $'\\'' {{ v }}", "cannot have $'"),
    ],
)
def test_where_a_value_could_become_more_it_may_not_stand(command, said):
    assert said in placeholders.wrong_in_command(command)


@pytest.mark.parametrize(
    "command",
    [
        "echo 'a' {{ v }} \"b\"",
        "echo it\\'s {{ v }}",
        "echo a#b {{ v }}",
        "# it's a comment\necho {{ v }}",
        "echo '\\{{ stay }}' {{ v }}",
        "cat <<E\nno value\nE",
    ],
)
def test_where_it_may_stand(command):
    assert placeholders.wrong_in_command(command) == ""
