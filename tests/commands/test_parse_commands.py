"""Which prompts are commands."""

import pytest

from quillback.core.commands import NAME_LIMIT, is_name, parse


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("/help", ("help", "")),
        ("/help  \n", ("help", "")),
        ("  /help", ("help", "")),
        ("\n\t/goal a\n b", ("goal", "a\n b")),
        ("/compact the plan ", ("compact", "the plan")),
        ("/goal\nall tests\n  pass", ("goal", "all tests\n  pass")),
        ("/goal first\nsecond", ("goal", "first\nsecond")),
        ("/files:read-me\tnow", ("files:read-me", "now")),
        ("/größe 1", ("größe", "1")),
        ("/2fa", ("2fa", "")),
        ("/etc is full", ("etc", "is full")),
    ],
)
def test_a_prompt_that_may_be_a_command(text, found):
    assert parse(text) == found


@pytest.mark.parametrize(
    "text",
    [
        *("", "/", "//", "/ help", " / help", "help", "say /help", "/usr/bin", "/usr/bin is full", "/-x", "/_x", "/:x"),
        *("/etc, for example", "/what?", "/a:", "/a::b", "/a.b", "/\x00", "/ä/ö", "/" + "x" * (NAME_LIMIT + 1)),
    ],
)
def test_any_other_prompt(text):
    assert parse(text) is None


def test_a_long_prompt_takes_no_time():
    assert parse("/x" + ":" * 1_000_000) is None
    assert parse("/" + "x:" * 500_000 + "/") is None
    name, argument = parse("/fix " + "a b " * 500_000) or ("", "")
    assert (name, len(argument)) == ("fix", 1_999_999)


def test_names():
    assert is_name("git:fix-1_a")
    assert not is_name("git:")
    assert not is_name("two words")
    assert not is_name("\udc80")
