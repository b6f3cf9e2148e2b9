"""What arrives from chat completions, over a real socket."""

import asyncio
import json

import pytest
from attrs import evolve

from quillback.core.assemble import Assembler
from quillback.core.message import ToolUse, Usage
from quillback.core.model import (
    BlockStopped,
    Failure,
    InputDelta,
    Model,
    ProviderError,
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
from support.fake_openai import Comments, Drop, Eof, Hang, Raw, Refuse, Reply, Say, Think, Together, Use, Wait
from support.model_request import replies, request, tool

pytestmark = pytest.mark.anyio
QWEN = Model("openai:qwen", "openai", "qwen", 32_000, 8_000, thinking=False)
ASK = request("Hello", model=QWEN, tools=(tool("read_file"),), max_tokens=8_000)


@pytest.fixture
def fake(fake_openai):
    return fake_openai


@pytest.fixture
def connect(connect_openai):
    return connect_openai


def text_of(events):
    return "".join(e.text for e in events if isinstance(e, TextDelta))


def thoughts_of(events):
    return "".join(e.text for e in events if isinstance(e, ThinkingDelta))


def calls_of(events) -> list[ToolUse]:
    """The calls as the core takes them from the events."""
    numbers = iter(range(1, 100))
    assembler = Assembler("m", lambda kind: f"{kind}_{next(numbers)}", {"read_file": tool("read_file")})
    assembler.feed(events)
    assembler.finish(cut=False)
    return [part for part in assembler.parts if isinstance(part, ToolUse)]


def inputs_of(events):
    return [(c.provider_id, c.name, dict(c.input)) for c in calls_of(events)]


def chunk(delta, finish=None, **more):
    payload = {"id": "c", "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **more}
    return f"data: {json.dumps(payload)}\n\n".encode()


async def test_every_kind_of_delta_becomes_its_events_in_order(fake, connect):
    fake.script("", Reply(Think("Hm, let me", deltas=2), Say("Read", deltas=2), Use("read_file", {"path": "a"}, "c1")))
    assert await replies(connect(), ASK) == [
        StreamStarted("qwen"),
        ThinkingStarted(0),
        ThinkingDelta(0, "Hm, l"),
        ThinkingDelta(0, "et me"),
        SignatureDelta(0, "reasoning_content"),
        BlockStopped(0),
        TextStarted(1),
        TextDelta(1, "Re"),
        TextDelta(1, "ad"),
        BlockStopped(1),
        ToolUseStarted(2, "c1", "read_file"),
        InputDelta(2, '{"path"'),
        InputDelta(2, ': "a"}'),
        BlockStopped(2),
        StreamStopping("tool_use", Usage(100, 20)),
        StreamStopped(),
    ]
    assert fake.violations == []


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("cut", [0, 1, 7])
async def test_framing_makes_no_difference(fake, connect, newline, cut):
    words = "é 😀 中 — done"
    fake.script("", Reply(Say(words, deltas=5), newline=newline, cut=cut))
    events = await replies(connect(), ASK)
    assert text_of(events) == words
    assert events[-1] == StreamStopped()


async def test_half_characters_reach_the_core_to_be_joined(fake, connect):
    fake.script("", Reply(Say("\ud83d\ude00", deltas=2)))
    assert text_of(await replies(connect(), ASK)) == "\ud83d\ude00"


@pytest.mark.parametrize("fields", [("reasoning_content",), ("reasoning",), ("reasoning_content", "reasoning")])
async def test_a_thought_comes_once_under_whatever_names(fake, connect, fields):
    fake.script("", Reply(Think("Let me see", fields), Say("So."), Think("More", fields), Say("And so.")))
    events = await replies(connect(), ASK)
    assert thoughts_of(events) == "Let me seeMore"
    kinds = [type(e).__name__ for e in events if isinstance(e, ThinkingStarted | TextStarted)]
    assert kinds == ["ThinkingStarted", "TextStarted"] * 2
    assert {e.signature for e in events if isinstance(e, SignatureDelta)} == {fields[0]}


# ---------------------------------------------------------------- calls

A, B = {"path": "a.py"}, {"path": "b.py"}


@pytest.mark.parametrize(
    "pieces",
    [
        (Use("read_file", A, "a", 0), Use("read_file", B, "b", 1)),
        (Together((Use("read_file", A, "a", 0, cuts=4), Use("read_file", B, "b", 1, cuts=3))),),
        (Use("read_file", A, "a", 0, cuts=1), Use("read_file", B, "b", 0, cuts=1)),
        (Use("read_file", A, "a", 0, cuts=5), Use("read_file", B, "b", 0, cuts=5)),
        (Use("read_file", A, "a", None), Use("read_file", B, "b", None)),
        (Use("read_file", A, "a", 0, name_again=True, cuts=5), Use("read_file", B, "b", 1, name_again=True, cuts=5)),
        (Use("read_file", A, "a", None, name_again=True), Use("read_file", B, "b", None, name_again=True)),
        (Use("read_file", A, "a", 0, whole=True), Use("read_file", B, "b", 0, whole=True)),
        (Use("read_file", A, "a", 3), Use("read_file", B, "b", 7)),
    ],
    ids=["counted", "mixed", "all 0", "all 0 in pieces", "uncounted", "named again", "both", "objects", "gaps"],
)
async def test_however_calls_are_cut_they_come_out_the_same(fake, connect, pieces):
    fake.script("", Reply(*pieces))
    assert inputs_of(await replies(connect(), ASK)) == [("a", "read_file", A), ("b", "read_file", B)]


async def test_calls_without_ids_get_some_and_equal_ids_stay_apart(fake, connect):
    fake.script(
        "",
        Reply(Use("read_file", A, "", 0), Use("read_file", B, "", 1)),
        Reply(Use("read_file", A, "", 0), Use("read_file", B, "", 0)),
        Reply(Use("read_file", A, "x", 0), Use("read_file", B, "x", 1)),
    )
    for expected in (("call_0", "call_1"), ("call_0", "call_1"), ("x", "x")):
        found = calls_of(await replies(connect(), ASK))
        assert [dict(c.input) for c in found] == [A, B]
        assert tuple(c.provider_id for c in found) == expected
        assert found[0].id != found[1].id


async def test_a_call_whose_input_is_complete_is_closed_when_the_next_begins(fake, connect):
    fake.script("", Reply(Use("read_file", A, "a", 0), Use("read_file", B, "b", 1), Wait(0)))
    events = await replies(connect(), ASK)
    assert events.index(BlockStopped(0)) < events.index(ToolUseStarted(1, "b", "read_file"))


async def test_a_name_may_come_late_or_never(fake, connect):
    late = [
        {"tool_calls": [{"index": 0, "id": "a", "function": {"arguments": '{"path":'}}]},
        {"tool_calls": [{"index": 0, "function": {"name": "read_file", "arguments": ' "a.py"}'}}]},
    ]
    never = [{"tool_calls": [{"index": 0, "id": "a", "function": {"arguments": "{}"}}]}]
    for deltas, expected in ((late, ("read_file", A)), (never, ("", {}))):
        fake.script("", Reply(*(Raw(chunk(d)) for d in deltas), finish="tool_calls"))
        (call,) = calls_of(await replies(connect(), ASK))
        assert (call.name, dict(call.input)) == expected
    assert "there is no tool ''" in call.problem


async def test_arguments_that_are_not_json_are_told_to_the_model_later(fake, connect):
    fake.script("", Reply(Use("read_file", raw='{"path": ')))
    (call,) = calls_of(await replies(connect(), ASK))
    assert (dict(call.input), call.raw) == ({}, '{"path": ')
    assert "not valid JSON" in call.problem


async def test_a_call_without_arguments_has_no_input(fake, connect):
    fake.script("", Reply(Use("read_file", {}, "a")), Reply(Raw(chunk({"tool_calls": None})), Say("x")))
    assert (await replies(connect(), ASK))[1:3] == [ToolUseStarted(0, "a", "read_file"), BlockStopped(0)]
    assert text_of(await replies(connect(), ASK)) == "x"


async def test_odd_things_are_passed_over(fake, connect):
    odd = [
        b": keep-alive\n\nid: 7\nretry: 10\n\n",
        b'data: {"choices": "none"}\n\ndata: {}\n\n',
        chunk({"role": "assistant", "content": None, "audio": {"id": "x"}}),
        chunk({"content": ["a list"], "tool_calls": ["no object", {"function": None}], "reasoning": 3}),
        b'data: {"choices": [{"index": 1, "delta": {"content": "another choice"}}]}\n\n',
    ]
    fake.script("", Reply(*map(Raw, odd[:3]), Raw(odd[4]), Say("Hi")))
    events = await replies(connect(), ASK)
    assert text_of(events) == "Hi"
    assert not calls_of(events)


# ---------------------------------------------------------------- the end


@pytest.mark.parametrize(
    ("finish", "calls", "reason"),
    [
        ("stop", False, "end_turn"),
        ("stop", True, "tool_use"),
        ("tool_calls", True, "tool_use"),
        ("function_call", True, "tool_use"),
        ("length", False, "max_tokens"),
        ("length", True, "max_tokens"),
        ("content_filter", False, "refusal"),
        ("cosmic_ray", False, "cosmic_ray"),
    ],
)
async def test_finish_reasons_in_our_words(fake, connect, finish, calls, reason):
    fake.script("", Reply(Say("Hi"), *([Use("read_file", A)] if calls else []), finish=finish))
    assert (await replies(connect(), ASK))[-2].stop_reason == reason


async def test_a_refusal_of_the_model_is_one(fake, connect):
    fake.script("", Reply(Refuse("I will not."), finish="stop"))
    events = await replies(connect(), ASK)
    assert text_of(events) == "I will not."
    assert events[-2] == StreamStopping("refusal", Usage(100, 20), "I will not.")


MORE_CACHED = {"prompt_tokens_details": {"cached_tokens": 99}}
CACHED = {"prompt_tokens": 100, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 60}}


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (CACHED, Usage(40, 7, 60)),
        ({**CACHED, "prompt_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 30}}, Usage(10, 7, 60, 30)),
        ({"prompt_tokens": 100, "completion_tokens": 7, "prompt_cache_hit_tokens": 64}, Usage(36, 7, 64)),
        (
            {"prompt_tokens": 10, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 99}},
            Usage(0, 7, 10),
        ),
        ({"prompt_tokens": 10, "completion_tokens": 0, "prompt_tokens_details": None}, Usage(10, 0)),
        ({"prompt_tokens": 0, "completion_tokens": 0}, None),
        ({"prompt_tokens": "many", "completion_tokens": True}, None),
        (None, None),
    ],
)
@pytest.mark.parametrize("with_end", [True, False])
async def test_counts_are_read_wherever_they_come(fake, connect, usage, expected, with_end):
    fake.script("", Reply(Say("Hi"), usage=usage, usage_with_end=with_end))
    assert (await replies(connect(), ASK))[-2] == StreamStopping("end_turn", expected)


