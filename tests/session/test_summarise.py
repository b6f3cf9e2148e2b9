"""Only a whole answer of nothing but text is a summary; what is none costs the conversation nothing."""

import asyncio

import pytest
from attrs import evolve

from quillback.core.message import Usage
from quillback.core.model import Failure, ProviderError
from quillback.core.turn_types import Compact, Compacted, CompactionFailed
from quillback.session.summarise import SUMMARY_LIMIT, Summariser
from support.fakes import FakeModel, Gate
from support.replies import MODEL, call, partial, reply, say, think
from support.turn_kit import prompt, spoken

pytestmark = pytest.mark.anyio
SMALL, LARGE = evolve(MODEL, id="small", name="Small"), evolve(MODEL, id="large", name="Large")
ASKED = Compact((prompt("port the parser"), spoken("I will", seq=2)))
GOOD = reply(think("hm"), say("SUMMARY"))
BAD = {
    "a refusal": reply(say("I can't help with that."), stop="refusal"),
    "a call": reply(say("Let me look."), call("read", '{"path": "a"}')),
    "cut off": reply(say("1. What the us"), stop="max_tokens"),
    "nothing": reply(think("hm")),
    "blank": reply(say(" \n ")),
    "too long": reply(say("x" * (SUMMARY_LIMIT + 1))),
    "broken off": partial(say("1. What")),
    "refused": [ProviderError(Failure.NOT_FOUND, "There is no such model.")],
}


def summariser(model: FakeModel, *models, seconds: float = 5.0) -> Summariser:
    return Summariser(models or (SMALL, LARGE), lambda _: model, lambda: 0.0, seconds)


async def test_the_small_model_is_asked_and_its_cost_is_known():
    model = FakeModel(reply(say("SUMMARY"), usage=Usage(1_000_000, 0)))
    assert await summariser(model).summarise(ASKED) == Compacted("SUMMARY", 1.0, Usage(1_000_000, 0))
    (request,) = model.requests
    assert (request.model, request.tools, request.side) == (SMALL, (), True)
    assert "port the parser" in str(request.messages)


@pytest.mark.parametrize("bad", [name for name in BAD if name != "broken off"])
async def test_what_is_no_summary_is_asked_of_the_other_model(bad):
    model = FakeModel(BAD[bad], GOOD)
    done = await summariser(model).summarise(ASKED)
    assert isinstance(done, Compacted)
    assert done.summary == "SUMMARY"
    assert [r.model.id for r in model.requests] == ["small", "large"]


@pytest.mark.parametrize("bad", [name for name in BAD if name != "broken off"])
async def test_where_neither_gives_one_the_reason_is_said(bad):
    done = await summariser(FakeModel(BAD[bad], BAD[bad])).summarise(ASKED)
    assert isinstance(done, CompactionFailed)
    assert done.reason.endswith(".")


async def test_a_passing_fault_is_tried_once_more(monkeypatch):
    monkeypatch.setattr("quillback.session.summarise.delay", lambda *_: 0.0)
    overloaded = [ProviderError(Failure.OVERLOADED, "It is overloaded.")]
    model = FakeModel(overloaded, GOOD)
    assert isinstance(await summariser(model).summarise(ASKED), Compacted)
    model = FakeModel(*[overloaded] * 4)
    assert await summariser(model).summarise(ASKED) == CompactionFailed("It is overloaded.")
    assert model.scripts == []


async def test_what_is_too_long_is_asked_again_shorter():
    long = Compact((prompt("port " * 4_000), spoken("I will", seq=2)))
    model = FakeModel([ProviderError(Failure.CONTEXT_LENGTH, "It is too long.")], GOOD)
    assert isinstance(await summariser(model, SMALL).summarise(long), Compacted)
    first, second = (len(str(r.messages)) for r in model.requests)
    assert second < first


async def test_it_takes_no_longer_than_told_and_is_cancelled_at_once():
    model = FakeModel([Gate()])
    done = await summariser(model, SMALL, seconds=0.05).summarise(ASKED)
    assert isinstance(done, CompactionFailed)
    assert "within 0.05 seconds" in done.reason
    assert model.open == 0
    model.add([Gate()])
    task = asyncio.create_task(summariser(model, SMALL).summarise(ASKED))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert model.open == 0
