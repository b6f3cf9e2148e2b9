"""Stored sessions, played against the loop again: the same stream must come of each, and any difference is seen."""

import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from quillback.cli.export import as_json
from quillback.core import continuation, turn
from quillback.core.message import MessageState
from quillback.core.model import Failure, ModelRequest, ProviderError, ProviderEvent, StreamStopping
from quillback.session import registry
from quillback.transcripts import replay as replay_module
from quillback.transcripts.replay import replay
from quillback.transcripts.replay_model import PlayedModel
from quillback.transcripts.replay_spans import spans_of
from quillback.transcripts.replay_stored import StoredError, read_stored

pytestmark = pytest.mark.anyio
HERE = Path(__file__).parent
FILES = sorted(HERE.glob("*.json"))
KINDS = {"text", "thinking", "tool_use", "tool_result", "summary"}


def changed(name: str, change: Callable[[list[dict[str, Any]]], None]) -> str:
    whole = json.loads((HERE / f"{name}.json").read_text())
    change(whole["messages"])
    return json.dumps(whole)


def with_text(messages: list[dict[str, Any]], text: str) -> dict[str, Any]:
    """The text part that holds `text`, of whatever message."""
    return next(p for m in messages for p in m["parts"] if text in p.get("text", ""))


@pytest.mark.parametrize("file", FILES, ids=[file.stem for file in FILES])
async def test_the_same_stream_comes_of_a_recorded_session(file: Path):
    played = await replay(read_stored(file.read_text()))
    assert (played.where, played.difference, played.skipped) == ("", (), 0)
    assert played.turns > 0


def test_the_recorded_sessions_have_all_that_a_loop_does():
    messages = [m for file in FILES for m in read_stored(file.read_text()).messages]
    assert {type(part).__name__.lower() for m in messages for part in m.parts} >= {"text", "thinking", "summary"}
    assert {m.state for m in messages} >= {MessageState.COMPLETE, MessageState.INTERRUPTED}
    texts = "\n".join(m.text() for m in messages)
    for said in (continuation.KEEP_WORKING, "<reminder>", "Stopped: the model kept repeating", "A hook of the user"):
        assert said in texts, said
    results = "".join(str(r.content) for m in messages for r in m.tool_results())
    for said in (turn.CANCELLED_CALL, "interrupted before a result came", "there is no tool", "rejected"):
        assert said in results, said


# ---------------------------------------------------------------- a difference is seen


async def test_a_changed_reason_to_go_on_is_seen(monkeypatch):
    monkeypatch.setattr(continuation, "KEEP_WORKING", "Work harder.")
    played = await replay(read_stored((HERE / "continuation.json").read_text()))
    assert played.where == "turn 2: another stream came of it"
    assert any(line.startswith("+") and "Work harder." in line for line in played.difference)
    assert any(line.startswith("-") and "Keep working" in line for line in played.difference)


async def test_a_loop_that_goes_on_for_longer_is_seen(monkeypatch):
    monkeypatch.setattr(continuation, "IDLE_REPLIES", 4)
    played = await replay(read_stored((HERE / "continuation.json").read_text()))
    assert "once more than the record has replies" in played.where


async def test_a_loop_that_ends_sooner_is_seen(monkeypatch):
    monkeypatch.setattr(continuation, "IDLE_REPLIES", 2)
    played = await replay(read_stored((HERE / "continuation.json").read_text()))
    assert played.where
    assert any(line.startswith("-") for line in played.difference)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("tools", "<reminder>"),
        ("compaction", "<summary>"),
        ("limits", "Stopped after 4 steps"),
        ("repetition", "Stopped: the model kept repeating"),
        ("refusal", "The model declined"),
        ("limits", "The reply was cut off"),
    ],
)
async def test_other_words_of_the_loop_are_seen(name: str, text: str):
    def change(messages: list[dict[str, Any]]) -> None:
        part = with_text(messages, text)
        part["text"] = part["text"] + " (changed)"

    played = await replay(read_stored(changed(name, change)))
    assert any("(changed)" in line for line in played.difference)


async def test_a_result_that_is_missing_is_seen():
    def change(messages: list[dict[str, Any]]) -> None:
        messages[:] = [m for m in messages if not any("Hello" in str(p.get("content")) for p in m["parts"])]

    played = await replay(read_stored(changed("tools", change)))
    assert played.where.startswith("turn 1: ")
    assert "no recorded result" in played.where


async def test_a_message_that_is_missing_is_seen():
    def change(messages: list[dict[str, Any]]) -> None:
        messages.remove(next(m for m in messages if "<reminder>" in str(m["parts"])))

    played = await replay(read_stored(changed("tools", change)))
    assert any(line.startswith("+") and "<reminder>" in line for line in played.difference)


# ---------------------------------------------------------------- what leaves no trace


async def test_replies_that_fail_first_and_come_again_give_the_same_stream(monkeypatch):
    failed: set[int] = set()

    class Flaky(PlayedModel):
        async def stream(self, request: ModelRequest) -> AsyncIterator[ProviderEvent]:
            stage = self.stage
            reply = stage.record.coming
            first = reply is not None and reply.seq not in failed and not request.side
            at = stage.record.at
            async for event in super().stream(request):
                if first and isinstance(event, StreamStopping):
                    assert reply is not None
                    failed.add(reply.seq)
                    stage.record.at = at
                    raise ProviderError(Failure.INCOMPLETE, "cut off")
                yield event

    monkeypatch.setattr(replay_module, "PlayedModel", Flaky)
    monkeypatch.setattr(turn, "delay", lambda *_: 0.0)
    for name in ("tools", "compaction", "continuation", "steer"):
        failed.clear()
        played = await replay(read_stored((HERE / f"{name}.json").read_text()))
        assert (played.where, played.difference) == ("", ()), name
        assert failed


# ---------------------------------------------------------------- reading


@pytest.mark.parametrize("file", FILES, ids=[file.stem for file in FILES])
def test_an_exported_session_is_read_as_it_was_written(file: Path):
    stored = read_stored(file.read_text())
    record = registry.SessionRecord(
        stored.id, stored.cwd, (), registry.Mode.AUTO, "m", registry.Thinking.OFF, created_at=0, updated_at=0
    )
    again = json.loads(as_json(record, stored.messages))["messages"]
    assert again == [m for m in json.loads(file.read_text())["messages"] if m["seq"]]


def test_no_message_gets_lost_when_a_stream_is_taken_apart():
    for file in FILES:
        messages = read_stored(file.read_text()).messages
        assert tuple(m for span in spans_of(messages) for m in (*span.given, *span.made)) == messages


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "JSONDecodeError"),
        ("[]", "no session"),
        ('{"version": 1, "session": {"id": "s", "cwd": "/"}, "messages": [{"parts": 7}]}', "no session"),
        ('{"version": 2, "session": {"id": "s", "cwd": "/"}, "messages": []}', "version 2"),
    ],
)
def test_what_is_no_exported_session_is_said(text: str, words: str):
    with pytest.raises(StoredError, match=words):
        read_stored(text)


async def test_a_session_without_a_turn_is_the_same_as_nothing():
    empty = read_stored('{"version": 1, "session": {"id": "s", "cwd": "/"}, "messages": []}')
    assert (await replay(empty)).turns == 0
