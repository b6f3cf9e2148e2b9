"""What arrives from the service, through the real SDK and a real socket."""

import asyncio
import json

import pytest
from attrs import evolve

from quillback.core.message import Usage
from quillback.core.model import (
    BlockStopped,
    Failure,
    InputDelta,
    ProviderError,
    RedactedStarted,
    SignatureDelta,
    StreamStarted,
    StreamStopped,
    StreamStopping,
    TextDelta,
    TextStarted,
    ThinkingDelta,
    ThinkingStarted,
    ToolUseStarted,
)
from support.fake_model import Drop, Eof, Hang, Open, Pings, Raw, Redacted, Reply, Say, Think, Use, Wait
from support.model_request import replies, request, tool

pytestmark = pytest.mark.anyio
ASK = request("Hello", tools=(tool("read_file"),))


def text_of(events):
    return "".join(e.text for e in events if isinstance(e, TextDelta))


async def test_every_kind_of_block_becomes_its_events_in_order(fake, connect):
    fake.script(
        "",
        Reply(
            Think("Hm, let me", "c2ln", deltas=2),
            Redacted("aGlkZGVu"),
            Say("Read", deltas=2),
            Use("read_file", {"path": "a.py"}, id="toolu_1"),
        ),
    )
    assert await replies(connect(), ASK) == [
        StreamStarted("claude-sonnet-5-5", Usage(100, 1)),
        ThinkingStarted(0),
        ThinkingDelta(0, "Hm, l"),
        ThinkingDelta(0, "et me"),
        SignatureDelta(0, "c2ln"),
        BlockStopped(0),
        RedactedStarted(1, "aGlkZGVu"),
        BlockStopped(1),
        TextStarted(2),
        TextDelta(2, "Re"),
        TextDelta(2, "ad"),
        BlockStopped(2),
        ToolUseStarted(3, "toolu_1", "read_file"),
        InputDelta(3, '{"path":'),
        InputDelta(3, ' "a.py"}'),
        BlockStopped(3),
        StreamStopping("tool_use", Usage(100, 20)),
        StreamStopped(),
    ]
    assert fake.violations == []


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("cut", [0, 1, 7])
@pytest.mark.parametrize("event_names", [True, False])
async def test_framing_makes_no_difference(fake, connect, newline, cut, event_names):
    words = "é 😀 中 — done"
    fake.script("", Reply(Say(words, deltas=5), newline=newline, cut=cut, event_names=event_names))
    events = await replies(connect(), ASK)
    assert text_of(events) == words
    assert events[-1] == StreamStopped()


async def test_comments_several_data_lines_and_unknown_things_are_tolerated(fake, connect):
    fake.script(
        "",
        Reply(
            Raw(b": keep-alive\n\nid: 7\nretry: 10\n\n"),
            Raw(b'event: content_block_delta\ndata: {"type": "content_block_delta", "index": 9,\n'),
            Raw(b'data: "delta": {"type": "text_delta", "text": "of no block"}}\n\n'),
            Raw(b'event: news\ndata: {"type": "news", "index": 0}\n\n'),
            Raw(b'data: {"type": "content_block_start", "index": 0, "content_block": {"type": "server_tool_use"}}\n\n'),
            Raw(b'data: {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "x"}}\n\n'),
            Raw(b'data: {"type": "content_block_stop", "index": 0}\n\n'),
            Raw(
                b'data: {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": "a"}}\n\n'
            ),
            Raw(b'data: {"type": "content_block_delta", "index": 1, "delta": {"type": "citations_delta"}}\n\n'),
            Raw(b'data: {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta"}}\n\n'),
            Raw(b'data: {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "b"}}\n\n'),
            Raw(b'data: {"type": "content_block_stop", "index": 1}\n\n'),
        ),
    )
    events = await replies(connect(), ASK)
    assert events[1:4] == [TextStarted(1, "a"), TextDelta(1, "b"), BlockStopped(1)]


