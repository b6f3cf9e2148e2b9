"""Lets the fake model make tool calls in a real process, and answers the questions that the calls lead to."""

import itertools
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from quillback_protocol.client import PromptTurn
from quillback_protocol.outgoing import ConnectionClosedError
from support.agent import Agent
from support.fake_model import FakeModel, Reply, Say, Use
from support.processes import until
from support.requests import last_request, result_text, results

Json = dict[str, Any]
_tokens = itertools.count(1)


async def play(a: Agent, fake: FakeModel, session: str, *uses: Use, together: bool = False) -> list[Json]:
    """One turn in which the model makes `uses`, one a step or all `together`; the results as the model saw them."""
    token = f"play{next(_tokens)}"
    fake.script(token, *([Reply(*uses)] if together else [Reply(use) for use in uses]), Reply(Say("done")))
    turn = await a.client.prompt(session, f"[[{token}]]")
    assert turn.stop_reason == "end_turn"
    found = results(last_request(fake, token))
    return [found[use.id] for use in uses]


async def shell(a: Agent, fake: FakeModel, session: str, *commands: str) -> list[str]:
    """The outputs of some commands, one a step."""
    return [result_text(r) for r in await play(a, fake, session, *(Use("shell", {"command": c}) for c in commands))]


async def kill(a: Agent, *turns: PromptTurn) -> None:
    """kill -9, seen by every prompt that waits for its answer."""
    a.kill()
    assert await until(lambda: a.client.exit_code is not None)
    for turn in turns:
        with suppress(ConnectionClosedError):
            await turn.finished()


def selected(option: object) -> Json:
    return {"outcome": {"outcome": "selected", "optionId": option}}


def by_kind(kind: str) -> Callable[[Json], Json]:
    """An answer that selects the offered option of a kind."""
    return lambda question: selected(next(o["optionId"] for o in question["options"] if o["kind"] == kind))


class Desk:
    """Takes an agent's permission questions from now on. Each is answered with the next of `answers`, then rejected.

    An answer is a value, an exception to answer with an error, or a function of the question that gives a value.
    """

    def __init__(self, a: Agent, *answers: object) -> None:
        self.asked: list[Json] = []
        self.answers = deque(answers)
        a.client.on_request("session/request_permission", self._answer)

    async def _answer(self, question: Json) -> object:
        self.asked.append(question)
        answer = self.answers.popleft() if self.answers else by_kind("reject_once")
        if isinstance(answer, Exception):
            raise answer
        return answer(question) if callable(answer) else answer
