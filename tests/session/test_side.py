"""X09: a question to the small model has messages of its own and no tools; what is no whole answer is an error."""

import pytest
from attrs import evolve

from quillback.core.side import SideModelError
from quillback.providers.anthropic import AnthropicProvider
from quillback.session.side import SmallModel
from support.fake_model import Drop, ErrorEvent, FakeModel, Hang, Reply, Say, Think, Use
from support.model_request import SONNET

pytestmark = pytest.mark.anyio

SMALL = evolve(SONNET, id="tiny")


@pytest.fixture
async def fake():
    async with FakeModel() as server:
        yield server
        assert server.violations == []


async def ask(fake, reply, seconds=30.0):
    fake.side_reply = reply
    provider = AnthropicProvider(base_url=fake.base_url, api_key="k", auth_token="", idle_timeout=60)
    try:
        return await SmallModel(lambda: SMALL, lambda _: provider, seconds).ask("Be short.", "Is it fine?")
    finally:
        await provider.close()


async def test_the_answer_is_its_text(fake):
    assert await ask(fake, Reply(Think("hm"), Say("ALL", 2), Say("OW"))) == "ALLOW"
    assert fake.requests == []
    (seen,) = fake.side_requests
    assert seen.body["model"] == "tiny"
    assert "tools" not in seen.body
    assert [m["role"] for m in seen.body["messages"]] == ["user"]
    assert "Is it fine?" in str(seen.body["messages"])
    assert "Be short." in str(seen.body["system"])


@pytest.mark.parametrize(
    ("reply", "says"),
    [
        (Reply(Hang()), "no answer within 0.3 seconds"),
        (Reply(Say("ALLOW"), Hang()), "no answer within 0.3 seconds"),
        (Reply(Say("ALLOW"), Use("shell", {"command": "ls"})), "called a tool"),
        (Reply(Say("ALLOW"), stop="max_tokens"), "not whole (max_tokens)"),
        (Reply(Say("ALLOW"), stop="refusal"), "not whole (refusal)"),
        (Reply(Say("ALLOW"), Drop()), ""),
        (Reply(Say("ALLOW"), ErrorEvent()), ""),
        (Reply(status=529, error=("overloaded_error", "Overloaded")), ""),
    ],
)
async def test_anything_else_is_an_error(fake, reply, says):
    with pytest.raises(SideModelError) as caught:
        await ask(fake, reply, 0.3 if "within" in says else 30.0)
    assert says in str(caught.value)
