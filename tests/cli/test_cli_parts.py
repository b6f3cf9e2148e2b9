"""The small parts of the command line: harmless text, styles while text streams, diffs, JSON, and order."""

import asyncio
import json
import os
import threading
from itertools import pairwise
from pathlib import Path
from typing import get_args

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from quillback.cli import json_view
from quillback.cli.clean import clean, one_line
from quillback.cli.diffs import diff_lines
from quillback.cli.exits import CliError
from quillback.cli.export import as_html, as_json, as_markdown, without_secrets
from quillback.cli.find_session import PAGE, find, newest_of, sessions_of
from quillback.cli.flow import MarkdownFlow
from quillback.cli.json_view import json_line, to_json
from quillback.cli.render import Renderer
from quillback.cli.screen import Screen
from quillback.cli.sink import Sink
from quillback.config import Settings
from quillback.core.event import Event, Growth, MessageDropped, PartGrew, StopReason, TurnCompleted
from quillback.core.message import Diff, Message, MessageState, Role, Text, ToolKind, ToolUse
from quillback.core.text import number
from quillback.session.pipe import EventPipe
from support.stores import opened, record

# ---------------------------------------------------------------- text


@given(st.text(st.characters()))
def test_clean_text_steers_nothing_and_can_be_written(text):
    cleaned = clean(text)
    cleaned.encode()
    assert not [c for c in cleaned if c != "\n" and c != "\t" and (c < " " or "\x7f" <= c <= "\x9f")]
    assert not set(cleaned) & set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
    assert clean(cleaned) == cleaned


def test_clean_shows_what_it_takes_away_and_leaves_the_rest():
    assert clean("a\x1b[2Jb\x07\x7f\x85\ud800\u202ec") == "a␛[2Jb␇␡\ufffd\ufffd\ufffdc"
    assert clean("tab\tline\r\nend — 日本 \U0001f600") == "tab\tline\nend — 日本 \U0001f600"
    assert one_line(" a\n b\x1b ", 10) == "a b␛"
    assert one_line("abcdef", 4) == "abc…"


LINES = st.lists(st.sampled_from(["# h", "## ", "```", "~~~x", "x", "", "  #", "`a`", "#no", " ", "\u2028"])).map(
    "\n".join
)


@given(LINES, st.lists(st.integers(0, 60)))
def test_styles_do_not_depend_on_how_the_text_arrives(text, cuts):
    places = sorted({0, len(text), *(c for c in cuts if c < len(text))})
    flow = MarkdownFlow()
    pieces = [p for a, b in pairwise(places) for p in flow.feed(text[a:b])] + flow.end()
    assert "".join(piece for piece, _ in pieces) == text
    whole = MarkdownFlow()
    at_once = [*whole.feed(text), *whole.end()]
    assert [(c, s) for piece, s in pieces for c in piece] == [(c, s) for piece, s in at_once for c in piece]


def test_headings_and_code_have_styles():
    flow = MarkdownFlow()
    pieces = [*flow.feed("# T\nplain\n```py\n# x\n```\n#hash"), *flow.end()]
    assert pieces == [
        ("# T\n", "bold"),
        ("plain\n", ""),
        ("```py\n", "dim"),
        ("# x\n", "cyan"),
        ("```\n", "dim"),
        ("#hash", ""),
    ]


@pytest.mark.parametrize(
    ("diff", "lines"),
    [
        (Diff("/w/a", None, "x\n"), ["--- /dev/null", "+++ a", "@@ -0,0 +1 @@", "+x"]),
        (Diff("/w/a", "x\ny\n", "x\nz\n"), ["--- a", "+++ a", "@@ -1,2 +1,2 @@", " x", "-y", "+z"]),
        (Diff("/w/a", "--x\n", ""), ["--- a", "+++ a", "@@ -1 +0,0 @@", "---x"]),
        (Diff("/else/a", "x\r\n", "x\n"), ["/else/a: only line ends change"]),
        (Diff("/w/a", "x", "x"), ["a: no change"]),
        (Diff("/w/a", None, "x" * 2_000_000), ["a: 0 characters before, 2,000,000 after; too long to compare here"]),
    ],
)
def test_diffs(diff, lines):
    assert [line for line, _ in diff_lines(diff, "/w")] == lines


def test_long_diffs_are_cut_where_a_limit_is_given():
    lines = diff_lines(Diff("/w/a", None, "x\n" * 50), "/w", 10)
    assert len(lines) == 11
    assert lines[-1][0] == "… 43 more lines"


# ---------------------------------------------------------------- JSON


def test_json_names_the_members_of_unions():
    call = ToolUse("c1", "p1", "shell", {"command": "ls"}, kind=ToolKind.EXECUTE)
    line = json_line(MessageDropped("m1", (call,)))
    assert "\n" not in line
    told = json.loads(line)
    assert (told["type"], told["message_id"]) == ("message_dropped", "m1")
    assert told["calls"][0] | {"type": "tool_use", "input": {"command": "ls"}, "kind": "execute"} == told["calls"][0]
    message = to_json(Message("m", "s", 1, Role.USER, (Text("hi"),), 5))
    assert isinstance(message, dict)
    assert "type" not in message
    assert message["parts"] == [{"type": "text", "text": "hi", "run_id": ""}]


def test_json_stays_json_whatever_a_tool_brings():
    assert json_line({"a": float("nan"), "b": (1, {2}), 3: Path("x")}) == '{"a":null,"b":[1,[2]],"3":"x"}'


