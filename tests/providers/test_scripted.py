import asyncio
import subprocess
import sys

import pytest

from quillback.core.message import Image, Resource, Text, ToolResult, ToolUse, Usage
from quillback.core.model import (
    BlockStopped,
    Failure,
    InputDelta,
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
from quillback.providers.script import Call, Response
from quillback.providers.script_format import parse_script
from quillback.providers.scripted import ScriptedProvider, demo_workspace, load_script
from support.model_request import assistant, replies, request, user

pytestmark = pytest.mark.anyio


def provider(text, **variables):
    return ScriptedProvider(parse_script(text, "x"), variables=variables)


async def said(it, ask="Hello", **options):
    events = await replies(it, request(ask, **options))
    return "".join(e.text for e in events if isinstance(e, TextDelta))


async def failure_of(it, ask="Hello", **more):
    with pytest.raises(ProviderError) as caught:
        await replies(it, request(ask, **more))
    return caught.value


async def test_a_reply_streams_as_a_service_would():
    it = provider('think: Hm, so.\ntext: A b\ncall: read_file {"path": "é"}\ntext: end\nusage: {"input_tokens": 5}')
    assert await replies(it, request("Hello")) == [
        StreamStarted("claude-sonnet-5-5"),
        ThinkingStarted(0),
        ThinkingDelta(0, "Hm, "),
        ThinkingDelta(0, "so."),
        SignatureDelta(0, "c2NyaXB0ZWQ="),
        BlockStopped(0),
        TextStarted(1),
        TextDelta(1, "A "),
        TextDelta(1, "b"),
        BlockStopped(1),
        ToolUseStarted(2, "toolu_script_1", "read_file"),
        InputDelta(2, '{"path'),
        InputDelta(2, '": "é"}'),
        BlockStopped(2),
        TextStarted(3),
        TextDelta(3, "end"),
        BlockStopped(3),
        StreamStopping("tool_use", Usage(5)),
        StreamStopped(),
    ]


async def test_adjacent_text_is_one_block_also_over_a_wait():
    events = await replies(provider("text: a\nwait: 1ms\ntext: b\nstop: max_tokens"), request("Hello"))
    assert events[1:] == [
        TextStarted(0),
        TextDelta(0, "a"),
        TextDelta(0, "b"),
        BlockStopped(0),
        StreamStopping("max_tokens", None),
        StreamStopped(),
    ]


async def test_a_repeated_piece_is_a_delta_each():
    events = await replies(provider(r"text*500: word\s"), request("Hello"))
    assert [e.text for e in events if isinstance(e, TextDelta)] == ["word "] * 500


async def test_calls_have_ids_of_their_own_and_may_be_broken():
    events = await replies(provider("call: a\ncall-raw: no such {broken"), request("Hello"))
    assert [e for e in events if isinstance(e, ToolUseStarted | InputDelta)] == [
        ToolUseStarted(0, "toolu_script_1", "a"),
        ToolUseStarted(1, "toolu_script_2", "no"),
        InputDelta(1, "such {"),
        InputDelta(1, "broken"),
    ]


async def test_variables_are_replaced_in_text_and_calls():
    it = provider('text: ${prompt} in ${cwd}, ${other}\ncall: a {"p": ["${cwd}/x"]}', cwd='/a "b"')
    events = await replies(it, request("Do it"))
    assert "".join(e.text for e in events if isinstance(e, TextDelta)) == 'Do it in /a "b", ${other}'
    assert "".join(e.json for e in events if isinstance(e, InputDelta)) == '{"p": ["/a \\"b\\"/x"]}'


async def test_every_session_is_at_its_own_place_and_side_requests_use_nothing_up():
    it = provider("text: one\n---\ntext: two")
    assert await said(it, session_id="a") == "one"
    assert await said(it, session_id="b") == "one"
    assert await said(it, session_id="a", side=True) == "ok"
    assert await said(it, session_id="a") == "two"
    over = await failure_of(it, session_id="a")
    assert (over.failure, over.message) == (Failure.INVALID, "The script x has no more replies.")
    assert await said(it, session_id="b") == "two"


async def test_a_loop_starts_again():
    it = provider("loop\ntext: one\n---\ntext: two")
    assert [await said(it) for _ in range(3)] == ["one", "two", "one"]


async def test_each_prompt_starts_anew_but_not_a_retry_or_a_step():
    it = provider("each-prompt\nerror: 529\n---\ncall: a\n---\ntext: end")
    call, result = assistant(ToolUse("c", "t", "a")), user(ToolResult("c", (Text("r"),)))
    assert (await failure_of(it)).failure is Failure.OVERLOADED
    await replies(it, request("Hello"))
    assert await said(it, "Hello") == "end"
    assert "no more replies" in (await failure_of(it, "Hello")).message
    assert (await failure_of(it, "Next")).failure is Failure.OVERLOADED
    await replies(it, request("Next"))
    events = await replies(it, request("Next", call, result))
    assert TextDelta(0, "end") in events


@pytest.mark.parametrize(
    ("line", "failure", "retry_after", "words"),
    [
        ("error: 529 retry-after=1.5 Too busy", Failure.OVERLOADED, 1.5, "The script x answered 529: Too busy."),
        ("error: 401", Failure.AUTHENTICATION, None, "answered 401"),
        ("error: 400 prompt is too long", Failure.CONTEXT_LENGTH, None, "prompt is too long"),
        ("drop", Failure.INCOMPLETE, None, "The script x drops the connection."),
    ],
)
@pytest.mark.parametrize("before", ["", "text: Some words\n"])
async def test_a_script_can_fail(line, failure, retry_after, words, before):
    it = provider(f"{before}{line}\n---\ntext: fine")
    events = []

    async def collect():
        async for event in it.stream(request("Hello")):
            events.append(event)

    with pytest.raises(ProviderError) as caught:
        await collect()
    assert (caught.value.failure, caught.value.retry_after) == (failure, retry_after)
    assert words in caught.value.message
    assert bool(events) is bool(before)
    assert await said(it) == "fine"


async def test_expectations_look_at_the_last_message():
    call = assistant(ToolUse("c", "t", "a"))
    last = user(ToolResult("c", (Text("1: hello.py"), Image("", "image/png"))), "and", Resource("u", text="resource"))
    script = "expect: hello.py\nexpect: resource\nexpect-not: Earlier\ntext: ok"
    events = await replies(provider(script), request("Earlier", call, last))
    assert TextDelta(0, "ok") in events


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("expect: hello.py", "x:2: expected the last message to contain 'hello.py'; it is 'Hi'."),
        ("expect-not: H", "x:2: expected the last message not to contain 'H'; it is 'Hi'."),
    ],
)
async def test_a_wrong_expectation_names_its_line(line, words):
    error = await failure_of(provider(f"text: ok\n{line}"), "Hi")
    assert (error.failure, error.message) == (Failure.INVALID, words)