async def test_an_end_without_done_is_an_end_when_the_reason_came(fake, connect):
    fake.script(
        "",
        Reply(Say("Hi"), done=False),
        Reply(Say("Hi"), Raw(chunk({}, "stop").rstrip()), Eof()),
    )
    for _ in range(2):
        assert (await replies(connect(), ASK))[-1] == StreamStopped()


async def test_a_server_that_lingers_after_the_end_holds_nothing_up(fake, connect):
    end = chunk({}, "stop", usage={"prompt_tokens": 5, "completion_tokens": 1})
    fake.script("", Reply(Say("Hi"), Raw(end + b"data: [DONE]\n\n"), Wait(60)), Reply(Say("Hi"), Raw(end), Wait(60)))
    for seconds in (3, 25):
        async with asyncio.timeout(seconds):
            assert (await replies(connect(), ASK))[-2:] == [StreamStopping("end_turn", Usage(5, 1)), StreamStopped()]


@pytest.mark.parametrize(
    "reply",
    [
        Reply(Say("Hi"), Eof()),
        Reply(Say("Hi"), Drop()),
        Reply(Say("Hi"), finish=""),
        Reply(Say("Hi"), Raw(b"data: {broken\n\n")),
        Reply(Use("read_file", raw='{"pa'), Drop()),
        Reply(Say("Hi"), Raw(chunk({}, "stop")), Drop()),
    ],
    ids=["eof", "drop", "no reason", "broken", "cut call", "cut before the counts"],
)
async def test_a_reply_that_is_not_whole_failed_and_may_be_tried_again(fake, connect, reply):
    fake.script("", reply)
    with pytest.raises(ProviderError) as caught:
        await replies(connect(), ASK)
    assert caught.value.failure is Failure.INCOMPLETE
    assert "127.0.0.1" in caught.value.message


