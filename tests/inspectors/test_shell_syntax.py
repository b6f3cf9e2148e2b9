"""What is found in a line, and what is said to be unclear."""

import subprocess
import sys
import time

import pytest

from quillback.inspectors import shell_syntax_tree
from quillback.inspectors.shell_rules import commands_for_rules
from quillback.inspectors.shell_syntax import parse

FOUND = [
    ("a", ["a"]),
    ("a; b && c || d | e & f\ng", ["a", "b", "c", "d", "e", "f", "g"]),
    ("(a; b) & { c; }", ["a", "b", "c"]),
    ("if a; then b; elif c; then d; else e; fi", ["a", "b", "c", "d", "e"]),
    ("while a; do b; done; until c; do d; done", ["a", "b", "c", "d"]),
    ("case x in a) b ;; c|d) e ;; esac", ["b", "e"]),
    ("f() { a; }; f", ["a", "f"]),
    ("function f { a; }", ["a"]),
    ("! a", ["a"]),
    ("a |& b", ["a", "b"]),
    ('a $(b `c` "$(d)")', ["c", "d", 'b `c` "$(d)"', 'a $(b `c` "$(d)")']),
    ("a <(b) >(c)", ["b", "c", "a <(b) >(c)"]),
    ("a ${x:-$(b)} ${y/$(c)/d}", ["b", "c", "a ${x:-$(b)} ${y/$(c)/d}"]),
    ("a $((1+$(b)))", ["b", "a $((1+$(b)))"]),
    ("cat <<E\n$(a) $b\nE\nc", ["a", "cat", "c"]),
    ("cat <<'E'\n$(a)\nE\nc", ["cat", "c"]),
    ("cat <<-E | a\n\tx\n\tE\n", ["cat", "a"]),
    ("a 'b c' \"d e\" f\\ g", ["a 'b c' 'd e' 'f g'"]),
    ("r''m \"x\"'y'z", ["rm xyz"]),
    ("$'\\x72m' $'\\141\\tb'", ["rm 'a\tb'"]),
    ("a {b,c}d {e,{f,g}} h{i}", ["a bd cd e f g 'h{i}'"]),
    ("a \\\n  b", ["a b"]),
    ("a # b\nc", ["a", "c"]),
    ("/bin/a x; /opt/a x; ./a x", ["a x", "/opt/a x", "./a x"]),
    ("a >f 2>&1 <g b", ["a b"]),
    ("python3 - <<'E'\nx\nE\n", ["python3 -"]),
    ("a=1 b", ["b"]),
    ("a=1", ["a=1"]),
    ("[[ -n $(a) ]] && (( x + $(b) ))", ["[[ -n $(a) ]]", "a", "(( x + $(b) ))", "b"]),
    ("export a=$(b)", ["b", "export a=$(b)"]),
    ("", []),
    ("  # nothing", []),
]


@pytest.mark.parametrize(("line", "commands"), FOUND)
def test_every_command_of_a_line_is_found(line, commands):
    assert commands_for_rules(parse(line)) == commands


UNCLEAR = [
    ("$x", "which program runs is not known: $x"),
    ("a${b}c d", "which program runs is not known"),
    ("/bin/r? x", "which program runs is not known"),
    ('a "b', "syntax error"),
    ("{a,b} c", "syntax error"),
    ("a &&", "syntax error"),
    ("ls\rrm x", "control characters"),
    ("ls\0", "control characters"),
    ("a\x1b[2K", "control characters"),
    ("a ${ b; }", "syntax"),
    ("a <<E\nb", "syntax"),
    ("x='a[$(b)]'; echo $((x))", "may be run by a computation"),
    ("echo x >&'$(a)'", "may be expanded twice"),
    ("PATH=.:$PATH a", "it sets PATH"),
    ("LD_PRELOAD=x a", "it sets LD_PRELOAD"),
    ("GIT_PAGER='sh -c x' git log", "it sets GIT_PAGER"),
    ("read PATH", "read sets a variable"),
    ("a $" + "'\\xff'", "unusual characters"),
    ("coproc N { a; }", "} is read in two ways"),
    ("! (( '\n' '`b`'\n';c'))", "(( is read in two ways"),
    ("((a); (b))", "syntax error"),
]


