import orjson
from hypothesis import given, settings
from hypothesis import strategies as st

from quillback_protocol.framing import FramingError, HeaderFramer, LineFramer

LIMIT = 200

text = st.text(st.characters(codec="utf-8"), max_size=20)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False) | text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=8,
)
garbage = st.sampled_from([b"{bad", b"NaN", b'"\xff"', b"{}{}", rb'"\ud800', b"[" * 150, b"hello"])
oversize = st.integers(LIMIT + 1, LIMIT * 3).map(lambda size: b'"' + b"a" * (size - 2) + b'"')


@st.composite
def split(draw, data: bytes) -> list[bytes]:
    cuts = sorted(draw(st.lists(st.integers(0, len(data)), max_size=12)))
    return [data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True)]


def read(framer, pieces):
    frames = [frame for piece in pieces for frame in framer.feed(piece)]
    return frames + framer.close()


@st.composite
def lines(draw):
    """Bytes, and for each line that is not blank what must come of it: a value, or the code of an error."""
    data, expected = b"", []
    for _ in range(draw(st.integers(0, 6))):
        kind = draw(st.sampled_from(["value", "garbage", "blank", "oversize"]))
        body = b""
        if kind == "value":
            value = draw(values)
            body = LineFramer.encode(value).rstrip(b"\n")
            expected.append(value if len(body) + 1 <= LIMIT else -32600)
            body = body if len(body) + 1 <= LIMIT else body.ljust(LIMIT + 1)
        elif kind == "garbage":
            body = draw(garbage)
            expected.append(-32700)
        elif kind == "oversize":
            body = draw(oversize)
            expected.append(-32600)
        data += body + draw(st.sampled_from([b"\n", b"\r\n", b"\n\n"]))
    last = draw(st.sampled_from([b"", b"7", b"  "]))
    return data + last, expected + ([7] if last == b"7" else [])


@st.composite
def header_frames(draw):
    data, expected = b"", []
    for _ in range(draw(st.integers(0, 6))):
        kind = draw(st.sampled_from(["value", "garbage", "headers", "oversize"]))
        name = draw(st.sampled_from([b"Content-Length", b"content-length", b"CONTENT-LENGTH"]))
        end = draw(st.sampled_from([b"\r\n", b"\n"]))
        extra = draw(st.sampled_from([b"", b"Content-Type: x; y=z" + end]))
        body = b"{}"
        if kind == "value":
            value = draw(values)
            body = LineFramer.encode(value)
            expected.append(value if len(body) <= LIMIT else -32600)
        elif kind == "garbage":
            body = draw(garbage)
            expected.append(-32700)
        elif kind == "oversize":
            body = draw(oversize)
            expected.append(-32600)
        length = b"%d" % len(body)
        if kind == "headers":
            length = draw(st.sampled_from([b"-1", b"abc", b"", b"1 2"]))
            # Until the next good header everything belongs to the broken frame.
            expected.append(-32700)
        data += extra + name + b": " + length + end + end + body
    return data, expected


def outcome(frames):
    return [frame.code if isinstance(frame, FramingError) else frame for frame in frames]


@given(lines(), st.data())
@settings(max_examples=150, deadline=None)
def test_lines_are_the_same_however_they_are_split(case, data):
    stream, expected = case
    whole = read(LineFramer(LIMIT), [stream])
    assert outcome(whole) == expected
    assert read(LineFramer(LIMIT), data.draw(split(stream))) == whole
    assert read(LineFramer(LIMIT), [stream[i : i + 1] for i in range(len(stream))]) == whole


@given(header_frames(), st.data())
@settings(max_examples=150, deadline=None)
def test_header_frames_are_the_same_however_they_are_split(case, data):
    stream, expected = case
    whole = read(HeaderFramer(LIMIT), [stream])
    values_read = [frame for frame in outcome(whole) if frame not in (-32700, -32600)]
    assert values_read == [value for value in expected if value not in (-32700, -32600)]
    assert read(HeaderFramer(LIMIT), data.draw(split(stream))) == whole
    assert read(HeaderFramer(LIMIT), [stream[i : i + 1] for i in range(len(stream))]) == whole


@given(values)
@settings(max_examples=200, deadline=None)
def test_what_is_written_is_read_back(value):
    line = LineFramer.encode(value)
    assert line.endswith(b"\n")
    assert b"\n" not in line[:-1]
    assert LineFramer().feed(line) == [value]
    assert HeaderFramer().feed(HeaderFramer.encode(value)) == [value]


@given(st.binary(max_size=400), st.data())
@settings(max_examples=200, deadline=None)
def test_no_bytes_raise_and_every_frame_can_be_written(stream, data):
    for make in (LineFramer, HeaderFramer):
        whole = read(make(LIMIT), [stream])
        assert read(make(LIMIT), data.draw(split(stream))) == whole
        for frame in whole:
            if not isinstance(frame, FramingError):
                assert orjson.loads(LineFramer.encode(frame)) is not Ellipsis
