"""Rows come back exactly as they went in."""

import json
from types import MappingProxyType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quillback.core.event import Grown, Growth, PartClosed, PartGrew, PartOpened
from quillback.core.message import (
    Diff,
    FileSeen,
    Image,
    Location,
    Message,
    MessageState,
    Notice,
    PlanEntry,
    RedactedThinking,
    Resource,
    ResourceLink,
    Role,
    Severity,
    Terminal,
    Text,
    Thinking,
    ToolKind,
    ToolResult,
    ToolUse,
    Usage,
)
from quillback.store.codec import (
    DecodeError,
    decode_growth,
    decode_message,
    dumps,
    encode_growth,
    encode_message,
    loads,
)
from support.stores import message

texts = st.text(max_size=8)
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts
raw = st.recursive(scalars, lambda v: st.lists(v, max_size=3) | st.dictionaries(texts, v, max_size=3), max_leaves=6)
objects = st.dictionaries(texts, raw, max_size=3)
lines = st.none() | st.integers(1, 10**6)
places = st.lists(st.builds(Location, texts, lines), max_size=2).map(tuple)
plain = st.builds(Text, texts, texts)
images = st.builds(Image, texts, texts, texts)
links = st.builds(ResourceLink, texts, texts, texts, texts, texts, st.none() | st.integers(0, 10**12))
shown = plain | images | links | st.builds(Diff, texts, st.none() | texts, texts) | st.builds(Terminal, texts)
entries = st.builds(PlanEntry, texts, texts, texts)
uses = st.builds(ToolUse, texts, texts, texts, objects, texts, texts, texts, st.sampled_from(ToolKind), places)
results = st.builds(
    ToolResult,
    texts,
    st.lists(plain | images, max_size=2).map(tuple),
    st.booleans(),
    st.lists(shown, max_size=2).map(tuple),
    places,
    raw,
    st.none() | st.lists(entries, max_size=2).map(tuple),
    st.lists(st.builds(FileSeen, texts, texts), max_size=2).map(tuple),
)
parts = st.one_of(
    plain,
    st.builds(Thinking, texts, texts, texts),
    st.builds(RedactedThinking, texts),
    uses,
    results,
    images,
    st.builds(Resource, texts, st.none() | texts, st.none() | texts, texts),
    links,
    st.builds(Notice, texts, st.sampled_from(Severity)),
)
counts = st.integers(0, 2**70)
messages = st.builds(
    Message,
    texts,
    texts,
    st.integers(0, 2**53),
    st.sampled_from(Role),
    st.lists(parts, max_size=4).map(tuple),
    st.integers(0, 2**53),
    st.sampled_from(MessageState),
    st.booleans(),
    st.booleans(),
    texts,
    texts,
    st.none() | st.builds(Usage, counts, counts, counts, counts, st.booleans()),
    st.floats(0, 1e6),
    texts,
)
events = st.one_of(
    st.builds(PartOpened, texts, st.integers(0, 50), parts),
    st.builds(PartClosed, texts, st.integers(0, 50), parts),
    st.builds(
        PartGrew,
        texts,
        st.integers(0, 50),
        st.sampled_from(Growth),
        texts,
        texts,
        st.lists(texts, max_size=2).map(tuple),
    ),
)


@given(messages)
@settings(max_examples=150, deadline=None)
def test_messages_come_back_exactly(given_message: Message) -> None:
    assert decode_message(encode_message(given_message)) == given_message


@given(events)
@settings(max_examples=150, deadline=None)
def test_growth_comes_back_exactly(event: Grown) -> None:
    assert decode_growth(encode_growth(event)) == event


ROWS = [
    (
        b'{"id":"m1","session_id":"s1","seq":3,"role":"assistant","parts":['
        b'{"text":"hi","run_id":"r1","type":"Text"},'
        b'{"text":"hm","signature":"sig","run_id":"r2","type":"Thinking"},'
        b'{"id":"c1","provider_id":"p1","name":"shell","input":{"command":"ls"},"raw":"","problem":"","title":"ls",'
        b'"kind":"execute","locations":[{"path":"/a","line":2}],"type":"ToolUse"}],'
        b'"created_at":5,"state":"complete","visible_to_user":true,"visible_to_model":false,"model":"m",'
        b'"provider":"p","usage":{"input_tokens":1,"output_tokens":2,"cache_read_tokens":0,'
        b'"cache_creation_tokens":0,"estimated":false},"cost":0.5,"finish_reason":"end_turn"}',
        Message(
            "m1",
            "s1",
            3,
            Role.ASSISTANT,
            (
                Text("hi", "r1"),
                Thinking("hm", "sig", "r2"),
                ToolUse("c1", "p1", "shell", {"command": "ls"}, "", "", "ls", ToolKind.EXECUTE, (Location("/a", 2),)),
            ),
            created_at=5,
            visible_to_model=False,
            model="m",
            provider="p",
            usage=Usage(1, 2),
            cost=0.5,
            finish_reason="end_turn",
        ),
    ),
]


@pytest.mark.parametrize(("row", "expected"), ROWS)
def test_rows_of_schema_1_are_read_and_written_as_ever(row: bytes, expected: Message) -> None:
    assert decode_message(row) == expected
    assert json.loads(encode_message(expected)) == json.loads(row)


def test_unknown_keys_are_ignored() -> None:
    row = loads(encode_message(message("m1", Text("hi"))))
    row["later"] = {"type": "Text"}
    row["parts"][0]["later"] = [1]
    assert decode_message(dumps(row)) == message("m1", Text("hi"))


def test_raw_values_that_look_like_parts_stay_raw() -> None:
    use = ToolUse("c", "p", "n", {"type": "Text", "text": 7})
    result = ToolResult("c", (), raw_output={"type": "Nothing", "big": 10**40, "list": [None, [], {}]})
    given_message = message("m1", use, result)
    assert decode_message(encode_message(given_message)) == given_message


def test_lone_surrogates_are_replaced() -> None:
    stored = decode_message(encode_message(message("m1", Text("a\ud800b"), ToolUse("c", "p", "n", {"\udfff": "x"}))))
    assert stored.parts[0] == Text("a\ufffdb")
    assert stored.tool_uses()[0].input == {"\ufffd": "x"}


def test_a_pair_of_surrogates_becomes_its_character() -> None:
    assert decode_message(encode_message(message("m1", Text("\ud83d\ude00\ud800")))).text() == "\U0001f600\ufffd"


def test_what_json_has_no_word_for_becomes_text() -> None:
    stored = decode_message(encode_message(message("m1", ToolResult("c", (), raw_output={"a": {1}.__iter__}))))
    assert isinstance(stored.tool_results()[0].raw_output["a"], str)
    proxy = MappingProxyType({"a": 10**30})
    assert decode_message(encode_message(message("m1", ToolUse("c", "p", "n", proxy)))).tool_uses()[0].input == proxy


def test_deep_nesting_comes_back() -> None:
    value: object = "end"
    for _ in range(600):
        value = [value]
    given_message = message("m1", ToolUse("c", "p", "n", {"v": value}))
    assert encode_message(decode_message(encode_message(given_message))) == encode_message(given_message)


@pytest.mark.parametrize(
    "row", [b"", b'{"message_id":"m', b"[]", b"null", b'{"type":"Nothing"}', b'{"type":"PartGrew"}', b"\xff\x00"]
)
def test_damaged_rows_are_told(row: bytes) -> None:
    with pytest.raises(DecodeError):
        decode_growth(row)