def test_secrets_are_taken_out_longest_first(tmp_path):
    settings = Settings(
        home=tmp_path, config_file=tmp_path, secret_env=frozenset({"DB"}), anthropic_api_key="key-12345"
    )
    text = without_secrets(
        "key-12345-more key-12345 short", settings, {"DB": "key-12345-more", "OPENAI_API_KEY": "short"}
    )
    assert text == "[secret] [secret] short"


@pytest.mark.parametrize("kind", get_args(Event))
def test_the_description_of_the_json_names_every_event(kind):
    assert f"`{json_view.type_name(kind)}`" in (json_view.__doc__ or "")


# ---------------------------------------------------------------- prompts

STEERED = Message("m1", "s1", 2, Role.USER, (Text("also\nthis"),), 5, steered=True)
PROMPTS = (
    Message("m0", "s1", 1, Role.USER, (Text("go"),), 5),
    STEERED,
    evolve(STEERED, id="m2", seq=3, state=MessageState.NOT_RUN),
)


@pytest.mark.anyio
async def test_messages_that_were_added_to_a_turn_are_marked_wherever_prompts_are_shown():
    reading, writing = os.pipe()
    screen = Screen(Sink(writing), "utf-8")
    renderer = Renderer(screen)
    for message in PROMPTS:
        renderer.replay(message)
    await screen.flush()
    shown = os.read(reading, 1000).decode()
    os.close(reading)
    os.close(writing)
    assert shown == "> go\n\n> (steered) also\n> this\n\n> (steered, not run) also\n> this\n"
    headings = [line for line in as_markdown(record("s1"), PROMPTS).splitlines() if line.startswith("## ")]
    assert headings == ["## Prompt", "## Prompt (steered)", "## Prompt (steered, not run)"]
    page = as_html(record("s1"), PROMPTS)
    assert [page.count(f">{line[3:]}</p>") for line in headings] == [1, 1, 1]
    assert json.loads(as_json(record("s1"), PROMPTS))["messages"][1]["steered"] is True


@pytest.mark.parametrize(
    ("value", "text"), [(1e6, "1000000"), (0.5, "0.5"), (1e-7, "0.0000001"), (10.0, "10"), (0.0, "0"), (3, "3")]
)
def test_numbers_are_plain(value, text):
    assert number(value) == text


# ---------------------------------------------------------------- sessions


@pytest.mark.anyio
async def test_sessions_are_found_beyond_the_first_page(tmp_path):
    async with opened(tmp_path / "q.db") as store:
        for number in range(PAGE + 5):
            cwd = "/first" if number == 0 else "/other"
            await store.create_session(record(f"sess_{number:06}", cwd=cwd, updated_at=number))
        assert (await find(store, "sess_000000")).cwd == "/first"
        assert (await find(store, "000003")).id == "sess_000003"
        assert (await newest_of(store, "/first")).id == "sess_000000"
        assert len([r async for r in sessions_of(store, "/other")]) == PAGE + 4
        with pytest.raises(CliError, match=r"sess_000204.*sess_000200 and 200 more; give more"):
            await find(store, "sess_000")
        with pytest.raises(CliError, match="no session"):
            await newest_of(store, "/nowhere")


# ---------------------------------------------------------------- output


@pytest.mark.anyio
async def test_the_pipe_tells_when_all_was_taken():
    pipe, seen = EventPipe(), []
    shown, go_on = asyncio.Event(), asyncio.Event()

    async def consume() -> None:
        async for event in pipe:
            seen.append(event)
            shown.set()
            await go_on.wait()

    consumer = asyncio.create_task(consume())
    pipe.put(PartGrew("m", 0, Growth.TEXT, "a"))
    pipe.put(PartGrew("m", 1, Growth.TEXT, "b"))
    waiting = asyncio.create_task(pipe.taken())
    await shown.wait()
    assert not waiting.done(), "the consumer is busy with the first and there is a second"
    go_on.set()
    await waiting
    assert len(seen) == 2
    pipe.put(TurnCompleted(StopReason.END_TURN))
    await consumer
    await pipe.taken()


@pytest.mark.anyio
async def test_a_non_blocking_pipe_gets_everything():
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    data, got = b"0123456789" * 100_000, bytearray()

    def read() -> None:
        while chunk := os.read(reading, 65536):
            got.extend(chunk)

    reader = threading.Thread(target=read)
    sink = Sink(writing)
    sending = asyncio.create_task(sink.send(data))
    await asyncio.sleep(0)
    reader.start()
    await sending
    os.close(writing)
    await asyncio.to_thread(reader.join)
    os.close(reading)
    assert bytes(got) == data


@pytest.mark.anyio
async def test_a_sink_whose_reader_is_gone_says_so_every_time():
    reading, writing = os.pipe()
    os.close(reading)
    sink = Sink(writing)
    for _ in range(2):
        with pytest.raises(BrokenPipeError):
            await sink.send(b"x")
    os.close(writing)


@pytest.mark.anyio
async def test_an_encoding_that_lacks_a_character_gets_a_substitute():
    reading, writing = os.pipe()
    screen = Screen(Sink(writing), "ascii")
    screen.write(screen.sign("✓ ", "done: "))
    screen.line("naïve")
    screen.blank_line()
    screen.blank_line()
    screen.write("end")
    await screen.flush()
    assert os.read(reading, 100) == b"done: na?ve\n\nend"
    os.close(reading)
    os.close(writing)
