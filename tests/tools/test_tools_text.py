"""Text for results, the environment of commands, and what every tool's spec must keep to."""

import json
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quillback.tools import environment, matching
from quillback.tools.text import RESULT_LIMIT, Cleaner, Collector, bounded, clean, one_line, visible
from support.toolroom import Room

pytestmark = pytest.mark.anyio

pieces = st.lists(
    st.sampled_from(
        ["a", "é", "😀", "\n", "\r", "\r\n", "\x1b[31m", "\x1b]0;t\x07", "\x1b", "\b", "\0", "\x9b1m", "\t", "[", "m"]
    )
)


@given(pieces, st.lists(st.integers(0, 60)))
@settings(max_examples=200, deadline=None)
def test_cleaning_does_not_depend_on_how_it_is_cut(parts: list[str], cuts: list[int]):
    data = "".join(parts).encode()
    whole = Cleaner().feed(data, final=True)
    cleaner, out, last = Cleaner(), "", 0
    for cut in sorted(cuts):
        out += cleaner.feed(data[last:cut])
        last = max(last, cut)
    assert out + cleaner.feed(data[last:], final=True) == whole
    assert not set(whole) & set("\x1b\0\r\b\x9b")


@given(st.binary())
def test_any_bytes_become_valid_text(data: bytes):
    text = Cleaner().feed(data, final=True)
    assert text.encode().decode() == text


def test_a_progress_bar_without_end_stays_small():
    cleaner = Cleaner()
    out = "".join(cleaner.feed(f"{n} of 100000\r".encode()) for n in range(100_000))
    assert out == ""
    assert cleaner.pending == "99999 of 100000"


def test_a_line_without_end_is_settled_in_time():
    cleaner = Cleaner()
    out = "".join(cleaner.feed(b"x" * 1000) for _ in range(1000))
    assert len(out) > 900_000
    assert len(out + cleaner.feed(b"", final=True)) == 1_000_000


def test_small_helpers():
    assert clean("a\ud800\x00b") == "a�b"
    assert visible("\x1b\0\r\t\n\x7f") == "␛␀␍\t\n␡"
    assert one_line(" a\n\tb\x00c ") == "a b c"
    assert len(one_line("x" * 500)) == 200


@pytest.mark.parametrize("size", [0, 1, 29_600, 29_601, 30_000, 100_000])
def test_bounding(tmp_path: Path, size: int):
    whole = "".join(chr(97 + n % 26) for n in range(size))
    result = bounded(whole, tmp_path / "out", "na/me")
    assert len(result) <= RESULT_LIMIT
    if size <= 29_600:
        assert result == whole
        assert not (tmp_path / "out").exists()
    else:
        (kept,) = (tmp_path / "out").iterdir()
        assert kept.read_text() == whole
        assert f"{size - 29_000:,} characters omitted; the whole is in {kept}" in result
        assert result.startswith(whole[:14_500] + "\n")
        assert result.endswith("\n" + whole[-14_500:])


def test_a_collector_fed_in_pieces_keeps_everything(tmp_path: Path):
    collector = Collector(tmp_path, "x")
    for n in range(20_000):
        collector.add(f"{n}\n")
    collector.close()
    collector.add("late")
    assert Path(collector.path).read_text() == "".join(f"{n}\n" for n in range(20_000))


@pytest.mark.parametrize(
    ("name", "held"),
    [
        ("ANTHROPIC_API_KEY", True),
        ("ANTHROPIC_BASE_URL", True),
        ("OPENAI_API_KEY", True),
        ("openai_api_key", True),
        ("QUILLBACK_HOME", True),
        ("OPENROUTER_API_KEY", True),
        ("GEMINI_API_KEY", True),
        ("CLAUDE_CODE_OAUTH_TOKEN", True),
        ("AWS_SECRET_ACCESS_KEY", False),
        ("GITHUB_TOKEN", False),
        ("NPM_TOKEN", False),
        ("SOME_API_KEY", False),
        ("PATH", False),
        ("HOME", False),
    ],
)
def test_what_is_held_back(name: str, held: bool):
    assert environment.held_back(name) is held


