import base64
import json
import os
import stat

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quillback.core.message import Image, ResourceLink, Text
from quillback.mcp.result import EMPTY, IMAGES, Reading
from quillback.mcp.text import RESULT_LIMIT, Keep

PNG = b"\x89PNG\r\n\x1a\n" + bytes(40)


@pytest.fixture
def read(tmp_path):
    reading = Reading(lambda text: text.replace("s3cret", "***"), Keep(tmp_path / "out", "s/1-x"))
    return reading.outcome


def block(kind, **more):
    return {"type": kind, **more}


def coded(data):
    return base64.b64encode(data).decode()


def texts(outcome):
    return [part.text for part in outcome.content if isinstance(part, Text)]


def test_text_is_cleaned_and_masked(read):
    outcome = read({"content": [block("text", text="a\x1b[31mb\x1b[0m\x00\r\nc \ud83d s3cret")]})
    assert texts(outcome) == ["ab\nc  ***"]
    assert outcome.shown == outcome.content
    assert not outcome.is_error


def test_errors_stay_errors(read):
    assert read({"content": [block("text", text="no")], "isError": True}).is_error


@pytest.mark.parametrize("answer", [{"content": []}, {"content": [block("text", text=" \n")]}, {"content": None}])
def test_nothing_is_said_to_be_nothing(read, answer):
    assert texts(read(answer)) == [EMPTY]


def test_long_text_is_bounded_and_kept_whole_in_a_private_file(read, tmp_path):
    long = "<" + "x" * (RESULT_LIMIT * 2) + ">"
    outcome = read({"content": [block("text", text=long), block("image", data=coded(PNG), mimeType="image/png")]})
    shown, image = outcome.content
    (kept,) = (tmp_path / "out").iterdir()
    assert len(shown.text) <= RESULT_LIMIT
    assert shown.text.startswith("<x")
    assert shown.text.endswith("x>")
    assert str(kept) in shown.text
    assert kept.read_text() == long
    assert kept.name.startswith("s_1-x-")
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert isinstance(image, Image)


def test_many_short_texts_are_bounded_together(read):
    outcome = read({"content": [block("text", text="y" * 1000) for _ in range(100)]})
    assert sum(map(len, texts(outcome))) <= RESULT_LIMIT


def test_a_result_survives_a_directory_that_cannot_be_written(tmp_path):
    (tmp_path / "out").write_text("in the way")
    outcome = Reading(str, Keep(tmp_path / "out", "x")).outcome({"content": [block("text", text="z" * 50_000)]})
    assert "could not be kept" in texts(outcome)[0]


def test_images_get_their_real_type(read):
    (image,) = read({"content": [block("image", data=coded(PNG), mimeType="image/jpeg")]}).content
    assert image == Image(coded(PNG), "image/png")


def test_too_many_images_are_counted_off(read):
    outcome = read({"content": [block("image", data=coded(PNG), mimeType="image/png")] * (IMAGES + 2)})
    assert len([p for p in outcome.content if isinstance(p, Image)]) == IMAGES
    assert len(texts(outcome)) == 2


def test_audio_and_other_binary_go_to_a_file(read, tmp_path):
    parts = [
        block("audio", data=coded(b"RIFFsound"), mimeType="audio/wav"),
        block("resource", resource={"uri": "blob://1", "blob": coded(b"\x00\x01"), "mimeType": "application/zip"}),
        block("image", data="not base64 at all!", mimeType="image/png"),
    ]
    told = texts(read({"content": parts}))
    kept = {path.read_bytes() for path in (tmp_path / "out").iterdir()}
    assert {b"RIFFsound", b"\x00\x01"} <= kept
    assert "audio/wav, 9 bytes" in told[0]
    assert "blob://1" in told[1]
    assert len(told) == 3


def test_resources_and_links_are_told_and_shown(read):
    parts = [
        block("resource", resource={"uri": "memo://1", "text": "a memo"}),
        block("resource_link", uri="file:///n.txt", name="notes", mimeType="text/plain", size=5),
    ]
    outcome = read({"content": parts})
    assert texts(outcome)[0] == "[resource memo://1]\na memo"
    assert "file:///n.txt" in texts(outcome)[1]
    assert outcome.shown[-1] == ResourceLink("file:///n.txt", "notes", "text/plain", size=5)


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ({"content": [], "structuredContent": {"a": [1]}}, ['{"a": [1]}']),
        ({"structuredContent": {"a": 1}}, ['{"a": 1}']),
        ({"content": [block("text", text='{"a": 1}')], "structuredContent": {"a": 1}}, ['{"a": 1}']),
        ({"content": [block("text", text="hello")], "structuredContent": {"result": "hello"}}, ["hello"]),
        ({"content": [block("text", text="2 rows")], "structuredContent": {"r": ["x" * 9] * 2}}, None),
    ],
)
def test_structured_content_is_told_unless_the_text_says_it(read, answer, told):
    assert texts(read(answer)) == (told or ["2 rows", json.dumps(answer["structuredContent"])])


def test_a_request_for_input_is_an_error(read):
    assert read({"resultType": "input_required", "inputRequests": {}}).is_error


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.sampled_from(["text", "image", "resource"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["type", "text", "data", "resource", "uri", "blob", "name"]), inner)
    ),
    max_leaves=15,
)


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(st.sampled_from(["content", "structuredContent", "isError", "other"]), JSON))
def test_any_answer_gives_a_result(tmp_path_factory, answer):
    outcome = Reading(str, Keep(tmp_path_factory.getbasetemp() / "any", "x")).outcome(answer)
    assert outcome.content
    assert all(os.fsencode(text) for text in texts(outcome))
