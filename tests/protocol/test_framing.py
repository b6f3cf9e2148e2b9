import json
import time
import tracemalloc

import pytest

from quillback_protocol.framing import DEFAULT_LIMIT, EncodeError, FramingError, HeaderFramer, LineFramer, decode

PARSE_ERROR, INVALID_REQUEST = -32700, -32600


def frame(body: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def codes(frames):
    return [each.code if isinstance(each, FramingError) else each for each in frames]


def test_lines_crlf_blank_lines_and_a_byte_order_mark():
    framer = LineFramer()
    assert framer.feed(b'\xef\xbb\xbf{"a":1}\r\n\n  \r\n\xef\xbb\xbf\n[2]\n"x"') == [{"a": 1}, [2]]
    assert framer.close() == ["x"]
    assert framer.close() == []


def test_the_default_limit_is_32_mib():
    assert DEFAULT_LIMIT == 32 * 1024 * 1024


def test_characters_split_between_reads_stay_whole():
    framer = LineFramer()
    line = '{"t":"é 😀 中"}\n'.encode()
    frames = [each for index in range(len(line)) for each in framer.feed(line[index : index + 1])]
    assert frames == [{"t": "é 😀 中"}]


@pytest.mark.parametrize(
    "bad",
    [
        b"{bad",
        b'{"a":NaN}',
        b'{"a":Infinity}',
        b'{"a":-Infinity, "b":12345678901234567890}',
        b"1e400",
        b"[12345678901234567890, 1e400]",
        b'"\xff"',
        b'"\xed\xa0\x80"',
        b'{"a":1}{"b":2}',
        b"[" * 100_000,
        b"[" * 5000 + b"]" * 5000,
        b"[" * 100_000 + b"12345678901234567890",
        b"1" * 5000,
        b'"\\ud800',
        b'"\\x"',
        b"\x00",
    ],
)
def test_what_is_no_json_is_an_error_and_the_next_line_is_read(bad):
    error, good = LineFramer().feed(bad + b"\n1\n")
    assert isinstance(error, FramingError)
    assert error.code == PARSE_ERROR
    assert "\n" not in error.message
    assert len(error.message) < 120
    assert good == 1


@pytest.mark.parametrize("number", [2**63 - 1, 2**64, -(2**63) - 1, 10**40, 12345678901234567890123])
def test_big_integers_keep_every_digit(number):
    [obj] = LineFramer().feed(b'{"id":%d}\n' % number)
    assert obj == {"id": number}
    assert LineFramer.encode(obj) == b'{"id":%d}\n' % number


@pytest.mark.parametrize(
    ("escaped", "expected"),
    [
        (rb'"\ud800"', "\ufffd"),
        (rb'"\uDFFFx"', "\ufffdx"),
        (rb'"\ud83d\ude00"', "😀"),
        (rb'"\ud83d\ud83d\ude00"', "\ufffd😀"),
        (rb'"\\ud800"', "\\ud800"),
        (rb'"\\\ud800"', "\\\ufffd"),
        (rb'{"\udc00":12345678901234567890}', {"\ufffd": 12345678901234567890}),
        (rb'{"\\ud800":12345678901234567890}', {"\\ud800": 12345678901234567890}),
    ],
)
def test_lone_surrogates_are_replaced(escaped, expected):
    assert decode(escaped) == expected
    assert json.loads(LineFramer.encode(decode(escaped))) == expected


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        (rb'{"id":"\ud800","m":"\udc00"}', {"id": "\ud800", "m": "\ufffd"}),
        (rb'{"id":"x\udc00","m":12345678901234567890}', {"id": "\ud800", "m": 12345678901234567890}),
        (rb'{"id":"\ufffd\ud800"}', {"id": "\ud800"}),
        (rb'{"id":"\ufffd","m":"\ud800"}', {"id": "\ufffd", "m": "\ufffd"}),
        (rb'{"id":"\ud83d\ude00","m":"\ud800"}', {"id": "😀", "m": "\ufffd"}),
        (rb'{"id":7,"m":{"id":"\ud800"}}', {"id": 7, "m": {"id": "\ufffd"}}),
    ],
)
def test_half_a_character_in_an_id_is_not_taken_for_another_one(line, kept):
    assert decode(line) == kept


def test_a_line_over_the_limit_is_one_error_and_the_next_is_read():
    framer = LineFramer(limit=10)
    assert codes(framer.feed(b"1234567890\n12345678901\n2\n")) == [1234567890, INVALID_REQUEST, 2]
    assert framer.feed(b"[" * 11) == [FramingError(INVALID_REQUEST, "message larger than the limit of 10 bytes")]
    assert framer.feed(b"[" * 100) == []
    assert framer.close() == []
    assert framer.feed(b"3\n") == [3]