def test_short_values_do_not_take_others_along(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "1")
    monkeypatch.setenv("DEPTH", "1")
    assert environment.command_environment(frozenset())["DEPTH"] == "1"


lines = st.lists(st.sampled_from(["a", "b", "ab", "", "é", "aa"]), min_size=1, max_size=8)
ends = st.sampled_from(["\n", "\r\n"])


@given(lines, st.lists(ends, min_size=8, max_size=8), st.data())
@settings(max_examples=300, deadline=None)
def test_an_edit_touches_nothing_else(parts: list[str], kinds: list[str], data: st.DataObject):
    """Replacing a passage with itself plus a mark and back gives the very text."""
    text = "".join(part + end for part, end in zip(parts, kinds, strict=False))
    plain = matching.unified(text)
    start = data.draw(st.integers(0, len(plain) - 1))
    old = plain[start : data.draw(st.integers(start + 1, len(plain)))]
    seen = matching.view(text)
    assert start in matching.find(seen, old, overlapping=True)
    changed = matching.replace(seen, [start], old, f"<{old}>")
    assert matching.unified(changed) == f"{plain[:start]}<{old}>{plain[start + len(old) :]}"
    again = matching.view(changed)
    (place,) = matching.find(again, f"<{old}>", overlapping=True)
    assert matching.unified(matching.replace(again, [place], f"<{old}>", old)) == plain


@given(lines, st.lists(ends, min_size=8, max_size=8), st.sampled_from(["x", "x\n", "\nx"]), st.data())
@settings(max_examples=200, deadline=None)
def test_what_surrounds_an_insertion_stays_byte_for_byte(
    parts: list[str], kinds: list[str], extra: str, data: st.DataObject
):
    text = "".join(part + end for part, end in zip(parts, kinds, strict=False))
    plain = matching.unified(text)
    at = data.draw(st.integers(0, len(plain)))
    seen = matching.view(text)
    changed = matching.replace(seen, [0], plain, plain[:at] + extra + plain[at:])
    stem = changed.replace("x", "", 1)
    assert any(stem[:i] + stem[j:] == text for i in range(len(stem) + 1) for j in (i, i + 1, i + 2))


PLAIN_KEYS = {"type", "properties", "required", "additionalProperties", "enum", "minimum", "items", "description"}


async def test_specs_keep_to_the_rules(room: Room):
    tools = list(room.toolbox.tools())
    names = [tool.spec.name for tool in tools]
    assert names == sorted(names)
    assert set(names) == {
        "read_file",
        "write_file",
        "edit_file",
        "shell",
        "shell_output",
        "shell_kill",
        "grep",
        "glob",
        "list_dir",
        "todo_write",
        "ask_user",
    }
    await room.toolbox.ready()

    def check(part: object) -> None:
        assert isinstance(part, dict)
        assert set(part) <= PLAIN_KEYS
        assert part["type"] in {"string", "integer", "number", "boolean", "array", "object"}
        for inner in part.get("properties", {}).values():
            check(inner)
        if "items" in part:
            check(part["items"])

    for tool in tools:
        check(tool.spec.input_schema)
        assert tool.spec.input_schema["additionalProperties"] is False
        jsonschema.Draft202012Validator.check_schema(tool.spec.input_schema)
        json.dumps(tool.spec.input_schema)
        assert tool.spec.description


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=30),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
arguments = st.dictionaries(
    st.sampled_from(["path", "line", "limit", "command", "pattern", "glob", "job", "items", "content", "x"]), anything
)


@given(given=arguments)
@settings(max_examples=200, deadline=None)
def test_describing_tolerates_anything(tmp_path_factory: pytest.TempPathFactory, given: dict[str, object]):
    room = Room(tmp_path_factory.getbasetemp().resolve())
    for tool in room.toolbox.tools():
        sketch = tool.spec.describe(given)
        assert sketch.title
        assert len(sketch.title) < 400
        assert "\n" not in sketch.title
        json.dumps([sketch.title, *(location.path for location in sketch.locations)]).encode()
        sketch.title.encode()
        assert all(location.path.startswith("/") for location in sketch.locations)
        assert all(location.path.encode() for location in sketch.locations)
        tool.touches(given)