async def test_a_wait_can_be_cancelled():
    task = asyncio.create_task(said(provider("text: a\nwait: 60s\ntext: b")))
    await asyncio.sleep(0)
    task.cancel()
    async with asyncio.timeout(1):
        with pytest.raises(asyncio.CancelledError):
            await task
    assert task.cancelled()


async def test_a_long_reply_lets_others_run():
    turns = 0

    async def other():
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    task = asyncio.create_task(other())
    await said(provider("text*1600: a"))
    task.cancel()
    assert turns >= 100


async def test_echo_repeats_the_prompt():
    it = ScriptedProvider(load_script("echo"))
    assert await said(it, "Hello there\nyou") == "Hello there\nyou"
    assert await said(it, "  ") == "(no text)"
    assert await said(it, user(Image("", "image/png"))) == "(no text)"


async def test_slow_takes_its_time():
    stream = ScriptedProvider(load_script("slow")).stream(request("Hello"))
    started = asyncio.get_running_loop().time()
    deltas = 0
    async for event in stream:
        deltas += isinstance(event, TextDelta)
        if deltas == 3:
            break
    assert asyncio.get_running_loop().time() - started >= 0.45
    await stream.aclose()


def calls_of(script):
    def only_call(response: Response) -> Call:
        return next(a for a in response.actions if isinstance(a, Call))

    return [only_call(r) for r in script.responses[:-1]]


def test_the_demo_does_what_it_says_on_its_workspace(tmp_path):
    for name, text in demo_workspace().items():
        (tmp_path / name).write_text(text)
    read, before, edit, after = calls_of(load_script("demo"))
    assert [c.name for c in (read, before, edit, after)] == ["read_file", "shell", "edit_file", "shell"]
    path = tmp_path / read.input["path"]

    def run(call: Call) -> int:
        words = call.input["command"].split()
        assert words[0] == "python3"
        return subprocess.run([sys.executable, *words[1:]], cwd=tmp_path, capture_output=True).returncode

    assert run(before) == 1
    text = path.read_text()
    assert text.count(edit.input["old_text"]) == 1
    path.write_text(text.replace(edit.input["old_text"], edit.input["new_text"]))
    assert run(after) == 0


async def test_the_demo_starts_anew_with_every_prompt():
    it = ScriptedProvider(load_script("demo"))
    for prompt in ("First", "Second"):
        events = await replies(it, request(prompt))
        assert [e.name for e in events if isinstance(e, ToolUseStarted)] == ["read_file"]
