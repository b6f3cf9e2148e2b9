"""Questions to clients that answer them oddly or not at all, and the files of answers."""

import asyncio
import os
import time

import pytest

from quillback.edge.lsp import answers, questions
from quillback.edge.lsp.answers import Answers
from quillback.edge.lsp.client import LspClient
from quillback.edge.lsp.questions import Questions
from quillback_protocol.framing import FramingError
from quillback_protocol.peer import Peer
from support.fakes import until
from support.wire import Wire

pytestmark = pytest.mark.anyio
TITLES = ("Allow", "Reject")


class Room:
    def __init__(self) -> None:
        self.wire = Wire()
        self.peer = Peer(self.wire, {}, {})
        self.client = LspClient(self.peer)
        self.questions = Questions(self.client)
        self.task = asyncio.create_task(self.questions.ask("May I?\nPlease.", "May I", TITLES))

    async def asked(self) -> None:
        await until(lambda: self.wire.sent)

    def answer(self, **answer: object) -> None:
        self.peer.receive({"jsonrpc": "2.0", "id": self.wire.sent[0]["id"], **answer})

    async def told(self) -> None:
        await until(lambda: any(m.get("method") == "window/showMessage" for m in self.wire.sent))

    async def outcome(self) -> str | None:
        found = await asyncio.wait_for(self.task, 5)
        assert list(self.questions) == []
        return found


async def test_a_button(monkeypatch):
    room = Room()
    await room.asked()
    assert [a["title"] for a in room.wire.sent[0]["params"]["actions"]] == list(TITLES)
    room.answer(result={"title": "Reject", "more": 1})
    assert await room.outcome() == "Reject"


async def test_a_dismissal_is_no_answer(monkeypatch):
    monkeypatch.setattr(questions, "AT_ONCE", 0.0)
    room = Room()
    await room.asked()
    room.answer(result=None)
    assert await room.outcome() is None


@pytest.mark.parametrize(
    "answer", [{"result": None}, {"result": "Allow"}, {"error": {"code": -32601, "message": "no"}}]
)
async def test_a_client_that_cannot_ask_leaves_it_to_code_actions(answer):
    room = Room()
    await room.asked()
    room.answer(**answer)
    await room.told()
    [question] = room.questions
    assert not room.questions.answer(question.id, "Perhaps")
    assert not room.questions.answer("question-9", "Allow")
    assert room.questions.answer(question.id, "Allow")
    assert not room.questions.answer(question.id, "Reject")
    assert await room.outcome() == "Allow"
    assert room.client.asks is ("error" not in answer)


async def test_a_code_action_takes_the_message_back():
    room = Room()
    await room.asked()
    [question] = room.questions
    assert room.questions.answer(question.id, "Allow")
    assert await room.outcome() == "Allow"
    assert room.wire.sent[-1]["method"] == "$/cancel_request"


async def test_a_lost_connection_ends_it():
    room = Room()
    await room.asked()
    room.peer.receive_error(FramingError(-32700, "x"))
    room.peer.close()
    with pytest.raises(Exception, match="gone"):
        await room.task


async def test_a_cancelled_turn_ends_it():
    room = Room()
    await room.asked()
    room.task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await room.task
    assert list(room.questions) == []
    assert room.wire.sent[-1]["method"] == "$/cancel_request"


def test_answers_are_private_and_few(tmp_path, monkeypatch):
    monkeypatch.setattr(answers, "KEPT", 3)
    it = Answers(tmp_path / "home" / "answers")
    paths = [it.write(f"{n} ../a b.py:1!", ".md", f"{n} \ud800") for n in range(5)]
    assert paths[0].name.endswith("-0-a-b-py-1.md")
    assert paths[0].parent.stat().st_mode & 0o777 == 0o700
    assert sorted(paths[0].parent.iterdir()) == paths[2:]
    assert paths[4].read_text() == "4 ?"
    old = time.time() - answers.KEPT_SECONDS - 60
    for path in paths[0].parent.iterdir():
        os.utime(path, (old, old))
    last = it.write("", ".diff", "x")
    assert [path.name for path in last.parent.iterdir()] == [last.name]
    assert last.name.endswith("-answer.diff")
