"""What bash really runs, on lines that parsers trip over: each command was found, or the line counts as unclear."""

import os
import shutil
import subprocess

import pytest

from quillback.inspectors.shell_syntax import parse

BASH = shutil.which("bash")
# Every program is missing, and bash tells this function instead, which writes down the words.
NOTED = '() { printf "%s\\0" "$@" "" >> "$NOTES"; return 1; }'

LINES = [
    "a; b && c || d | e",
    "a $(b 'c d') `e`",
    "{ a; (b); } > f",
    "a 'x y' \"x $(b) y\" z\\ z",
    "r''m \"x\"'y'",
    "$'\\x61' $'\\'b'",
    "$'a\\\\' && b",
    "a {b,c}d {e,{f,g}} h{i} j{k,l",
    "a {b},c}",
    "a {,,b} c",
    "a\\\nb c \\\n d",
    "a \\\n2>f b",
    "a -2>f",
    "a 2>&-b",
    "a >& -b",
    "a >f b >g c",
    "a <<E b\nx\nE\nc",
    "a <<E | b\nx\nE\n",
    "a <<E && b\nx\nE\n",
    "a <<'E'\n$(b)\nE\nc",
    "a <<E\n$(b)\nE\nc",
    "a <<E\n`b`\nE\nc",
    "a <<E\nx\n E\nb\nE\nc",
    "a <<-E\n\tx\n\tE\nb",
    "a <<E\nE \n'\nE\nb",
    "a <<E\n\\\nEE\nE\nb",
    "a <<'E'x\ny\nEx\nb",
    "a - <<E\nb\nE\n",
    "a 1<<E\nE\n",
    "> f a b",
    ">|1 -b <<E\nE\n",
    "a <<<b c",
    "a <<<b{c,d}e",
    "a >&'$(b)'",
    "a # b\nc",
    "a#b #c\nd",
    "a \\\n# b\nc",
    "\\#a",
    "!a",
    "! a",
    "! ! a",
    "!''a",
    "a ! b",
    "if a; then b; else c; fi",
    "for i in a `b`; do c; done",
    "case a in b|a) c ;; esac",
    "case $(a) in *) b ;; esac",
    "[[ a =~ <(b) ]]",
    "[[ a == b<(c) ]]",
    "[[ -n $(a) ]]",
    "[\na\n-n b ]",
    "(( x = $(a) ))",
    "! (( '\n' '`a`'\n';b'))",
    "((a); (b))",
    "echo $((1+$(a)))",
    "x='a[$(b)]'; echo $((x))",
    "x='$(a)'; echo \"${x@P}\"",
    "a ${x%{ }$&b c}d",
    'a "${x:-\'}" b \'}"',
    "a ${x:-$(b)}",
    "`a `b` c`",
    "a `b \\`c\\` d`",
    "`x=`$'a' * `b` 1` `c`",
    "a$ b",
    "a >$ b",
    '$"a" b',
    'a$"b" c',
    ']]$"a"',
    "$1a b",
    "$ a",
    "é=1 a",
    "1x=a b",
    "x\\\n= a",
    "x=a b",
    "x=(a $(b)) c",
    "x[$(a)]=b",
    "{a} b",
    "{ a; }",
    "{a; }",
    "time a",
    "time -p a",
    "time -x a",
    "time ! a",
    "time x=1 a",
    "coproc a",
    "coproc -- a",
    "eval 'a; b'",
    "eval a '$(b)'",
    "trap a EXIT",
    "exec a",
    "command a",
    "builtin eval a",
    "echo a | while read x; do b; done",
    "a & b",
    "a &\nb",
    "a\rb",
    "\\ a",
    "a \\ \n",
    "a \\ ",
    "(a \\ \n)",
    "a\u00a0b c",
    "a;;b",
    "a <(b) >(c)",
    "~/a b",
    "a ~ b",
    "a 'b\nc'",
    'a "b\nc"',
]


@pytest.mark.skipif(BASH is None, reason="bash is not installed")
def test_bash_runs_nothing_that_was_not_found(tmp_path):
    wrong = []
    for number, line in enumerate(LINES):
        script = parse(line)
        ran = executed(line, tmp_path / str(number))
        if not script.unresolved:
            wrong += [(line, words) for words in ran if not any(fits(c.words, words) for c in script.commands)]
    assert wrong == []


@pytest.mark.skipif(BASH is None, reason="bash is not installed")
def test_the_way_of_asking_bash_works(tmp_path):
    assert executed("one 'two three'; $(four)", tmp_path / "x") == [["one", "two three"], ["four"]]


def executed(line, folder):
    """The words of each command that bash starts, where no program is to be found."""
    folder.mkdir()
    notes = folder / "notes"
    env = {"PATH": "/nonexistent", "NOTES": str(notes), "BASH_FUNC_command_not_found_handle%%": NOTED, "HOME": "/none"}
    subprocess.run(
        [os.fspath(BASH), "-c", line],
        env=env,
        cwd=folder,
        check=False,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=20,
    )
    if not notes.exists():
        return []
    return [
        record.split("\0") for record in notes.read_text(errors="replace").removesuffix("\0\0").split("\0\0") if record
    ]


def fits(words, texts):
    """Whether words, as far as they are known, are these texts."""
    known = [w.text for w in words]
    if None not in known:
        return known == texts
    first = known.index(None)
    return bool(words) and known[:first] == texts[:first]
