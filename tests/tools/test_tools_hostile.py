"""Arguments that no schema would let through, as a hostile or broken model sends them: no call may fall over them."""

import time
import unicodedata

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quillback.core.ports import ToolError
from support.toolroom import Room

pytestmark = pytest.mark.anyio

NAMES = (
    "path", "line", "limit", "old_text", "new_text", "replace_all", "content", "pattern", "glob", "ignore_case",
    "literal", "command", "timeout", "background", "job", "wait", "items",
)  # fmt: skip
NUMBERS = [
    *(sign * number for sign in (1, -1) for number in (2**31, 2**53, 10**18, 10**308, 10**400, 10**4299)),
    *(0, -1, 1.5, -0.0, 1e308, 5e-324, float("inf"), float("-inf"), float("nan")),
]
TEXTS = [
    "x" * 1_000_000,
    "\x1b[31mred\x07\n" * 100_000,
    "\0" * 1_000_000,
    " \n\t" * 300_000,
    "../" * 300_000,
    "/" * 1_000_000,
    "\ud800\udfff" * 1000,
    "a\u202egnp.exe\u2066\u200b\ufeff\U000e0041",
    "\r\n\u2028\x85\x9b",
    "~root",
    "*{a,b}" * 10_000,
    "[" * 10_000,
    "(" * 10_000,
    "é" * 5000,
]
HOSTILE = st.one_of(
    st.sampled_from(NUMBERS),
    st.sampled_from(TEXTS),
    st.integers(),
    st.floats(),
    st.booleans(),
    st.none(),
    st.text(st.characters(), max_size=300),
    st.lists(
        st.one_of(st.text(max_size=5), st.none(), st.integers(), st.dictionaries(st.text(), st.none())), max_size=3
    ),
    st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=3),
)
ARGUMENTS = st.dictionaries(st.one_of(st.sampled_from(NAMES), st.text(max_size=5)), HOSTILE, max_size=6)
ODD = [*NUMBERS, *TEXTS, "{" * 100_000, None, True, [], {}, [None], {"path": "x"}]
LOTS = settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)


TURNING = frozenset({"RLO", "LRO", "RLE", "LRE", "PDF", "RLI", "LRI", "FSI", "PDI"})


def hidden(title: str) -> list[str]:
    """Characters that do not show, or make others show where they are not."""
    kinds = ("Cc", "Cs", "Zl", "Zp")
    return [c for c in title if unicodedata.category(c) in kinds or unicodedata.bidirectional(c) in TURNING]


def check_titles(room: Room, arguments: dict[str, object]) -> None:
    for tool in room.toolbox.tools():
        sketch = tool.spec.describe(arguments)
        assert 0 < len(sketch.title) <= 200
        assert hidden(sketch.title) == []
        assert sketch.title == sketch.title.strip()
        for location in sketch.locations:
            assert location.path.startswith("/")
            assert len(location.path) < 10_000
            location.path.encode()
            assert location.line is None or 0 < location.line < 2**31
        tool.touches(arguments)


async def check_preparing(room: Room, arguments: dict[str, object]) -> None:
    for tool in room.toolbox.tools():
        refusal = ""
        try:
            await tool.prepare("call", arguments)
        except ToolError as error:
            refusal = str(error)
        assert len(refusal) < 2000


@LOTS
@given(arguments=ARGUMENTS)
async def test_titles_are_short_lines_whatever_comes(room: Room, arguments: dict[str, object]):
    check_titles(room, arguments)


@LOTS
@given(arguments=ARGUMENTS)
async def test_what_cannot_be_prepared_is_refused_in_words(room: Room, arguments: dict[str, object]):
    await check_preparing(room, arguments)


@pytest.mark.parametrize("odd", ODD, ids=range(len(ODD)))
async def test_nothing_falls_over_or_takes_long(room: Room, odd: object):
    started = time.monotonic()
    for names in (*((name,) for name in NAMES), NAMES):
        check_titles(room, dict.fromkeys(names, odd))
        await check_preparing(room, dict.fromkeys(names, odd))
    assert time.monotonic() - started < 5.0


@pytest.mark.parametrize("number", [10**400, -(10**400), 10**4300, 10**6000, 1e308], ids=range(5))
@pytest.mark.parametrize(
    ("name", "key", "rest"),
    [
        ("shell", "timeout", {"command": "true"}),
        ("shell_output", "wait", {"job": "job_1"}),
        ("read_file", "line", {"path": "a.txt"}),
        ("read_file", "limit", {"path": "a.txt"}),
    ],
)
async def test_huge_numbers_are_named_as_such(room: Room, name: str, key: str, rest: dict[str, object], number: float):
    room.file("a.txt", "x\n")
    await room.call("shell", command="true", background=True)
    tool = room.tool(name)
    with pytest.raises(ToolError, match=f"^{key} must be between"):
        await tool.prepare("call", {**rest, key: number})
    assert tool.spec.describe({**rest, key: number}).title == tool.spec.describe(rest).title


@pytest.mark.parametrize("number", [float("inf"), float("-inf"), float("nan"), True, "5", None, [1]])
async def test_other_odd_numbers(room: Room, number: object):
    for name, rest, key in (("shell", {"command": "true"}, "timeout"), ("read_file", {"path": "a.txt"}, "line")):
        with pytest.raises(ToolError, match=f"^{key} must be"):
            await room.tool(name).prepare("call", {**rest, key: number})


async def test_a_title_shows_what_would_turn_it_around(room: Room):
    describe = room.tool("shell").spec.describe
    assert describe({"command": "echo \u202etxt.sh"}).title == "echo �txt.sh"
    assert describe({"command": "  \n" * 10 + "ls\n"}).title == "ls"
    assert describe({"command": "ls" + " " * 100_000 + "; rm x"}).title == "ls…", "there is more than is seen"
    assert describe({"command": "x" * 1_000_000}).title == "x" * 199 + "…"
    assert room.tool("read_file").spec.describe({"path": "x" * 1_000_000, "line": 3}).title.endswith("… (from 3)")