async def test_a_stream_whose_last_event_has_no_blank_line_is_whole(fake, connect):
    end = b'data: {"type": "message_delta", "delta": {"stop_reason": "end_turn"}}\n\ndata: {"type": "message_stop"}'
    fake.script("", Reply(Say("Hi"), Raw(end), Eof()))
    assert (await replies(connect(), ASK))[-1] == StreamStopped()


async def test_half_characters_reach_the_core_to_be_joined(fake, connect):
    fake.script("", Reply(Say("\ud83d\ude00", deltas=2)))
    assert text_of(await replies(connect(), ASK)) == "\ud83d\ude00"


async def test_input_that_comes_at_once_is_passed_on(fake, connect):
    fake.script("", Reply(Use("read_file", {"path": "a"}, id="t1", at_once=True)))
    assert ToolUseStarted(0, "t1", "read_file", {"path": "a"}) in await replies(connect(), ASK)


async def test_a_call_without_input_has_no_input(fake, connect):
    fake.script("", Reply(Use("read_file", id="t1")))
    events = await replies(connect(), ASK)
    assert events[1:3] == [ToolUseStarted(0, "t1", "read_file"), BlockStopped(0)]


@pytest.mark.parametrize(
    ("usage", "late", "expected"),
    [
        ({"cache_read_input_tokens": 50}, {"output_tokens": 7}, Usage(100, 7, 50)),
        ({"input_tokens": 0}, {"input_tokens": 42, "output_tokens": 7}, Usage(42, 7)),
        ({"cache_creation_input_tokens": None}, {"input_tokens": 0, "output_tokens": 7}, Usage(100, 7)),
        (None, {"output_tokens": 7, "cache_creation_input_tokens": 5}, Usage(0, 7, 0, 5)),
        (None, {}, None),
        (None, {"output_tokens": "many", "input_tokens": True}, None),
    ],
)
async def test_counts_of_the_start_and_the_end_are_merged(fake, connect, usage, late, expected):
    end = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": late}
    end = f"data: {json.dumps(end)}\n\n" + 'data: {"type": "message_stop"}\n\n'
    fake.script("", Reply(Say("Hi"), Raw(end.encode()), Eof(), usage=usage))
    events = await replies(connect(), ASK)
    assert events[-2] == StreamStopping("end_turn", expected)


@pytest.mark.parametrize("reason", ["max_tokens", "pause_turn", "model_context_window_exceeded", "made_up"])
async def test_the_providers_stop_reason_is_passed_on(fake, connect, reason):
    fake.script("", Reply(Say("Hi"), stop=reason))
    assert (await replies(connect(), ASK))[-2].stop_reason == reason


async def test_a_refusal_says_why(fake, connect):
    details = {"category": "cyber", "explanation": "No malware."}
    fake.script("", Reply(Say("No"), stop="refusal", stop_details=details))
    assert (await replies(connect(), ASK))[-2].explanation == "No malware."


@pytest.mark.parametrize(
    "reply",
    [
        Reply(Say("Hi"), Eof()),
        Reply(Say("Hi"), message_stop=False),
        Reply(Say("Hi"), Drop()),
        Reply(Say("Hi"), Raw(b'data: {"type": "message_stop"}\n\n'), Eof()),
        Reply(Say("Hi"), Raw(b"data: {broken\n\n")),
        Reply(Open(Use("read_file", raw='{"pa')), Drop()),
    ],
)
async def test_a_reply_that_is_not_whole_failed_and_may_be_tried_again(fake, connect, reply):
    fake.script("", reply)
    with pytest.raises(ProviderError) as caught:
        await replies(connect(), ASK)
    assert caught.value.failure is Failure.INCOMPLETE
    assert "127.0.0.1" in caught.value.message


