"""Whatever the text, reading it ends and never fails; and however a command is dressed, it is found."""

import shlex
import time

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quillback.inspectors.shell_rules import commands_for_rules, matches
from quillback.inspectors.shell_syntax import parse

# fmt: off
TOKENS = [
    "a", "rm", "git log", " ", "\n", "\t", "\r", ";", "&", "&&", "|", "||", "(", ")", "{", "}", "[", "[[", "]]",
    "((", "))", "$(", "${", "$((", "`", "'", '"', "\\", "\\\n", "$x", "$'", '$"', "#", "!", "*", "~", "=", "x=",
    "<", ">", ">&", "<<E\n", "\nE\n", "<<<", "<(", "if ", "then ", "fi", "for i in ", "do ", "done", "case a in ",
    "esac", ";;", "f() ", "function ", "sudo ", "sh -c ", "eval ", "xargs ", "find -exec ", "env A=b ", "timeout ",
    "{a,b}", "\x00", "é", "\u200b", "\ud800",
]
# fmt: on
SOUP = st.lists(st.sampled_from(TOKENS), max_size=40).map("".join)
QUIET = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


@QUIET
@given(st.one_of(SOUP, st.text(max_size=200)))
def test_reading_never_fails_and_is_quick(line):
    start = time.thread_time()
    script = parse(line)
    assert time.thread_time() - start < 1.0
    assert script.line == line
    assert all(isinstance(text, str) for text in commands_for_rules(script))


@settings(QUIET, max_examples=20)
@given(st.lists(st.sampled_from(TOKENS), min_size=1, max_size=4).map("".join), st.integers(1, 4000))
def test_reading_the_same_again_and_again_is_bounded(unit, times):
    start = time.thread_time()
    parse(unit * times)
    assert time.thread_time() - start < 2.0


def quotings(word: str) -> st.SearchStrategy[str]:
    half = len(word) // 2
    return st.sampled_from(
        [
            word,
            f"'{word}'",
            f'"{word}"',
            "".join("\\" + c for c in word),
            f"{word[:half]}''{word[half:]}",
            f"'{word[:half]}'\"{word[half:]}\"",
            f"{word[:half]}\\\n{word[half:]}",
            "$'" + "".join(f"\\x{ord(c):02x}" for c in word) + "'",
            "$'" + "".join(f"\\{ord(c):03o}" for c in word) + "'",
        ]
    )


LINES = st.tuples(*(quotings(word) for word in ("rm", "-rf", "some/dir"))).map(" ".join)
SPACES = st.sampled_from([" ", "  ", "\t", " \\\n "])
WRAPPERS = st.sampled_from(
    [
        "timeout 5 {}",
        "env {}",
        "env A=b {}",
        "nohup {} &",
        "nice -n 3 {}",
        "command {}",
        "stdbuf -oL {}",
        "( {} )",
        "{{ {}; }}",
        "true && {}",
        "false || {}",
        "true; {}",
        "true\n{}",
        "true | {}",
        "if true; then {}; fi",
        "while true; do {}; done",
        "for i in 1; do {}; done",
        "case x in *) {};; esac",
        "f() {{ {}; }}; f",
        "echo $({})",
        'echo "$({})"',
        "cat <({})",
        "x=$({})",
        "! {}",
        "time {}",
        "{} # end",
        "{} > /dev/null 2>&1",
        "find . -exec {} \\;",
    ]
)


@QUIET
@given(LINES, SPACES, st.lists(WRAPPERS, max_size=4), st.booleans())
def test_a_command_is_found_in_whatever_dress(line, space, wrappers, through_a_shell):
    line = line.replace(" ", space)
    for wrapper in sorted(wrappers, key="! {}".__eq__):  # behind another one it would be the name of a program
        line = wrapper.format(line)
    if through_a_shell:
        line = f"bash -c {shlex.quote(line)}"
    script = parse(line)
    assert any(text.startswith("rm -rf some/dir") for text in commands_for_rules(script)) or script.unresolved


@QUIET
@given(LINES, st.sampled_from([";", "&&", "||", "|", "&", "\n", "|&", " ;\n"]), st.booleans())
def test_no_rule_for_one_command_covers_another(line, joint, first):
    both = f"git log {joint} {line}" if first else f"{line} {joint} git log"
    assert not matches("git log:*", both)
    assert matches("git log:*", "git log -3")