@pytest.mark.parametrize(("line", "reason"), UNCLEAR)
def test_what_is_not_understood_is_said(line, reason):
    assert reason in " / ".join(parse(line).unresolved)


def test_a_line_that_is_understood_leaves_nothing_open():
    assert parse('git log -3 | head && echo "$HOME" > x').unresolved == ()


def test_other_scripts_letters_are_kept_as_they_are():
    script = parse("ｒｍ x; gіt log; r\u200bm y")
    assert [c.name for c in script.commands] == ["ｒｍ", "gіt", "r\u200bm"]


def test_words_tell_what_is_known_of_them():
    (command,) = parse('a b "$c"d $e *.f ~/g "$HOME"/h').commands
    b, c, e, f, g, h = command.args
    assert (b.text, b.splits, b.wild) == ("b", False, False)
    assert (c.text, c.shape, c.splits) == (None, "\0d", False)
    assert (e.text, e.splits) == (None, True)
    assert (f.text, f.shape, f.wild) == (None, "*.f", True)
    assert (g.text, g.shape, g.home) == (None, "~/g", True)
    assert (h.shape, h.home) == ("~/h", True)


def test_redirections_are_kept_with_their_targets():
    (command,) = parse("a <b >c 2>>d &>e >&f 2>&1 >/dev/null").commands
    assert [(r.descriptor, r.operator, r.target.text, r.writes) for r in command.redirects] == [
        ("", "<", "b", False),
        ("", ">", "c", True),
        ("2", ">>", "d", True),
        ("", "&>", "e", True),
        ("", ">&", "f", True),
        ("2", ">&", "1", False),
        ("", ">", "/dev/null", False),
    ]


def test_redirections_of_a_group_hold_for_all_in_it():
    script = parse("{ a; (b); } > c")
    assert [[r.target.text for r in c.redirects] for c in script.commands] == [["c"], ["c"]]


def test_what_stands_before_in_a_pipe_is_known():
    script = parse("a | (b; c) | d")
    assert {c.name: c.upstream for c in script.commands} == {
        "a": (),
        "b": ("a",),
        "c": ("a",),
        "d": ("a", "b", "c"),
    }


def test_a_function_that_calls_itself_is_seen():
    first = parse("f() { f | f & }; f").commands[0]
    assert (first.name, first.functions, first.background) == ("f", ("f",), True)


LARGE = [
    "a " * 32_000,
    "a;" * 32_000,
    "a|" * 32_000,
    "x=(" * 20_000,
    "$[" * 30_000,
    "((" * 30_000,
    "`" * 60_000,
    "<<A\n<<B\n" * 8_000,
    "<<<,`" * 12_000,
    "[[ a && " * 8_000,
    "{a," * 20_000,
    "sudo " * 12_000,
    'sh -c "' * 8_000,
    "$(" * 30_000,
    "f(){ " * 12_000,
    "\\" * 60_000,
    "echo " + "x" * 60_000,
]


@pytest.mark.parametrize("line", LARGE, ids=lambda line: repr(line[:6]))
def test_the_time_for_a_line_is_bounded(line):
    start = time.thread_time()
    parse(line)
    assert time.thread_time() - start < 1.5


def test_a_line_that_is_too_long_is_not_understood():
    assert parse("echo " + "x" * 70_000).unresolved == ("it is too long to be looked into",)


def test_deep_nesting_is_not_understood():
    assert any("deep" in reason for reason in parse("a $(" * 80 + "a" + ")" * 80).unresolved)
    assert any("deep" in reason for reason in parse("nohup " * 60 + "a").unresolved)


def test_without_the_parser_nothing_is_understood(monkeypatch):
    def missing():
        raise shell_syntax_tree.UnreadableError("the parser is not installed")

    monkeypatch.setattr(shell_syntax_tree, "_parser", missing)
    script = parse("echo a line that no other test has")
    parse.cache_clear()
    assert (script.commands, script.unresolved) == ((), ("the parser is not installed",))


def test_the_parser_is_loaded_when_it_is_needed_only():
    code = (
        "import sys; import quillback.inspectors.security, quillback.inspectors.egress;"
        "assert not {'tree_sitter', 'tree_sitter_bash'} & set(sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
