"""Rules against lines: what a rule covers, what it speaks of, what is no rule."""

from pathlib import Path

import pytest

from quillback.inspectors.shell_rules import allowed, commands_for_rules, hits, matches, rejected, valid_pattern
from quillback.inspectors.shell_syntax import parse
from support.inspecting import table

TABLE = table(Path(__file__).with_name("commands.tsv"))


@pytest.mark.parametrize(
    ("pattern", "line", "covered"),
    [
        ("git log", "git log", True),
        ("git log", "git  'log'", True),
        ("git log", "git log -3", False),
        ("git log:*", "git log", True),
        ("git log:*", "git log -3", True),
        ("git log:*", "git logx", False),
        ("git log:*", "git log; rm x", False),
        ("git log:*", "git", False),
        ("git log:*", "git log > /dev/null 2>&1", True),
        ("git log:*", "git log > x", False),
        ("git:*", "/usr/bin/git log", True),
        ("git:*", "./git log", False),
        ("./run.sh:*", "./run.sh a", True),
        ("./run.sh:*", "run.sh a", False),
        ('echo "a b":*', "echo 'a b' c", True),
        ("npm run test:unit", "npm run test:unit", True),
        ("npm run test:unit:*", "npm run test:unit -- x", True),
        ("sort:*", "sort -o x y", False),
        ("sed:*", "sed -i s/a/b/ x", False),
        ("sed -n:*", "sed -n 1p x", True),
        ("find:*", "find . -delete", False),
        ("find:*", "find . -name x", True),
        ("find:*", "find . -exec rm {} +", False),
        ("sudo apt:*", "sudo apt update", False),
        ("echo:*", "echo *", False),
        ("echo:*", "echo src/*", True),
        ("echo:*", "echo ~/x", True),
        ("echo:*", "echo $x", False),
    ],
)
def test_an_allow_rule_covers(pattern, line, covered):
    assert matches(pattern, line) is covered


@pytest.mark.parametrize(
    ("pattern", "line", "spoken_of"),
    [
        ("rm:*", "rm x", True),
        ("rm:*", "git log; sudo /bin/rm x", True),
        ("rm:*", "bash -c 'rm x'", True),
        ("rm:*", "A=b rm x > y", True),
        ("rm:*", "find . -exec rm {} +", True),
        ("rm:*", "rmdir x", False),
        ("rm", "rm x", False),
        ("rm -rf:*", "rm $x", True),
        ("rm -rf:*", "rm -r x", False),
        ("git push:*", "git -C x push", True),
        ("git push:*", "git pull", False),
        ("git push:*", 'git commit -m "$x"', False),
        ("curl:*", "ls $(curl x)", True),
    ],
)
def test_a_reject_rule_speaks_of(pattern, line, spoken_of):
    assert hits(pattern, line) is spoken_of


@pytest.mark.parametrize(
    "pattern", ["", ":*", "a; b", "a | b:*", "a > b", "a=1 b", "$(a)", "a $b:*", 'a "b', "a {b,c}"]
)
def test_what_is_no_rule(pattern):
    assert not valid_pattern(pattern)
    assert not matches(pattern, "a")
    assert not hits(pattern, "a")


@pytest.mark.parametrize("pattern", ["git log", "git log:*", "sudo apt:*", "timeout 5 x", "python -c:*", "a 'b c':*"])
def test_what_is_a_rule(pattern):
    assert valid_pattern(pattern)


def test_each_command_may_be_covered_by_another_rule():
    script = parse("git log | head -3 && timeout 5 npm test")
    assert commands_for_rules(script) == ["git log", "head -3", "npm test"]
    assert allowed(script, ["git log:*", "head:*", "npm test"])
    assert not allowed(script, ["git log:*", "npm test"])
    assert rejected(script, ["head:*"])
    assert not rejected(script, ["tail:*"])


def test_nothing_is_covered_when_nothing_runs_or_something_is_unclear():
    assert not allowed(parse(""), ["a:*"])
    assert not allowed(parse("a; $x"), ["a:*"])


def test_no_dangerous_line_of_the_table_is_covered_by_rules_for_its_first_word():
    """An allowed first word (`git log`, `echo`, `ls` ...) never carries the rest of a line."""
    wrong = []
    for rows in TABLE.values():
        for _, alone, line in rows:
            if alone == "deny" and allowed(parse(line), ["git:*", "echo:*", "ls:*", "cat:*", "true", "cd:*"]):
                wrong.append(line)
    assert wrong == []
