import pytest

from quillback.core.message import Usage
from quillback.core.reply import KNOWN
from quillback.providers.script import (
    Call,
    Drop,
    Expectation,
    Fail,
    Pace,
    Pause,
    RawCall,
    Response,
    Say,
    Script,
    Think,
)
from quillback.providers.script_format import _STOPS, ScriptError, parse_script
from quillback.providers.scripted import BUILT_IN, load_script


def test_every_kind_of_line():
    script = parse_script(
        r"""
        # a comment
        loop

        think: Let me see.
        text: One\ntwo: three\t\\n \d
        text*3: word\s
        call: read_file {"path": "a: b"}
        call: list_dir
        call-raw: read_file {"path":
        wait: 1.5s
        pace: 50ms
        usage: {"input_tokens": 9, "cache_read_input_tokens": 8, "cache_creation_tokens": 7}
        stop: max_tokens
        expect: hello.py
        expect-not: goodbye
        ---
        error: 529 retry-after=1.5 Too busy
        ---
        error: 400
        expect: hello.py
        ---
        drop
        """,
        "x",
    )
    actions = (
        Think("Let me see."),
        Say("One\ntwo: three\t\\n \\d"),
        Say("word ", 3),
        Call("read_file", {"path": "a: b"}),
        Call("list_dir", {}),
        RawCall("read_file", '{"path":'),
        Pause(1.5),
        Pace(0.05),
    )
    expectations = (Expectation("hello.py", True, 15), Expectation("goodbye", False, 16))
    failing = (
        Response((Fail(529, "Too busy", 1.5),)),
        Response((Fail(400, "the script says so", None),), (Expectation("hello.py", True, 21),)),
        Response((Drop(),)),
    )
    whole = Response(actions, expectations, Usage(9, 0, 8, 7), "max_tokens")
    assert script == Script("x", (whole, *failing), loop=True)


def test_separators_at_the_ends_make_no_replies():
    assert len(parse_script("---\ntext: a\n---\n\n---\nstop: end_turn\n---\n", "x").responses) == 2


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("say: hello", "`say: hello` is not known; allowed are text:, think:, call:"),
        ("hello", "`hello` is not known"),
        ("call*2: a", "is not known"),
        ("call:", "a call needs a name"),
        ("call: read_file {path}", "`{path}` is not valid JSON"),
        ("call: read_file [1]", "`[1]` must be a JSON object"),
        ("wait: soon", "`soon` must be a time such as 50ms or 1.5s"),
        ("pace: 5", "`5` must be a time"),
        ("text*0: a", "`*0` must be a number from 1 to"),
        ("text*many: a", "`*many` must be a number"),
        ("usage: {}}", "is not valid JSON"),
        ('usage: {"tokens": 1}', "`tokens` is no count; allowed are whole numbers for input_tokens"),
        ('usage: {"input_tokens": -1}', "`input_tokens` is no count"),
        ("stop:", "stop needs a reason"),
        ("stop: foo", "`foo` is no reason to stop; allowed are end_turn, tool_use, max_tokens"),
        ("error: 200", "an error is a status from 400 to 599"),
        ("error: soon", "an error is a status"),
        ("loop", "`loop` belongs at the top"),
    ],
)
def test_a_wrong_line_is_named_with_what_is_allowed(line, words):
    with pytest.raises(ScriptError) as caught:
        parse_script(f"# one\ntext: two\n{line}\n", "my.script")
    assert str(caught.value).startswith("my.script:3: ")
    assert words in str(caught.value)


@pytest.mark.parametrize("after", ["text: never", "drop", "error: 400", "stop: end_turn", 'usage: {"input_tokens": 1}'])
@pytest.mark.parametrize("failure", ["error: 529", "drop"])
def test_what_a_failure_would_hide_is_refused(failure, after):
    with pytest.raises(ScriptError, match=r"x:2: .*---"):
        parse_script(f"{failure}\n{after}", "x")


def test_the_reasons_to_stop_are_those_that_a_turn_knows():
    assert {*_STOPS} == KNOWN


def test_an_empty_script_is_refused():
    with pytest.raises(ScriptError, match=r"my\.script: there is no reply in it"):
        parse_script("# nothing\n---\n", "my.script")


@pytest.mark.parametrize("name", BUILT_IN)
def test_the_built_in_scripts_are_valid(name):
    assert load_script(name).responses


def test_a_file_is_loaded_and_named_in_errors(tmp_path):
    path = tmp_path / "my.script"
    path.write_text("text: é\n", encoding="utf-8")
    assert load_script(str(path)).responses == (Response((Say("é"),)),)
    path.write_bytes(b"text: \xe9\n")
    with pytest.raises(ScriptError, match="it is not UTF-8 text"):
        load_script(str(path))
    with pytest.raises(ScriptError, match="No such file or directory; give a file, or one of demo, echo, slow"):
        load_script(str(tmp_path / "none"))