# ---------------------------------------------------------------- time and connections


async def test_silence_fails_as_idle_and_comments_are_not_silence(fake, connect):
    provider = connect(idle_timeout=0.5)
    fake.script("", Reply(Say("Hi"), Comments(4, 0.2)), Reply(Say("Hi"), Hang()), Reply(before=5))
    assert (await replies(provider, ASK))[-1] == StreamStopped()
    for _ in range(2):
        with pytest.raises(ProviderError) as caught:
            await replies(provider, ASK)
        assert caught.value.failure is Failure.IDLE
        assert caught.value.message == "127.0.0.1 sent nothing for 0.5 seconds."


async def test_events_of_one_network_read_come_without_a_pause(fake, connect):
    fake.script("", Reply(Raw(b"".join(chunk({"content": str(n)}) for n in range(50))), Hang()))
    stream = connect().stream(ASK)
    assert isinstance(await anext(stream), StreamStarted)
    assert isinstance(await anext(stream), TextStarted)
    for _ in range(50):
        with pytest.raises(StopIteration) as given:
            anext(stream).send(None)  # ends at once: nothing was awaited
        assert isinstance(given.value.value, TextDelta)
    await stream.aclose()


@pytest.mark.parametrize("reply", [Reply(Hang()), Reply(Say("word " * 200, deltas=200, delay=0.02)), Reply(before=30)])
async def test_cancelling_the_consumer_closes_the_connection(fake, connect, reply):
    fake.script("", reply)
    task = asyncio.create_task(replies(connect(), ASK))
    seen = await fake.received()
    task.cancel()
    async with asyncio.timeout(5):
        with pytest.raises(asyncio.CancelledError):
            await task
        await seen.gone.wait()
    assert seen.gone.is_set()


async def test_leaving_the_stream_closes_the_connection(fake, connect):
    fake.script("", Reply(Say("Hi"), Hang()))
    stream = connect().stream(ASK)
    await anext(stream)
    await stream.aclose()
    async with asyncio.timeout(5):
        await fake.requests[0].gone.wait()
    assert fake.requests[0].gone.is_set()


async def test_closing_the_provider_ends_an_open_stream(fake, connect):
    provider = connect()
    fake.script("", Reply(Hang()))
    task = asyncio.create_task(replies(provider, ASK))
    seen = await fake.received()
    await provider.close()
    async with asyncio.timeout(5):
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


async def test_requests_run_side_by_side(fake, connect):
    provider = connect()
    fake.script("a", Reply(Wait(0.1), Say("A")))
    fake.script("b", Reply(Say("B")))
    a, b = await asyncio.gather(
        *(replies(provider, evolve(ASK, messages=request(f"[[{token}]]").messages)) for token in "ab")
    )
    assert (text_of(a), text_of(b)) == ("A", "B")