async def test_silence_fails_as_idle_and_pings_are_not_silence(fake, connect):
    provider = connect(idle_timeout=0.3)
    fake.script("", Reply(Say("Hi"), Pings(4, 0.15)), Reply(Say("Hi"), Hang()), Reply(before=5))
    assert (await replies(provider, ASK))[-1] == StreamStopped()
    for _ in range(2):
        with pytest.raises(ProviderError) as caught:
            await replies(provider, ASK)
        assert caught.value.failure is Failure.IDLE
        assert caught.value.message == "127.0.0.1 sent nothing for 0.3 seconds."


async def test_events_arrive_as_they_are_sent(fake, connect):
    fake.script("", Reply(Say("Hi"), Hang()))
    stream = connect().stream(ASK)
    async with asyncio.timeout(5):
        got = [await anext(stream) for _ in range(4)]
    assert got[1:] == [TextStarted(0), TextDelta(0, "Hi"), BlockStopped(0)]
    await stream.aclose()


async def test_events_of_one_network_read_come_without_a_pause(fake, connect):
    burst = b"".join(
        b'data: {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "%d"}}\n\n' % n
        for n in range(50)
    )
    start = b'data: {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}\n\n'
    fake.script("", Reply(Raw(start + burst), Hang()))
    stream = connect().stream(ASK)
    assert isinstance(await anext(stream), StreamStarted)
    assert isinstance(await anext(stream), TextStarted)
    steps = [anext(stream) for _ in range(50)]
    for step in steps:
        with pytest.raises(StopIteration) as given:
            step.send(None)  # ends at once: nothing was awaited
        assert isinstance(given.value.value, TextDelta)
    await stream.aclose()


@pytest.mark.parametrize("reply", [Reply(Hang()), Reply(Say("word " * 200, deltas=200, delay=0.02)), Reply(before=30)])
async def test_cancelling_the_consumer_closes_the_connection(fake, connect, reply):
    fake.script("", reply)
    task = asyncio.create_task(replies(connect(), ASK))
    seen = await fake.received()
    task.cancel()
    async with asyncio.timeout(1):
        with pytest.raises(asyncio.CancelledError):
            await task
        await seen.gone.wait()
    assert seen.gone.is_set()


async def test_leaving_the_stream_closes_the_connection(fake, connect):
    fake.script("", Reply(Say("Hi"), Hang()))
    stream = connect().stream(ASK)
    await anext(stream)
    await stream.aclose()
    async with asyncio.timeout(1):
        await fake.requests[0].gone.wait()
    assert fake.requests[0].gone.is_set()


async def test_closing_the_provider_ends_an_open_stream(fake, connect):
    provider = connect()
    fake.script("", Reply(Hang()))
    task = asyncio.create_task(replies(provider, ASK))
    seen = await fake.received()
    await provider.close()
    async with asyncio.timeout(1):
        await seen.gone.wait()
        with pytest.raises(ProviderError):
            await task
    with pytest.raises(ProviderError, match="was closed"):
        await replies(provider, ASK)


async def test_one_connection_serves_several_requests(fake, connect):
    provider = connect()
    fake.script("", *[Reply(Say("Hi"))] * 3)
    for _ in range(3):
        await replies(provider, ASK)
    assert fake.connections == 1


async def test_a_server_that_lingers_after_the_end_holds_nothing_up(fake, connect):
    end = b'data: {"type": "message_delta", "delta": {"stop_reason": "end_turn"}}\n\ndata: {"type": "message_stop"}\n\n'
    fake.script("", Reply(Say("Hi"), Raw(end), Wait(30)))
    async with asyncio.timeout(2):
        events = await replies(connect(), ASK)
    assert events[-1] == StreamStopped()


async def test_requests_run_side_by_side(fake, connect):
    provider = connect()
    fake.script("a", Reply(Wait(0.1), Say("A")))
    fake.script("b", Reply(Say("B")))
    a, b = await asyncio.gather(
        replies(provider, evolve(ASK, messages=request("[[a]]").messages)),
        replies(provider, evolve(ASK, messages=request("[[b]]").messages)),
    )
    assert (text_of(a), text_of(b)) == ("A", "B")
