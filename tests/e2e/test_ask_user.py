"""ask_user: a form where the editor has forms, else the question as the last words of the turn."""

import asyncio

import pytest

from quillback_protocol.jsonrpc import RpcError
from support.agent import Agent, agent, calls, texts
from support.fake_model import FakeModel, Reply, Say, Use
from support.play import play
from support.processes import until
from support.requests import blocks, last_request, result_text, results, user_text

pytestmark = pytest.mark.anyio
FORMS = {"elicitation": {"form": {}}}
ASK = {"question": "Which database?", "choices": ["SQLite", "Postgres"]}
NO_ANSWER = "did not answer"


class Forms:
    """Answers each form with the next of `answers`: a value, or an exception."""

    def __init__(self, a: Agent, *answers: object) -> None:
        self.shown: list[dict] = []
        self.withdrawn = 0
        self.gate = asyncio.Event()
        self.gate.set()
        self._answers = list(answers)
        a.client.on_request("elicitation/create", self._answer)

    async def _answer(self, params: dict) -> object:
        self.shown.append(params)
        try:
            await self.gate.wait()
        except asyncio.CancelledError:
            self.withdrawn += 1
            raise
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def accept(answer: object) -> dict:
    return {"action": "accept", "content": {"answer": answer}}


ANSWERS = {
    "a choice": (accept("Postgres"), "The user answered: Postgres", False),
    "no choice of ours": (accept("MySQL"), "is odd", True),
    "declined": ({"action": "decline"}, NO_ANSWER, False),
    "cancelled": ({"action": "cancel"}, NO_ANSWER, False),
    "unknown action": ({"action": "perhaps"}, "is odd", True),
    "accepted without content": ({"action": "accept"}, "is odd", True),
    "content of a wrong type": ({"action": "accept", "content": "Postgres"}, "is odd", True),
    "answer of a wrong type": (accept(5), "is odd", True),
    "null": (None, "is odd", True),
    "list": ([], "is odd", True),
    "error": (RpcError(-32603, "no window"), "no window", True),
}


async def test_every_answer_becomes_a_result(tmp_path, fake: FakeModel):
    async with agent(tmp_path, fake.base_url, capabilities=FORMS) as a:
        session = await a.session()
        forms = Forms(a, *(answer for answer, _, _ in ANSWERS.values()), accept("the\x1b[1m usual"))
        for name, (_, told, is_error) in ANSWERS.items():
            (result,) = await play(a, fake, session, Use("ask_user", ASK))
            assert told in result_text(result), name
            assert result.get("is_error", False) is is_error, name
        (result,) = await play(a, fake, session, Use("ask_user", {"question": "How?"}))
        assert result_text(result) == "The user answered: the usual"
        assert a.asked == []
        shown = calls(a.client.updates[session])
        assert [f["toolCallId"] for f in forms.shown] == list(shown)
        assert {f["sessionId"] for f in forms.shown} == {session}
        assert forms.shown[0]["message"] == "Which database?"
        assert forms.shown[0]["mode"] == "form"
        assert forms.shown[0]["requestedSchema"]["properties"]["answer"]["enum"] == ["SQLite", "Postgres"]
        assert forms.shown[0]["requestedSchema"]["required"] == ["answer"]
        assert "enum" not in forms.shown[-1]["requestedSchema"]["properties"]["answer"]
        assert next(iter(shown.values()))["title"] == "Ask: Which database?"


async def test_bad_questions_are_not_put(tmp_path, fake: FakeModel):
    async with agent(tmp_path, fake.base_url, capabilities=FORMS) as a:
        session = await a.session()
        forms = Forms(a)
        bad = [{}, {"question": " \n"}, {"question": 5}, {"question": "a", "choices": "b"}]
        found = await play(a, fake, session, *(Use("ask_user", arguments) for arguments in bad))
        assert all(r["is_error"] for r in found)
        assert forms.shown == []


async def test_questions_come_one_after_the_other(tmp_path, fake: FakeModel):
    async with agent(tmp_path, fake.base_url, capabilities=FORMS) as a:
        (a.workspace / "f.txt").write_text("content\n")
        session = await a.session()
        forms = Forms(a, accept("one"), accept("two"))
        forms.gate.clear()
        uses = [Use("ask_user", {"question": "First?"}), Use("ask_user", {"question": "Second?"})]
        playing = asyncio.ensure_future(
            play(a, fake, session, *uses, Use("read_file", {"path": "f.txt"}), together=True)
        )
        await a.client.wait_for(lambda: "content" in str(a.client.updates.get(session)) or None)
        assert await until(lambda: [f["message"] for f in forms.shown] == ["First?"])
        forms.gate.set()
        told = [result_text(r) for r in await playing]
        assert told[:2] == ["The user answered: one", "The user answered: two"]


async def test_a_cancel_withdraws_the_question(tmp_path, fake: FakeModel):
    fake.script("a", Reply(Use("ask_user", ASK)))
    async with agent(tmp_path, fake.base_url, capabilities=FORMS) as a:
        session = await a.session()
        forms = Forms(a)
        forms.gate.clear()
        turn = await a.client.start_prompt(session, "[[a]]")
        assert await until(lambda: forms.shown, 15)
        a.client.cancel(session)
        await turn.finished()
        assert turn.stop_reason == "cancelled"
        assert await until(lambda: forms.withdrawn == 1)


async def test_without_forms_the_question_ends_the_turn(tmp_path, fake: FakeModel):
    fake.script("a", Reply(Say("I need to know."), Use("ask_user", ASK)))
    fake.script("b", Reply(Say("SQLite it is.")))
    async with agent(tmp_path, fake.base_url, capabilities={"elicitation": {"url": {}}}) as a:
        session = await a.session()
        turn = await a.client.prompt(session, "[[a]]")
        assert turn.stop_reason == "end_turn"
        said = texts(turn.updates)
        assert list(said.values())[-1] == "Which database?\n- SQLite\n- Postgres"
        told = turn.result["_meta"]["quillback.dev"]
        assert told["messageId"] == list(said)[-1]
        assert told["text"] == "Which database?\n- SQLite\n- Postgres"
        assert [c["seen"][-1] for c in calls(turn.updates).values()] == ["completed"]
        assert len(fake.requests) == 1
        later = await a.client.prompt(session, "[[b]] SQLite")
        assert later.text == "SQLite it is."
        body = last_request(fake, "b")
        (result,) = results(body).values()
        assert "put to the user" in result_text(result)
        assert user_text(body).endswith("[[b]] SQLite")
        assert sum("Which database?" in str(b) for b in blocks(body, "assistant")) == 1  # only in the call itself
    async with agent(tmp_path, fake.base_url) as b:
        await b.client.load_session(session, b.workspace)
        assert texts(b.client.updates[session]) == texts(a.client.updates[session])


async def test_two_questions_without_forms_are_both_put(tmp_path, fake: FakeModel):
    fake.script("a", Reply(Use("ask_user", {"question": "First?"}), Use("ask_user", {"question": "Second?"})))
    async with agent(tmp_path, fake.base_url) as a:
        turn = await a.client.prompt(await a.session(), "[[a]]")
        assert turn.stop_reason == "end_turn"
        assert "First?" in turn.text
        assert "Second?" in turn.text
