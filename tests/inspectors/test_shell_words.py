"""Quoting: texts as bash reads them."""

import pytest

from quillback.inspectors.shell_code_texts import awk_runs_or_writes, sed_runs_or_writes
from quillback.inspectors.shell_options import Spec, parse
from quillback.inspectors.shell_script import literal
from quillback.inspectors.shell_text import ansi_c, in_backticks, in_double_quotes, in_here_document, is_live, unquoted


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("a", "a"),
        (r"\n\t\\\'\"\?", "\n\t\\'\"?"),
        (r"\x41\x6a\101\u00e9\U0001f600", "AjAé😀"),
        (r"\ca\e\E", "\x01\x1b\x1b"),
        (r"\xff", None),
        (r"\377", None),
        (r"\q", None),
        (r"a\0b", None),
        ("a'b", None),
        ("a\\", None),
        (r"\ud800", None),
        (r"\Uffffffff", None),
    ],
)
def test_ansi_c_strings(given, meant):
    assert ansi_c(given) == meant


def test_backslashes_depend_on_where_they_stand():
    assert in_double_quotes(r"\$\`\"\\\a" + "\\\nb") == '$`"\\\\ab'
    assert in_here_document(r"\$\"\\") == '$\\"\\'
    assert in_backticks(r"\`\$\"\a", quoted=False) == r"`$\"\a"
    assert in_backticks(r"\`\"", quoted=True) == '`"'
    assert list(unquoted("a\\b\\\nc\\")) == [("a", False), ("b", True), ("c", False), ("\\", True)]


@pytest.mark.parametrize(
    ("text", "live"),
    [("a", False), ("$(a)", True), ("`a`", True), ("${a}", True), ("$a", True), (r"\$a", False), ("$", False),
     ("$ a", False), (r"\\$a", True), ("$1", True)],
)  # fmt: skip
def test_expansions_are_seen(text, live):
    assert is_live(text) is live


PLAIN_SED = [
    *("p", "1,3p;$d", "s/a/b/g", "s|a|b|2p", "y/ab/cd/", "/x/{s/a/b/;d}", "$!N;P;D", "a\\\nx", "i x w y", ":a;ta"),
    *("s/\\//x/", "# w x\np", "1~2d", "/a/,+3d", "\\,x,d", "s/[ab]*/x/p"),
]
OTHER_SED = [
    *("e", "1e rm", "w f", "s/a/b/w f", "s/a/b/e", "s/a/b/ge", "W f", "r f", "s/a", "y/a/b", "/x/e", "p;p;e", "{e}"),
    *("s/[/]x/e/w f", "/[/]/d;q", "F", "v", "?"),
]


@pytest.mark.parametrize("script", PLAIN_SED)
def test_sed_scripts_that_only_change_text(script):
    assert not sed_runs_or_writes(script)


@pytest.mark.parametrize("script", OTHER_SED)
def test_sed_scripts_that_may_do_more(script):
    assert sed_runs_or_writes(script)


def test_awk_programs():
    assert not awk_runs_or_writes('{ if ($1 > 2 || $2 == "|") print $1, "a > b" }')
    assert awk_runs_or_writes('{ system("x") }')
    assert awk_runs_or_writes('{ print > "x" }')
    assert awk_runs_or_writes('{ "x" | getline }')
    assert awk_runs_or_writes('@load "x"')


def read(text, spec):
    return parse([literal(word) for word in text.split()], spec)


def test_options_are_told_from_operands():
    spec = Spec("ab:c::#", "all name= next", operands=1)
    got = read("-ab x -c -c3 -10 --all --na=y --ne op rest -a", spec)
    assert [(name, value and value.text) for name, value in got.given] == [
        *[("-a", None), ("-b", "x"), ("-c", None), ("-c", "3"), ("-#", "10"), ("--all", None), ("--name", "y")],
        ("--next", None),
    ]
    assert [w.text for w in got.operands] == ["op"]
    assert [w.text for w in got.rest] == ["rest", "-a"]
    assert got.unclear == ""


@pytest.mark.parametrize("given", ["-z x", "--nothing x", "--n x"])
def test_options_that_are_not_known_are_said(given):
    assert read(given, Spec("a", "name= next")).unclear != ""


def test_two_dashes_end_the_options():
    got = read("-a -- -b x", Spec("ab", operands=1))
    assert [w.text for w in got.operands] == ["-b"]
    assert [w.text for w in got.rest] == ["x"]
