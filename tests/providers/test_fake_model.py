"""The fake is only worth something if it refuses what the API refuses."""

import base64
import struct

import pytest

from quillback.core.model import ProviderError
from support.fake_model import Reply, Say
from support.fake_model.rules import Issued, check
from support.model_request import replies, request

pytestmark = pytest.mark.anyio

ISSUED = Issued(
    signatures={"c2ln": "hm"},
    redacted={"aGlk"},
    replies=[[{"type": "thinking", "signature": "c2ln"}, {"type": "tool_use", "id": "t1"}]],
)
TEXT = {"type": "text", "text": "x"}
MARKED = {**TEXT, "cache_control": {"type": "ephemeral"}}
THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}


def use(id_="t1", **changes):
    return {"type": "tool_use", "id": id_, "name": "read", "input": {}, **changes}


def result(id_="t1", **changes):
    return {"type": "tool_result", "tool_use_id": id_, "content": [TEXT], **changes}


def image(data, kind="image/png"):
    return {"type": "image", "source": {"type": "base64", "media_type": kind, "data": data}}


def png(width):
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(8) + struct.pack(">II", width, 1)).decode()


def talk(*contents, **options):
    """A request whose messages alternate, beginning with the user."""
    messages = [{"role": ("user", "assistant")[n % 2], "content": c} for n, c in enumerate(contents)]
    return {"model": "m", "max_tokens": 10, "messages": messages, **options}


THINKING = {"thinking": {"type": "adaptive"}}


@pytest.mark.parametrize(
    "body",
    [
        talk("Hi"),
        talk("Hi", [THOUGHT, {"type": "redacted_thinking", "data": "aGlk"}, use()], [result(), TEXT]),
        talk("Hi", [use("a"), use("b")], [result("a"), result("b", is_error=True)]),
        talk("Hi", [THOUGHT, use()], [result()], **THINKING),
        talk([MARKED, image(png(10))], system=[MARKED], tools=[{"name": "a", "input_schema": {"type": "object"}}]),
    ],
)
def test_valid_requests_pass(body):
    assert check(body, ISSUED) == []


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        (talk(), "at least one message"),
        ({**talk("Hi"), "temperature": 1}, "temperature: Extra inputs"),
        ({**talk("Hi"), "max_tokens": 0}, "max_tokens: Field required"),
        (talk("\ud800"), "lone surrogate"),
        (talk(""), "non-empty content"),
        (talk([]), "non-empty content"),
        (talk([{"type": "text", "text": " \n"}]), "non-whitespace text"),
        ({**talk("Hi"), "messages": [{"role": "assistant", "content": "Hi"}]}, "first message must use the user role"),
        (talk("Hi", [use()], "no"), "without `tool_result` blocks"),
        (talk("Hi", [use()]), "leaves calls unanswered"),
        (talk([result()]), "unexpected `tool_use_id`"),
        (talk("Hi", [use()], [TEXT, result()]), "must come first"),
        (talk("Hi", [use("a"), use("b")], [result("b"), result("a")]), "not in the order"),
        (talk("Hi", [use()], [result(), result()]), "a single result"),
        (talk("Hi", [use()], [result()], [use()], [result()]), "ids must be unique"),
        (talk("Hi", [use(id_="a.b")], [result("a.b")]), "id: String should match"),
        (talk("Hi", [use(name="no such")], [result()]), "bad name"),
        (talk("Hi", [use(input="{}")], [result()]), "valid dictionary"),
        (talk("Hi", [use()], [result(is_error=True, content=[])]), "cannot be empty if `is_error`"),
        (talk([use()]), "tool_use in a user message"),
        (talk("Hi", [{**THOUGHT, "thinking": "hm!"}]), "Invalid `signature`"),
        (talk("Hi", [{"type": "redacted_thinking", "data": "other"}]), "Invalid `data`"),
        (talk("Hi", [use()], [result()], **THINKING), "cannot be modified"),
        (talk([MARKED] * 5), "A maximum of 4"),
        (talk("Hi", [{**THOUGHT, "cache_control": {"type": "ephemeral"}}, TEXT]), "not allowed on thinking"),
        (talk([{"type": "text", "text": "", "cache_control": {"type": "ephemeral"}}]), "empty text blocks"),
        (talk([{**TEXT, "run_id": "r"}]), "run_id: Extra inputs"),
        (talk([{"type": "video"}]), "unknown block"),
        (talk([image("???")]), "Could not process image"),
        (talk([image(png(10), "image/tiff")]), "is not supported"),
        (talk([image(png(9000))]), "8000 pixels"),
        (talk([image(png(3000))] * 21), "2000 pixels"),
        (talk([image(base64.b64encode(bytes(6_000_000)).decode())]), "5 MB"),
        (talk("Hi", tools=[{"name": "a b", "input_schema": {"type": "object"}}]), "does not match"),
        (talk("Hi", tools=[{"name": "a", "input_schema": {"type": "object"}}] * 2), "must be unique"),
        (talk("Hi", tools=[{"name": "a", "input_schema": {}}]), "must be object"),
        (
            talk("Hi", tools=[{"name": "a", "input_schema": {"type": "object", "anyOf": []}}]),
            "not supported at the top",
        ),
        (talk("Hi", thinking={"type": "on"}), "thinking.type"),
        (talk("Hi", thinking={"type": "enabled", "budget_tokens": 5}), "budget_tokens"),
        (talk("Hi", output_config={"effort": "huge"}), "effort"),
        (talk("Hi", system=[{"type": "text", "text": ""}]), "system.0"),
    ],
)
def test_broken_requests_are_refused(body, complaint):
    assert [c for c in check(body, ISSUED) if complaint in c]


async def test_a_broken_request_is_answered_400_and_uses_no_reply_up(fake, connect):
    fake.script("", Reply(Say("Hi")))
    provider = connect(extra_headers={"anthropic-version": ""})
    with pytest.raises(ProviderError):
        await replies(provider, request(tools=()))
    assert fake.violations == ["messages: at least one message is required"]
    await replies(provider, request("Hi"))
    assert fake.requests[1].reply is not None


async def test_replies_are_found_by_predicate_then_by_the_last_token(fake, connect):
    fake.script("one", Reply(Say("1")))
    fake.script("two", lambda body: Reply(Say(body["model"])))
    fake.when(lambda body: "special" in str(body["messages"]), Reply(Say("s")))
    provider = connect()
    for text in ("[[one]]", "[[one]] and [[two]]", "special [[one]]"):
        await replies(provider, request(text))
    assert [[p.text for p in seen.reply.pieces] for seen in fake.requests] == [["1"], ["claude-sonnet-5-5"], ["s"]]
    with pytest.raises(ProviderError, match="no reply is scripted for"):
        await replies(provider, request("[[one]]"))
    assert fake.violations == ["no reply is scripted for [[one]]"]