@pytest.mark.parametrize("framer", [LineFramer(limit=1000), HeaderFramer(limit=1000)])
def test_what_is_skipped_is_not_kept(framer):
    piece = b"x" * 65536
    framer.feed(b"Content-Length: 30000000\r\n\r\n" if isinstance(framer, HeaderFramer) else piece)
    tracemalloc.start()
    for _ in range(200):
        framer.feed(piece)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1_000_000


@pytest.mark.parametrize("make", [LineFramer, HeaderFramer])
def test_small_pieces_cost_linear_time(make):
    text = b'"' + b"a" * 4_000_000 + b'"'
    data = frame(text) if make is HeaderFramer else text + b"\n"
    framer, frames = make(), []
    start = time.process_time()
    for index in range(0, len(data), 16):
        frames += framer.feed(data[index : index + 16])
    # Looking at everything again at each of the 250,000 pieces would take minutes.
    assert time.process_time() - start < 10
    assert frames == ["a" * 4_000_000]


def test_headers_of_any_case_order_and_company():
    framer = HeaderFramer()
    data = (
        b"content-length:2\r\n\r\n{}"
        b"\r\n\r\nContent-Type: application/json; charset=utf-8\r\nCONTENT-LENGTH:   3 \r\n\r\n[1]"
        b"X-Other: a:b\nContent-Length: 1\n\n7"
    )
    assert framer.feed(data) == [{}, [1], 7]
    assert framer.close() == []


def test_content_length_counts_bytes():
    data = HeaderFramer.encode({"t": "é"})
    assert data == b'Content-Length: 10\r\n\r\n{"t":"\xc3\xa9"}'
    assert HeaderFramer().feed(data * 2) == [{"t": "é"}] * 2


@pytest.mark.parametrize(
    "broken",
    [
        b"Content-Type: x\r\n\r\n{}",
        b"Content-Length: -5\r\n\r\n{}",
        b"Content-Length: abc\r\n\r\n{}",
        b"Content-Length: 1.5\r\n\r\n{}",
        b"Content-Length:\r\n\r\n{}",
        b"Content-Length: 5555555555555555555555555\r\n\r\n{}",
        b"no colon\r\n",
        b"x" * 20_000,
        b'{"jsonrpc":"2.0"}\n{"text":"Content-Length: 5"}\n',
    ],
)
def test_a_broken_header_is_one_error_and_the_next_frame_is_read(broken):
    frames = HeaderFramer().feed(broken + frame(b"[1]") + frame(b"[2]"))
    assert [type(each) for each in frames] == [FramingError, list, list]
    assert frames[0].code == PARSE_ERROR
    assert frames[1:] == [[1], [2]]


def test_a_body_over_the_limit_is_skipped():
    framer = HeaderFramer(limit=10)
    big = b'"' + b"a" * 30 + b'"'
    assert codes(framer.feed(frame(b"1234567890") + frame(big) + frame(b"2"))) == [1234567890, INVALID_REQUEST, 2]


def test_a_bad_body_does_not_lose_the_next_frame():
    assert codes(HeaderFramer().feed(frame(b"{bad") + frame(b"") + frame(b"\xff") + frame(b"1"))) == [
        PARSE_ERROR
    ] * 3 + [1]


def test_input_that_ends_inside_a_body():
    framer = HeaderFramer()
    assert framer.feed(b"Content-Length: 5\r\n\r\n123") == []
    assert codes(framer.close()) == [PARSE_ERROR]
    assert framer.feed(frame(b"1")) == [1]


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_numbers_json_does_not_have_become_null(number):
    assert LineFramer.encode([number]) == b"[null]\n"
    assert LineFramer.encode([number, 2**70]) == b"[null,%d]\n" % 2**70


def test_a_line_holds_no_line_break_of_any_reader():
    text = "a\nb\rc\u2028d\u2029e\x85"
    line = LineFramer.encode({"t": text})
    assert line.count(b"\n") == 1
    assert "\u2028" not in line.decode()
    assert "\u2029" not in line.decode()
    assert json.loads(line) == {"t": text}


@pytest.mark.parametrize(
    ("text", "sent"),
    [
        ("\ud800", "\ufffd"),
        ("a\udc00b", "a\ufffdb"),
        ("\ud83d\ude00", "😀"),
        ("\ud800x", "\ufffdx"),
        ("\ufeffz", "\ufeffz"),
    ],
)
def test_lone_surrogates_are_never_written(text, sent):
    assert json.loads(LineFramer.encode({text: [text, "\ud800"]})) == {sent: [sent, "\ufffd"]}


def test_deep_nesting_is_written_or_refused():
    deep: object = 0
    for _ in range(300):
        deep = [deep]
    assert LineFramer.encode(deep) == b"[" * 300 + b"0" + b"]" * 300 + b"\n"
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(EncodeError):
        LineFramer.encode(deep)


def test_foreign_values_are_refused():
    with pytest.raises(EncodeError):
        LineFramer.encode({"a": object()})
