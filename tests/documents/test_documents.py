"""Small files of people are read without being held up, and taken apart without a crash."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quillback.documents.front_matter import parted, values
from quillback.documents.reading import UnfitError, as_text, read_bytes


def test_a_regular_file_is_read_and_a_link_to_one_too(tmp_path: Path):
    (tmp_path / "a").write_bytes(b"x")
    (tmp_path / "b").symlink_to("a")
    assert read_bytes(tmp_path / "a", 10) == read_bytes(tmp_path / "b", 10) == b"x"


def test_nothing_waits_for_a_pipe(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UnfitError, match="regular file"):
        read_bytes(tmp_path / "pipe", 10)


def test_a_directory_and_a_large_file_are_refused(tmp_path: Path):
    (tmp_path / "large").write_bytes(b"x" * 2049)
    with pytest.raises(UnfitError, match="larger than 2 KB"):
        read_bytes(tmp_path / "large", 2048)
    with pytest.raises(UnfitError, match="regular file"):
        read_bytes(tmp_path, 10)
    with pytest.raises(FileNotFoundError):
        read_bytes(tmp_path / "none", 10)


def test_text_is_utf_8_with_lf():
    assert as_text(b"\xef\xbb\xbfa\r\nb") == "a\nb"
    for data in (b"\xff", b"a\x00b"):
        with pytest.raises(UnfitError):
            as_text(data)


@pytest.mark.parametrize(
    ("text", "front", "body"),
    [
        ("---\nname: x\n---\nbody\n", "name: x\n", "body"),
        ("---\n---\nbody", "", "body"),
        ("body\n---\nname: x\n---", "", "body\n---\nname: x\n---"),
        ("---\nname: x\nbody", "", "---\nname: x\nbody"),
    ],
)
def test_front_matter_lies_between_two_lines(text, front, body):
    assert parted(text) == (front, body)


def test_a_large_front_matter_is_refused():
    with pytest.raises(UnfitError, match="front matter"):
        parted("---\n" + "a: b\n" * 3000 + "---\n")


def test_yaml_and_what_only_looks_like_it():
    assert values("name: x\nother: y\n", ("name",)) == {"name": "x"}
    assert values("name: [a] [b]\n", ("name",)) == {"name": "[a] [b]"}
    assert values("name: [a, b]\ncount: 3", ("name", "count")) == {"name": "[a, b]", "count": "3"}
    assert values("- a\n- b\n", ("name",)) == {}


@given(st.text())
def test_whatever_it_is_it_is_taken_apart(text):
    front, body = parted(text)
    assert all(isinstance(v, str) for v in values(front, ("name", "description")).values())
    assert isinstance(body, str)
