"""What is typed behind a command, taken apart."""

import pytest

from quillback.commands.words import deal, fill, split


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", []),
        ("  a   b\nc ", ["a", "b", "c"]),
        ('"a b" c', ["a b", "c"]),
        ("'a b' c", ["a b", "c"]),
        ('key="a b" x', ["key=a b", "x"]),
        (r"a\ b c", ["a b", "c"]),
        (r"\d+ c:\dir", [r"\d+", r"c:\dir"]),
        (r'"say \"hi\"" x', ['say "hi"', "x"]),
        ("don't you", ["don't", "you"]),
        ("it's Bob's", ["it's", "Bob's"]),
        ("'tis y'all", ["'tis", "y'all"]),
        ('"', ['"']),
        ('a " b', ["a", '"', "b"]),
        ('"open to the end', ['"open', "to", "the", "end"]),
        ("'' x", ["", "x"]),
        ("\\", ["\\"]),
        ('"\\', ['"\\']),
    ],
)
def test_words(text, words):
    assert [word.text for word in split(text)] == words


@pytest.mark.parametrize("piece", ["'", '"', "\\", "'a ", '"\\" ', "\\ ", "a=' "])
def test_no_text_takes_long(piece):
    assert isinstance(split(piece * 50_000), list)


@pytest.mark.parametrize(
    ("body", "argument", "filled"),
    [
        ("Fix $ARGUMENTS now", "a b", "Fix a b now"),
        ("$1 before $2, $1 again, not $3.", "'x y' z", "x y before z, x y again, not ."),
        ("$1", "$2 $ARGUMENTS", "$2"),
        ("$ARGUMENTS", "$1", "$1"),
        ("costs $10 and $ARGUMENTSX", "", "costs $10 and $ARGUMENTSX"),
        ("no place", "more", "no place\n\nmore"),
        ("no place", "", "no place"),
        ("it is $1", "", "it is "),
        ("!`rm -rf /` and @file", "", "!`rm -rf /` and @file"),
    ],
)
def test_places_are_filled(body, argument, filled):
    assert fill(body, argument) == filled


@pytest.mark.parametrize(
    ("text", "count", "values"),
    [
        ("", 2, []),
        ("a", 2, ["a"]),
        ('a "b c"', 2, ["a", "b c"]),
        ('a b  "c d"', 2, ["a", 'b  "c d"']),
        ("What's this?", 1, ["What's this?"]),
        ('"one value"', 1, ["one value"]),
        ("a b", 0, []),
    ],
)
def test_the_last_value_takes_the_rest(text, count, values):
    assert deal(text, count) == values
